//! Taking a due row: the one transaction that must be on disk before the outside is touched.

use rusqlite::{Connection, OptionalExtension, Transaction, params};
use std::time::Duration;

use super::error::EvidenceError;
use super::insert::fix;
use super::literal::literal_hash;
use super::machine::Event;
use super::row::{self, EffectRow, load};
use super::settings::Settings;
use super::step::{Step, save, take};
use super::targets::Targets;
use crate::audit::{Actor, Kind};
use crate::domain::effect::Dispatch;
use crate::domain::ids::EffectId;
use crate::domain::time::{Elapsed, Now};
use crate::runtime::seeded;
use crate::store::StoreError;

/// Why a due row was not left to the outside.
#[derive(Clone, PartialEq, Debug)]
pub enum Claimed {
    /// Go on: this is what to perform, under this epoch. `search_first`: it was unknown once, look once more.
    Dispatch { dispatch: Box<Dispatch>, search_first: bool },
    /// Too many mails this hour: due later.
    Postponed,
    /// What would leave is not what was admitted or approved: cancelled.
    Changed,
    /// Somebody else took or settled it.
    Gone,
}

/// A claim: who, for how long.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Claim {
    pub owner: String,
    pub lease: Duration,
}

/// The next due row of a target that is not in `busy`, oldest first, and when the next one will be due.
pub fn due(
    connection: &Connection,
    now: Now,
    busy: &[String],
) -> Result<(Option<EffectId>, Option<Elapsed>), StoreError> {
    let busy = serde_json::to_string(busy)?;
    // The state list is that of the partial index effects_due.
    let next: Option<(EffectId, Elapsed)> = connection
        .prepare_cached(
            "SELECT id, next_attempt_elapsed FROM effects
             WHERE state IN ('ready', 'retryable', 'unknown') AND state <> 'unknown' AND next_attempt_elapsed IS NOT NULL
               AND target NOT IN (SELECT value FROM json_each(?1))
             ORDER BY next_attempt_elapsed, created_at, id LIMIT 1",
        )?
        .query_row([busy], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(match next {
        Some((id, due)) if due <= now.elapsed => (Some(id), Some(due)),
        Some((_, due)) => (None, Some(due)),
        None => (None, None),
    })
}

/// Commits `dispatching` under a new epoch. The caller's transaction must be durable.
pub fn claim(
    tx: &Transaction<'_>,
    now: Now,
    settings: &Settings,
    targets: &Targets,
    id: &EffectId,
    claim: &Claim,
) -> Result<Claimed, EvidenceError> {
    let mut row = load(tx, id)?;
    if super::machine::next(row.state, Event::Claim).is_err() || row.next_attempt.is_some_and(|due| due > now.elapsed) {
        return Ok(Claimed::Gone);
    }
    let as_admitted = literal_hash(row.account.as_str(), &row.action)? == row.literal && approved_as_is(tx, &row)?;
    if !as_admitted && !seeded::bug("literal_unchecked") {
        let step = Step::new(
            Event::Cancel { someone_accepted: row::someone_accepted(tx, id)? },
            Kind::EffectOutcome,
            Actor::System,
        )
        .reason(CHANGED_AFTER_APPROVAL);
        take(tx, now, settings, &mut row, step)?;
        return Ok(Claimed::Changed);
    }
    if row.target == MAIL
        && row.first_attempt.is_none()
        && let Some(free) = mail_limit(tx, now, settings)?
    {
        row.next_attempt = Some(free);
        save(tx, now, &row)?;
        return Ok(Claimed::Postponed);
    }
    fix(tx, now, targets, &row)?;
    let search_first = row.unknown_since.is_some();
    row.epoch += 1;
    row.attempts += 1;
    row.first_attempt.get_or_insert(now.elapsed);
    let step = Step::new(Event::Claim, Kind::EffectDispatched, Actor::System).detail("attempt", row.attempts);
    take(tx, now, settings, &mut row, step)?;
    tx.prepare_cached("UPDATE effects SET claimed_by = ?2, lease_until = ?3 WHERE id = ?1")?.execute(params![
        id,
        claim.owner,
        now.elapsed.plus(claim.lease)
    ])?;
    tx.prepare_cached("INSERT INTO effect_attempts (effect_id, n, phase, started_at) VALUES (?1, ?2, 'claimed', ?3)")?
        .execute(params![id, row.epoch, now.wall])?;
    let row = load(tx, id)?;
    Ok(Claimed::Dispatch { dispatch: Box::new(row::dispatch(tx, now, &row)?), search_first })
}

/// Effects of this target count against the hourly limit.
const MAIL: &str = "mail";

/// `last_error` of an effect whose action is not the one that was approved; approvals ask again for it.
pub const CHANGED_AFTER_APPROVAL: &str = "what would leave is not what was approved";

/// The approval, if there was one, was given for exactly this literal action.
fn approved_as_is(tx: &Transaction<'_>, row: &EffectRow) -> Result<bool, StoreError> {
    let approved: Option<String> = tx
        .prepare_cached(
            "SELECT literal_hash FROM approvals WHERE effect_id = ?1 AND state = 'approved' ORDER BY id DESC LIMIT 1",
        )?
        .query_row([&row.id], |row| row.get(0))
        .optional()?;
    Ok(approved.is_none_or(|hash| hash == row.literal.as_str()))
}

/// When the next mail may start, if this hour is full.
fn mail_limit(tx: &Transaction<'_>, now: Now, settings: &Settings) -> Result<Option<Elapsed>, StoreError> {
    const HOUR: Duration = Duration::from_secs(3600);
    let since = Elapsed(now.elapsed.0.saturating_sub(3_600_000));
    let mut statement = tx.prepare_cached(
        "SELECT first_attempt_elapsed FROM effects WHERE target = ?1 AND first_attempt_elapsed > ?2
         ORDER BY first_attempt_elapsed DESC LIMIT ?3",
    )?;
    let started: Vec<Elapsed> = statement
        .query_map(params![MAIL, since, settings.mails_per_hour], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let full = started.len() >= usize::try_from(settings.mails_per_hour).unwrap_or(usize::MAX);
    Ok(if full { started.last().map(|oldest| oldest.plus(HOUR)).or(Some(now.elapsed.plus(HOUR))) } else { None })
}
