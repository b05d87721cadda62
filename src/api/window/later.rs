//! What comes back later, what is remembered, and what the model used.

use rusqlite::{Connection, Transaction};

use super::desk::DeskParts;
use super::wire::{FactRow, Failure, ScheduleRow, UsageDay};
use crate::audit::{self, Actor, Entry, Kind};
use crate::domain::ids::{FactId, ScheduleId};
use crate::domain::time::Now;
use crate::store::{Durability, StoreError};
use crate::{memory, schedules};

pub(super) fn schedules(connection: &Connection) -> Result<Vec<ScheduleRow>, StoreError> {
    let rows = schedules::active(connection, None)?.into_iter().map(|row| ScheduleRow {
        id: row.id.0.to_string(),
        kind: row.kind.as_str().to_owned(),
        text: row.text,
        next_at: row.next_slot.map(|at| at.0),
        recurring: row.rule.is_some(),
    });
    Ok(rows.collect())
}

pub(super) fn facts(connection: &Connection) -> Result<Vec<FactRow>, StoreError> {
    let rows = memory::all(connection)?.into_iter().map(|row| FactRow {
        id: row.id.0.to_string(),
        kind: row.kind.as_str().to_owned(),
        text: if row.text.is_empty() { row.name.unwrap_or_default() } else { row.text },
        address: row.address,
        at: row.at.0,
    });
    Ok(rows.collect())
}

/// A person takes a reminder or scheduled request back.
pub(super) async fn cancel_schedule(parts: &DeskParts, id: String) -> Result<(), Failure> {
    let schedule = ScheduleId(number(&id)?);
    remove(parts, "schedule", id, move |tx, _| Ok(schedules::cancel(tx, schedule)?.is_some())).await
}

/// A person erases what is remembered; the row stays without its words, and no search finds them.
pub(super) async fn forget_fact(parts: &DeskParts, id: String) -> Result<(), Failure> {
    let fact = FactId(number(&id)?);
    remove(parts, "fact", id, move |tx, now| Ok(memory::forget(tx, now, fact)?.is_some())).await
}

fn number(id: &str) -> Result<i64, Failure> {
    id.parse().map_err(|_| Failure::not_found())
}

async fn remove(
    parts: &DeskParts,
    what: &'static str,
    id: String,
    act: impl FnOnce(&Transaction<'_>, Now) -> Result<bool, StoreError> + Send + 'static,
) -> Result<(), Failure> {
    let now = parts.guard.clock.now();
    let removed = parts
        .guard
        .store
        .write("window.later", Durability::Full, move |tx| {
            let removed = act(tx, now)?;
            if removed {
                let entry = Entry::new(Kind::SettingChanged, Actor::Person("window".to_owned()));
                audit::append(tx, now, entry.detail("removed", what).detail("id", id))?;
            }
            Ok::<_, StoreError>(removed)
        })
        .await
        .map_err(Failure::from)?;
    if removed { Ok(()) } else { Err(Failure::not_found()) }
}

pub(super) async fn usage(parts: &DeskParts, days: i64) -> Result<Vec<UsageDay>, Failure> {
    let api = parts.api.parts();
    let zone = api.zone.clone();
    let since = api.clock.now().wall.0 - days * 86_400_000;
    api.store
        .read(move |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT started_at, input_tokens, output_tokens, cost_micros FROM turns WHERE started_at >= ?1 ORDER BY started_at DESC",
            )?;
            let rows = statement.query_map([since], |row| {
                Ok((row.get::<_, crate::domain::time::Wall>(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
            })?;
            let mut found: Vec<UsageDay> = Vec::new();
            for row in rows {
                let (at, input, output, cost): (_, i64, i64, i64) = row?;
                let day = at.timestamp().to_zoned_datetime(zone.clone()).date().to_string();
                if found.last().is_none_or(|last| last.day != day) {
                    found.push(UsageDay { day, turns: 0, input_tokens: 0, output_tokens: 0, cost_micros: 0 });
                }
                if let Some(last) = found.last_mut() {
                    last.turns += 1;
                    last.input_tokens += input;
                    last.output_tokens += output;
                    last.cost_micros += cost;
                }
            }
            Ok(found)
        })
        .await
        .map_err(|error: StoreError| error.into())
}
