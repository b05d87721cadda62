//! What comes back later, what is remembered, and what the model used.

use rusqlite::{Connection, params};

use super::desk::DeskParts;
use super::wire::{FactRow, Failure, ScheduleRow, UsageDay};
use crate::audit::{self, Actor, Entry, Kind};
use crate::store::{Durability, StoreError};

pub(super) fn schedules(connection: &Connection) -> Result<Vec<ScheduleRow>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT id, kind, text, next_slot, rrule IS NOT NULL FROM schedules WHERE state = 'active' ORDER BY next_slot LIMIT 500",
    )?;
    let rows = statement.query_map([], |row| {
        Ok(ScheduleRow {
            id: row.get::<_, i64>(0)?.to_string(),
            kind: row.get(1)?,
            text: row.get(2)?,
            next_at: row.get(3)?,
            recurring: row.get(4)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn facts(connection: &Connection) -> Result<Vec<FactRow>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT id, kind, coalesce(nullif(text, ''), name, ''), address, updated_at FROM facts
         WHERE erased_at IS NULL ORDER BY id DESC LIMIT 500",
    )?;
    let rows = statement.query_map([], |row| {
        Ok(FactRow {
            id: row.get::<_, i64>(0)?.to_string(),
            kind: row.get(1)?,
            text: row.get(2)?,
            address: row.get(3)?,
            at: row.get(4)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// A person takes a reminder or scheduled request back.
pub(super) async fn cancel_schedule(parts: &DeskParts, id: String) -> Result<(), Failure> {
    change(
        parts,
        id,
        "schedule",
        "UPDATE schedules SET state = 'cancelled', next_slot = NULL WHERE id = ?1 AND state = 'active'",
    )
    .await
}

/// A person erases what is remembered; the row stays without its words.
pub(super) async fn forget_fact(parts: &DeskParts, id: String) -> Result<(), Failure> {
    change(
        parts,
        id,
        "fact",
        "UPDATE facts SET erased_at = ?2, text = '', name = NULL, address = NULL WHERE id = ?1 AND erased_at IS NULL",
    )
    .await
}

async fn change(parts: &DeskParts, id: String, what: &'static str, sql: &'static str) -> Result<(), Failure> {
    let now = parts.guard.clock.now();
    let changed = parts
        .guard
        .store
        .write("window.later", Durability::Full, move |tx| {
            let mut statement = tx.prepare_cached(sql)?;
            let changed = if statement.parameter_count() == 2 {
                statement.execute(params![id, now.wall])?
            } else {
                statement.execute(params![id])?
            };
            if changed > 0 {
                let entry = Entry::new(Kind::SettingChanged, Actor::Person("window".to_owned()));
                audit::append(tx, now, entry.detail("removed", what).detail("id", id))?;
            }
            Ok::<_, StoreError>(changed)
        })
        .await
        .map_err(Failure::from)?;
    if changed == 0 { Err(Failure::not_found()) } else { Ok(()) }
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
