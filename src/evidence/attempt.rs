//! What an attempt came to, written by compare-and-set on its epoch.

use rusqlite::{Transaction, params};

use super::error::EvidenceError;
use super::machine::Event;
use super::retry::{NextAttempt, next_attempt};
use super::row::{self, EffectRow, load, recipient_state_name, someone_accepted};
use super::settings::Settings;
use super::step::{Step, save, take};
use crate::audit::{self, Actor, Entry, Kind};
use crate::domain::effect::{EffectState, Outcome, Performed, Receipt, ReceiptSource, RecipientState};
use crate::domain::ids::EffectId;
use crate::domain::mail::is_greylisting;
use crate::domain::time::Now;
use crate::runtime::redact::redact;
use crate::runtime::seeded;

/// What the result did to the row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Applied {
    State(EffectState),
    /// The row had moved on: kept as evidence, nothing changed.
    KeptAsEvidence,
    /// The row had moved on, and the late reply settled it.
    LateEvidence(EffectState),
}

/// Applies the result of the attempt `epoch`. `fraction` (0..1) is the jitter of a retry.
pub fn apply_result(
    tx: &Transaction<'_>,
    now: Now,
    settings: &Settings,
    id: &EffectId,
    epoch: i64,
    performed: &Performed,
    fraction: f64,
) -> Result<Applied, EvidenceError> {
    let mut row = load(tx, id)?;
    let current = row.state == EffectState::Dispatching && (row.epoch == epoch || seeded::bug("no_epoch_check"));
    log_attempt(tx, now, id, epoch, performed, !current)?;
    if !current {
        return late(tx, now, settings, row, epoch, performed);
    }
    store_recipients(tx, id, performed)?;
    if let Some(handle) = &performed.provider_id {
        row.provider_id = Some(handle.clone());
    }
    let mut outcome = of_all_recipients(tx, &row, &performed.outcome)?;
    if let (Outcome::Unknown { reason }, true) = (&outcome, seeded::bug("retry_on_unknown")) {
        outcome = Outcome::Retryable { reason: reason.clone(), retry_after: None, greylisted: false };
    }
    match outcome {
        Outcome::Accepted { receipt } => {
            take(tx, now, settings, &mut row, step(Event::Accept, performed).receipt(receipt))?;
        }
        Outcome::Rejected { reason } => {
            take(tx, now, settings, &mut row, step(Event::Reject, performed).reason(redact(&reason)))?;
        }
        Outcome::Unknown { reason } => {
            take(tx, now, settings, &mut row, step(Event::Lose, performed).reason(redact(&reason)))?;
        }
        Outcome::Retryable { reason, retry_after, greylisted } => {
            keep_provider_id(&mut row, &performed.outcome);
            let first = row.first_attempt.unwrap_or(now.elapsed);
            let next = next_attempt(settings, row.attempts, first, now.elapsed, retry_after, greylisted, fraction);
            retry(tx, now, settings, &mut row, next, step(Event::Retry, performed).reason(redact(&reason)))?;
        }
    }
    Ok(Applied::State(row.state))
}

/// Retryable, and then either due again or ended.
pub(super) fn retry(
    tx: &Transaction<'_>,
    now: Now,
    settings: &Settings,
    row: &mut EffectRow,
    next: NextAttempt,
    retryable: Step,
) -> Result<(), EvidenceError> {
    match next {
        NextAttempt::At(due) => take(tx, now, settings, row, retryable.due(due)),
        NextAttempt::GiveUp => {
            let reason = retryable.reason.clone().unwrap_or_default();
            take(tx, now, settings, row, retryable)?;
            let event = Event::GiveUp { someone_accepted: someone_accepted(tx, &row.id)? };
            let words = format!("given up after {} attempts: {reason}", row.attempts);
            take(tx, now, settings, row, Step::new(event, Kind::EffectOutcome, Actor::System).reason(words))
        }
    }
}

fn step(event: Event, performed: &Performed) -> Step {
    Step::new(event, Kind::EffectOutcome, Actor::System).detail("phase", performed.phase.as_str())
}

/// A partly delivered mail may have the provider's id already.
fn keep_provider_id(row: &mut EffectRow, outcome: &Outcome) {
    if let Outcome::Accepted { receipt } = outcome {
        row.receipt = Some(receipt.clone());
        if receipt.provider_id.is_some() {
            row.provider_id = receipt.provider_id.clone();
        }
    }
}

fn log_attempt(
    tx: &Transaction<'_>,
    now: Now,
    id: &EffectId,
    epoch: i64,
    performed: &Performed,
    is_late: bool,
) -> Result<(), EvidenceError> {
    tx.prepare_cached(
        "INSERT INTO effect_attempts (effect_id, n, phase, reply, outcome, late, started_at, ended_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7)
         ON CONFLICT (effect_id, n) DO UPDATE SET phase = excluded.phase, reply = excluded.reply,
             outcome = excluded.outcome, late = excluded.late, ended_at = excluded.ended_at",
    )?
    .execute(params![
        id,
        epoch,
        performed.phase,
        performed.reply.as_deref().map(redact),
        outcome_name(&performed.outcome),
        is_late,
        now.wall
    ])?;
    Ok(())
}

fn outcome_name(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Accepted { .. } => "accepted",
        Outcome::Rejected { .. } => "rejected",
        Outcome::Retryable { .. } => "retryable",
        Outcome::Unknown { .. } => "unknown",
    }
}

