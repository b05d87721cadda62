//! Reading back what may have happened, on a schedule that counts from the moment it became unknown.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Transaction};

use super::attempt::retry;
use super::error::EvidenceError;
use super::machine::Event;
use super::notices;
use super::retry::NextAttempt;
use super::row::{self, load};
use super::settings::Settings;
use super::step::{Step, save, take};
use crate::audit::{self, Actor, Entry, Kind};
use crate::domain::effect::{Dispatch, EffectState, Found};
use crate::domain::ids::EffectId;
use crate::domain::time::{Elapsed, Now};
use crate::runtime::redact::redact;
use crate::runtime::seeded;
use crate::store::StoreError;

/// An unreachable target is asked again after this time; the schedule does not move on meanwhile.
const UNREACHABLE_WAIT: Duration = Duration::from_secs(5 * 60);

/// The unknown effect to look for now, if any, and when the next one is due.
pub fn reconcile_due(
    connection: &Connection,
    now: Now,
    busy: &[EffectId],
) -> Result<(Option<Dispatch>, Option<Elapsed>), StoreError> {
    let busy = serde_json::to_string(busy)?;
    let next: Option<(EffectId, Elapsed)> = connection
        .prepare_cached(
            "SELECT id, next_attempt_elapsed FROM effects
             WHERE state = 'unknown' AND next_attempt_elapsed IS NOT NULL
               AND id NOT IN (SELECT value FROM json_each(?1))
             ORDER BY next_attempt_elapsed, created_at, id LIMIT 1",
        )?
        .query_row([busy], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    match next {
        Some((id, due)) if due <= now.elapsed => match row::find(connection, &id)? {
            Some(row) => Ok((Some(row::dispatch(connection, now, &row)?), Some(due))),
            None => Ok((None, None)),
        },
        Some((_, due)) => Ok((None, Some(due))),
        None => Ok((None, None)),
    }
}

/// Out of a backup: its absence proves that it did not happen, and still a person decides whether it should.
fn is_restored(tx: &Transaction<'_>, id: &EffectId) -> Result<bool, StoreError> {
    Ok(tx.prepare_cached("SELECT restored FROM effects WHERE id = ?1")?.query_row([id], |row| row.get(0))?)
}

/// Applies what reading back showed. Only a target that declares its reading authoritative can prove absence.
pub fn apply_found(
    tx: &Transaction<'_>,
    now: Now,
    settings: &Settings,
    id: &EffectId,
    epoch: i64,
    found: &Found,
) -> Result<EffectState, EvidenceError> {
    let mut row = load(tx, id)?;
    if row.state != EffectState::Unknown || row.epoch != epoch {
        return Ok(row.state);
    }
    let step = |event| Step::new(event, Kind::EffectReconciled, Actor::System).detail("look", row.reconcile_step);
    match found {
        Found::Yes { receipt } => {
            let step = step(Event::FindAccepted).receipt(receipt.clone());
            take(tx, now, settings, &mut row, step)?;
        }
        Found::No { authoritative, detail }
            if (*authoritative && !is_restored(tx, id)?) || seeded::bug("absence_is_proof") =>
        {
            let next =
                if row.attempts >= settings.max_attempts { NextAttempt::GiveUp } else { NextAttempt::At(now.elapsed) };
            let step = step(Event::ProveAbsent).reason(format!("it did not happen: {}", redact(detail)));
            retry(tx, now, settings, &mut row, next, step)?;
        }
        Found::No { detail, .. } => {
            look_again(tx, now, settings, &mut row, "not_found", detail)?;
        }
        Found::CannotTell => look_again(tx, now, settings, &mut row, "cannot_tell", "")?,
        Found::Unreachable { reason } => {
            row.next_attempt = Some(now.elapsed.plus(UNREACHABLE_WAIT));
            row.last_error = Some(redact(reason));
            save(tx, now, &row)?;
        }
    }
    Ok(row.state)
}

/// Nothing found proves nothing: the next look of the schedule, and after the last one a person.
fn look_again(
    tx: &Transaction<'_>,
    now: Now,
    settings: &Settings,
    row: &mut row::EffectRow,
    result: &str,
    detail: &str,
) -> Result<(), EvidenceError> {
    let since = row.unknown_since.unwrap_or(now.elapsed);
    let first_look = row.reconcile_step == 0;
    row.reconcile_step += 1;
    let waits = settings.reconcile.iter().skip(usize::try_from(row.reconcile_step).unwrap_or(usize::MAX));
    row.next_attempt = match result {
        "cannot_tell" => None,
        _ => waits.map(|wait| since.plus(*wait)).find(|due| *due > now.elapsed),
    };
    // Looks that fell into a sleep are not made up for: the one just made stands for them.
    let passed = settings.reconcile.iter().filter(|wait| since.plus(**wait) <= now.elapsed).count();
    row.reconcile_step = row.reconcile_step.max(u32::try_from(passed).unwrap_or(u32::MAX));
    save(tx, now, row)?;
    let mut entry = Entry::new(Kind::EffectReconciled, Actor::System)
        .of_effect(&row.id)
        .detail("state", row.state.as_str())
        .detail("result", result)
        .detail("looks", row.reconcile_step)
        .detail("waits_for_person", row.next_attempt.is_none());
    if !detail.is_empty() {
        entry = entry.detail("detail", detail);
    }
    entry.conversation = row.conversation;
    audit::append(tx, now, entry)?;
    if first_look {
        notices::line(tx, now, settings, row)?;
    }
    Ok(())
}
