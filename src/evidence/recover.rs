//! What a start finds: claims of a process that died, and databases that come from a backup.

use rusqlite::Transaction;

use super::error::EvidenceError;
use super::machine::Event;
use super::row::load;
use super::settings::Settings;
use super::step::{Step, take};
use crate::audit::{Actor, Kind};
use crate::domain::ids::EffectId;
use crate::domain::time::Now;
use crate::store::StoreError;

/// Every claim found at start becomes `unknown`: its owner is dead, and something may have left.
/// The first look follows at once and settles what the target can prove.
pub fn recover(tx: &Transaction<'_>, now: Now, settings: &Settings) -> Result<Vec<EffectId>, EvidenceError> {
    let found = ids(tx, "SELECT id FROM effects WHERE state = 'dispatching' ORDER BY created_at, id", None)?;
    lose(tx, now, settings, &found, "the program ended while this was being done")?;
    Ok(found)
}

/// Claims older than their lease: the owner hangs. Its late result, if it comes, is kept as evidence.
pub fn interrupt_expired_leases(
    tx: &Transaction<'_>,
    now: Now,
    settings: &Settings,
) -> Result<Vec<EffectId>, EvidenceError> {
    let found = ids(
        tx,
        "SELECT id FROM effects WHERE state = 'dispatching' AND lease_until <= ?1 ORDER BY created_at, id",
        Some(now.elapsed.0),
    )?;
    lose(tx, now, settings, &found, "no result within the longest time an attempt can take")?;
    Ok(found)
}

/// After a restore from a backup: whatever was under way may have happened since the backup was made.
/// (Approvals expire in their own stage.)
pub fn after_restore(tx: &Transaction<'_>, now: Now, settings: &Settings) -> Result<Vec<EffectId>, EvidenceError> {
    let found = ids(
        tx,
        "SELECT id FROM effects WHERE state IN ('ready', 'retryable', 'dispatching') ORDER BY created_at, id",
        None,
    )?;
    for id in &found {
        let mut row = load(tx, id)?;
        let step = Step::new(Event::Restore, Kind::EffectOutcome, Actor::System)
            .reason("restored from a backup: it may have been done after the backup was made");
        take(tx, now, settings, &mut row, step)?;
    }
    tx.execute("UPDATE effects SET restored = 1 WHERE state = 'unknown'", [])?;
    Ok(found)
}

fn lose(
    tx: &Transaction<'_>,
    now: Now,
    settings: &Settings,
    found: &[EffectId],
    reason: &str,
) -> Result<(), EvidenceError> {
    for id in found {
        let mut row = load(tx, id)?;
        tx.prepare_cached(
            "UPDATE effect_attempts SET outcome = 'unknown', ended_at = ?3
             WHERE effect_id = ?1 AND n = ?2 AND outcome IS NULL",
        )?
        .execute(rusqlite::params![id, row.epoch, now.wall])?;
        take(tx, now, settings, &mut row, Step::new(Event::Lose, Kind::EffectOutcome, Actor::System).reason(reason))?;
    }
    Ok(())
}

fn ids(tx: &Transaction<'_>, query: &str, parameter: Option<i64>) -> Result<Vec<EffectId>, StoreError> {
    let mut statement = tx.prepare_cached(query)?;
    let rows = statement.query_map(rusqlite::params_from_iter(parameter), |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