fn store_recipients(tx: &Transaction<'_>, id: &EffectId, performed: &Performed) -> Result<(), EvidenceError> {
    for one in &performed.recipients {
        // A recipient who has it keeps it, whatever a later attempt says.
        tx.prepare_cached(
            "UPDATE effect_recipients SET state = ?3, reply = ?4 WHERE effect_id = ?1 AND address = ?2 AND state = 'open'",
        )?
        .execute(params![id, one.address, recipient_state_name(one.state), one.reply.as_deref().map(redact)])?;
    }
    Ok(())
}

/// A mail is retryable while any recipient is open, accepted when at least one is and none is open, rejected when none is.
fn of_all_recipients(tx: &Transaction<'_>, row: &EffectRow, outcome: &Outcome) -> Result<Outcome, EvidenceError> {
    let recipients = row::recipients(tx, &row.id)?;
    if recipients.is_empty() || matches!(outcome, Outcome::Unknown { .. }) {
        return Ok(outcome.clone());
    }
    let any = |state: RecipientState| recipients.iter().any(|one| one.state == state);
    let replies = || {
        let refused: Vec<String> = recipients
            .iter()
            .filter(|one| one.state != RecipientState::Accepted)
            .map(|one| format!("{}: {}", one.address, one.reply.as_deref().unwrap_or("no reply")))
            .collect();
        refused.join("; ")
    };
    Ok(match outcome {
        // The adapter spoke of every recipient; without details the outcome is everyone's.
        Outcome::Accepted { .. } if any(RecipientState::Open) && any(RecipientState::Accepted) => {
            let greylisted = recipients
                .iter()
                .filter(|one| one.state == RecipientState::Open)
                .any(|one| one.reply.as_deref().is_some_and(is_greylisting));
            Outcome::Retryable { reason: replies(), retry_after: None, greylisted }
        }
        Outcome::Accepted { receipt } => {
            tx.prepare_cached(
                "UPDATE effect_recipients SET state = 'accepted' WHERE effect_id = ?1 AND state = 'open'",
            )?
            .execute([&row.id])?;
            Outcome::Accepted { receipt: receipt.clone() }
        }
        Outcome::Rejected { reason } => {
            tx.prepare_cached(
                "UPDATE effect_recipients SET state = 'rejected' WHERE effect_id = ?1 AND state = 'open'",
            )?
            .execute([&row.id])?;
            if any(RecipientState::Accepted) {
                Outcome::Accepted { receipt: earlier_receipt(row, reason) }
            } else {
                Outcome::Rejected { reason: reason.clone() }
            }
        }
        // Nobody is open any more: refused for good or served.
        Outcome::Retryable { reason, .. } if !any(RecipientState::Open) => {
            if any(RecipientState::Accepted) {
                Outcome::Accepted { receipt: earlier_receipt(row, reason) }
            } else {
                Outcome::Rejected { reason: replies() }
            }
        }
        Outcome::Retryable { .. } | Outcome::Unknown { .. } => outcome.clone(),
    })
}

fn earlier_receipt(row: &EffectRow, reason: &str) -> Receipt {
    row.receipt.clone().unwrap_or_else(|| Receipt {
        source: ReceiptSource::Provider,
        provider_id: row.provider_id.clone(),
        detail: serde_json::json!({ "last_reply": redact(reason) }),
    })
}

/// A result whose claim is no longer the row's. It is evidence: an acceptance settles a row that waits; where another
/// attempt is under way or a person has decided, it is listed as possibly twice.
fn late(
    tx: &Transaction<'_>,
    now: Now,
    settings: &Settings,
    mut row: EffectRow,
    epoch: i64,
    performed: &Performed,
) -> Result<Applied, EvidenceError> {
    let waits = matches!(row.state, EffectState::Unknown | EffectState::Ready | EffectState::Retryable);
    match &performed.outcome {
        Outcome::Accepted { receipt } if waits => {
            store_recipients(tx, &row.id, performed)?;
            let step = Step::new(Event::FindAccepted, Kind::EffectReconciled, Actor::System)
                .receipt(receipt.clone())
                .detail("late_reply_of_epoch", epoch);
            take(tx, now, settings, &mut row, step)?;
            Ok(Applied::LateEvidence(row.state))
        }
        Outcome::Rejected { reason } if row.state == EffectState::Unknown && row.epoch == epoch => {
            let step = Step::new(Event::Reject, Kind::EffectReconciled, Actor::System)
                .reason(redact(reason))
                .detail("late_reply_of_epoch", epoch);
            take(tx, now, settings, &mut row, step)?;
            Ok(Applied::LateEvidence(row.state))
        }
        Outcome::Retryable { reason, retry_after, greylisted }
            if row.state == EffectState::Unknown && row.epoch == epoch =>
        {
            let first = row.first_attempt.unwrap_or(now.elapsed);
            let next = next_attempt(settings, row.attempts, first, now.elapsed, *retry_after, *greylisted, 0.0);
            let step = Step::new(Event::ProveAbsent, Kind::EffectReconciled, Actor::System)
                .reason(redact(reason))
                .detail("late_reply_of_epoch", epoch);
            retry(tx, now, settings, &mut row, next, step)?;
            Ok(Applied::LateEvidence(row.state))
        }
        Outcome::Accepted { .. } | Outcome::Rejected { .. } | Outcome::Retryable { .. } | Outcome::Unknown { .. } => {
            let mut entry = Entry::new(Kind::EffectReconciled, Actor::System)
                .of_effect(&row.id)
                .detail("state", row.state.as_str())
                .detail("late_outcome", outcome_name(&performed.outcome))
                .detail("late_reply_of_epoch", epoch);
            entry.conversation = row.conversation;
            audit::append(tx, now, entry)?;
            row.updated_at = now.wall;
            save(tx, now, &row)?;
            Ok(Applied::KeptAsEvidence)
        }
    }
}
