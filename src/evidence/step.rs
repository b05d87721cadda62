//! One transition of one row: the machine decides, the row and its audit entry follow in the caller's transaction.

use rusqlite::{Transaction, params};
use serde_json::{Map, Value};

use super::error::EvidenceError;
use super::machine::{self, Event};
use super::notices;
use super::release;
use super::row::EffectRow;
use super::settings::Settings;
use crate::audit::{self, Actor, Entry, Kind};
use crate::domain::effect::{EffectState, Receipt};
use crate::domain::time::{Elapsed, Now};
use crate::store::StoreError;

/// What is to happen to a row.
pub(super) struct Step {
    pub event: Event,
    pub kind: Kind,
    pub actor: Actor,
    /// Needed wherever the row becomes `accepted`, unless it has one.
    pub receipt: Option<Receipt>,
    /// Why, for a person; kept as `last_error` when the effect did not happen.
    pub reason: Option<String>,
    /// When it is due next, where the new state waits.
    pub due: Option<Elapsed>,
    pub details: Map<String, Value>,
}

impl Step {
    pub fn new(event: Event, kind: Kind, actor: Actor) -> Self {
        Self { event, kind, actor, receipt: None, reason: None, due: None, details: Map::new() }
    }
    pub fn receipt(mut self, receipt: Receipt) -> Self {
        self.receipt = Some(receipt);
        self
    }
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }
    pub fn due(mut self, due: Elapsed) -> Self {
        self.due = Some(due);
        self
    }
    pub fn detail(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.details.insert(name.to_owned(), value.into());
        self
    }
}

/// Takes `row` through `step`. Everything that hangs on the new state is done here: receipt, due times, recipients
/// given up, identities released, the outcome line.
pub(super) fn take(
    tx: &Transaction<'_>,
    now: Now,
    settings: &Settings,
    row: &mut EffectRow,
    step: Step,
) -> Result<(), EvidenceError> {
    let before = row.state;
    let after = machine::next(before, step.event)?;
    row.state = after;
    row.updated_at = now.wall;
    if let Some(reason) = &step.reason {
        row.last_error = Some(reason.clone());
    }
    match after {
        EffectState::Accepted => accept(tx, now, row, &step)?,
        EffectState::Unknown => {
            row.unknown_since = Some(now.elapsed);
            row.reconcile_step = 0;
            row.next_attempt = settings.reconcile.first().map(|wait| now.elapsed.plus(*wait));
            row.left_by_person = false;
        }
        EffectState::Ready | EffectState::Retryable => row.next_attempt = Some(step.due.unwrap_or(now.elapsed)),
        EffectState::Rejected | EffectState::Cancelled => {
            give_up_recipients(tx, row)?;
            row.next_attempt = None;
        }
        EffectState::AwaitingApproval
        | EffectState::Dispatching
        | EffectState::Denied
        | EffectState::Expired
        | EffectState::Reverted => row.next_attempt = None,
    }
    save(tx, now, row)?;

    let mut entry = Entry::new(step.kind, step.actor).of_effect(&row.id);
    entry.conversation = row.conversation;
    entry.turn = row.turn.clone();
    entry.details = step.details;
    entry = entry
        .detail("from", before.as_str())
        .detail("to", after.as_str())
        .detail("event", step.event.name())
        .detail("epoch", row.epoch);
    if let Some(reason) = step.reason {
        entry = entry.detail("reason", reason);
    }
    if row.partial {
        entry = entry.detail("partial", true);
    }
    audit::append(tx, now, entry)?;

    if after == EffectState::Accepted {
        release::after_accepted(tx, now, settings, row)?;
    }
    notices::outcome(tx, now, settings, row)?;
    Ok(())
}

fn accept(tx: &Transaction<'_>, now: Now, row: &mut EffectRow, step: &Step) -> Result<(), EvidenceError> {
    if let Some(receipt) = &step.receipt {
        row.receipt = Some(receipt.clone());
    }
    if row.receipt.is_none() {
        // A mail ended with part of its recipients served: their replies are the receipt.
        row.receipt = Some(Receipt {
            source: crate::domain::effect::ReceiptSource::Provider,
            provider_id: row.provider_id.clone(),
            detail: serde_json::json!({ "recipients": super::row::recipients(tx, &row.id)? }),
        });
    }
    if let Some(id) = row.receipt.as_ref().and_then(|receipt| receipt.provider_id.clone()) {
        row.provider_id = Some(id);
    }
    row.accepted_elapsed = Some(now.elapsed);
    row.accepted_at = Some(now.wall);
    row.next_attempt = None;
    match step.event {
        // The whole mail stands in Sent, or a person says that it was sent: nobody is open any more.
        Event::FindAccepted | Event::PersonSaysSent => {
            tx.prepare_cached(
                "UPDATE effect_recipients SET state = 'accepted' WHERE effect_id = ?1 AND state = 'open'",
            )?
            .execute([&row.id])?;
        }
        _ => give_up_recipients(tx, row)?,
    }
    row.partial = tx
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM effect_recipients WHERE effect_id = ?1 AND state IN ('rejected', 'failed'))",
        )?
        .query_row([&row.id], |found| found.get(0))?;
    Ok(())
}

/// Recipients still open when a mail ends are failed.
fn give_up_recipients(tx: &Transaction<'_>, row: &EffectRow) -> Result<(), StoreError> {
    tx.prepare_cached("UPDATE effect_recipients SET state = 'failed' WHERE effect_id = ?1 AND state = 'open'")?
        .execute([&row.id])?;
    Ok(())
}

/// Writes what a transition may change.
pub(super) fn save(tx: &Transaction<'_>, now: Now, row: &EffectRow) -> Result<(), StoreError> {
    let receipt = row.receipt.as_ref().map(serde_json::to_string).transpose()?;
    // The wall time is for display: the same distance from now as on the elapsed clock.
    let shown = row.next_attempt.map(|due| now.wall.plus(due.since(now.elapsed)));
    tx.prepare_cached(
        "UPDATE effects SET state = ?2, partial = ?3, attempts = ?4, epoch = ?5, next_attempt_elapsed = ?6,
             next_attempt_at = ?7, first_attempt_elapsed = ?8, unknown_elapsed = ?9, reconcile_step = ?10,
             left_by_person = ?11, receipt = ?12, provider_id = ?13, last_error = ?14, accepted_elapsed = ?15,
             accepted_at = ?16, released = ?17, updated_at = ?18
         WHERE id = ?1",
    )?
    .execute(params![
        row.id,
        row.state.as_str(),
        row.partial,
        row.attempts,
        row.epoch,
        row.next_attempt,
        shown,
        row.first_attempt,
        row.unknown_since,
        row.reconcile_step,
        row.left_by_person,
        receipt,
        row.provider_id,
        row.last_error,
        row.accepted_elapsed,
        row.accepted_at,
        row.released,
        now.wall,
    ])?;
    Ok(())
}
