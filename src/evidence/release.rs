//! When an identity stops blocking although its effect was done: deleted, changed on the server, overtaken.

use rusqlite::{Transaction, params};

use super::error::EvidenceError;
use super::machine::Event;
use super::row::{self, EffectRow, load};
use super::settings::Settings;
use super::step::{Step, take};
use crate::audit::{self, Actor, Entry, Kind};
use crate::domain::action::Action;
use crate::domain::effect::EffectState;
use crate::domain::ids::EffectId;
use crate::domain::time::Now;
use crate::store::StoreError;

/// `released` of an update that a later change of the same event overtook.
pub const LATER_UPDATE: &str = "later change of the same event";

/// The identity of an accepted effect no longer blocks. Does nothing to one that is not accepted or released already.
pub fn release(tx: &Transaction<'_>, now: Now, id: &EffectId, reason: &str) -> Result<bool, StoreError> {
    let changed = tx
        .prepare_cached(
            "UPDATE effects SET released = ?2, updated_at = ?3 WHERE id = ?1 AND state = 'accepted' AND released IS NULL",
        )?
        .execute(params![id, reason, now.wall])?;
    if changed == 0 {
        return Ok(false);
    }
    audit::append(tx, now, Entry::new(Kind::EffectReconciled, Actor::System).of_effect(id).detail("released", reason))?;
    Ok(true)
}

/// An event is gone or changed outside: whatever we did to it may be asked for again.
pub fn release_by_change(tx: &Transaction<'_>, now: Now, id: &EffectId, gone: bool) -> Result<bool, StoreError> {
    release(tx, now, id, if gone { "gone from the calendar" } else { "changed in the calendar" })
}

/// What an accepted change of an event does to the earlier effects on it.
pub(super) fn after_accepted(
    tx: &Transaction<'_>,
    now: Now,
    settings: &Settings,
    row: &EffectRow,
) -> Result<(), EvidenceError> {
    match &row.action {
        Action::DeleteEvent(delete) => {
            release_updates(tx, now, row, &delete.event_id)?;
            if delete.occurrence.is_none() {
                revert_creation(tx, now, settings, row, &delete.event_id)?;
            }
            Ok(())
        }
        Action::UpdateEvent(update) => {
            release_updates(tx, now, row, &update.event_id)?;
            Ok(())
        }
        Action::CreateEvent(_) | Action::SendEmail(_) | Action::Other(_) => Ok(()),
    }
}

/// To 15:00, to 16:00, back to 15:00 are three effects: each releases the ones before it.
fn release_updates(tx: &Transaction<'_>, now: Now, row: &EffectRow, event_id: &str) -> Result<(), StoreError> {
    let earlier: Vec<EffectId> = {
        let mut statement = tx.prepare_cached(
            "SELECT id FROM effects
             WHERE near_key = (SELECT near_key FROM effects WHERE id = ?1) AND near_key IS NOT NULL
               AND id <> ?1 AND state = 'accepted' AND released IS NULL
               AND json_extract(action, '$.event_id') = ?2",
        )?;
        statement.query_map(params![row.id, event_id], |row| row.get(0))?.collect::<Result<_, _>>()?
    };
    for id in earlier {
        release(tx, now, &id, LATER_UPDATE)?;
    }
    Ok(())
}

/// The event that this account created and now deleted is undone.
fn revert_creation(
    tx: &Transaction<'_>,
    now: Now,
    settings: &Settings,
    row: &EffectRow,
    event_id: &str,
) -> Result<(), EvidenceError> {
    let created: Vec<EffectId> = {
        let mut statement = tx.prepare_cached(
            "SELECT id FROM effects WHERE provider_id = ?1 AND account = ?2 AND tool = 'create_event' AND state = 'accepted'",
        )?;
        statement.query_map(params![event_id, row.account], |row| row.get(0))?.collect::<Result<_, _>>()?
    };
    for id in created {
        let mut created = load(tx, &id)?;
        debug_assert_eq!(created.state, EffectState::Accepted);
        let step = Step::new(Event::Revert, Kind::EffectOutcome, Actor::System)
            .reason("deleted")
            .detail("by", row.id.as_str());
        take(tx, now, settings, &mut created, step)?;
    }
    Ok(())
}

/// Effects that created this event.
pub fn creator_of(
    connection: &rusqlite::Connection,
    account: &str,
    event_id: &str,
) -> Result<Option<EffectRow>, StoreError> {
    use rusqlite::OptionalExtension;
    connection
        .prepare_cached(&format!(
            "SELECT {} FROM effects WHERE provider_id = ?1 AND account = ?2 AND tool = 'create_event' AND state = 'accepted'
             ORDER BY accepted_elapsed DESC LIMIT 1",
            row::COLUMNS
        ))?
        .query_row(params![event_id, account], row::raw)
        .optional()?
        .map(row::decode)
        .transpose()
}
