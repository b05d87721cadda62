//! One due slot: which one comes, and what is said without a model.

use std::time::Duration;

use rusqlite::{Connection, Transaction};

use super::error::ScheduleError;
use super::rows::{self, Kind, Missed, Schedule};
use super::rule::next_after;
use crate::domain::ids::{ConversationId, ScheduleId};
use crate::domain::language::Language;
use crate::domain::time::{Now, Wall};
use crate::store::StoreError;

/// Later than this a slot counts as missed, and its words say when it was due.
const PROMPT: Duration = Duration::from_secs(120);
/// Slots skipped at most before the newest missed one is found; hourly ones of a year fit.
const MOST_SKIPPED: usize = 10_000;

/// The newest slot that is due, and the one after it.
pub(super) fn newest_due(schedule: &Schedule, now: Wall) -> Result<Option<(Wall, Option<Wall>)>, ScheduleError> {
    let Some(mut slot) = schedule.next_slot.filter(|slot| *slot <= now) else { return Ok(None) };
    let Some(rule) = &schedule.rule else { return Ok(Some((slot, None))) };
    for _ in 0..MOST_SKIPPED {
        match next_after(schedule.starts_at, &schedule.zone, rule, slot)? {
            Some(next) if next <= now => slot = next,
            next => return Ok(Some((slot, next))),
        }
    }
    Ok(Some((slot, next_after(schedule.starts_at, &schedule.zone, rule, now)?)))
}

/// The dedupe key of a slot.
pub(super) fn key(id: ScheduleId, slot: Wall) -> String {
    format!("schedule:{id}:{}", slot.0)
}

/// What the person is told for the slot under `key` without asking a model: a reminder, or that a request was missed.
/// `None`: the text runs as a request.
pub fn answer(
    connection: &Connection,
    now: Now,
    key: &str,
    language: Language,
    zone: &jiff::tz::TimeZone,
) -> Result<Option<String>, StoreError> {
    let mut parts = key.split(':').skip(1);
    let (Some(Ok(id)), Some(Ok(slot))) = (parts.next().map(str::parse), parts.next().map(str::parse::<i64>)) else {
        return Ok(None);
    };
    let Some(schedule) = rows::find(connection, ScheduleId(id))? else { return Ok(None) };
    let slot = Wall(slot);
    let late = now.wall.since(slot) > PROMPT;
    let at = slot.timestamp().to_zoned_datetime(zone.clone()).strftime("%Y-%m-%d %H:%M").to_string();
    let due = if late { format!(" ({} {at})", language.pick("it was due", "era para el")) } else { String::new() };
    Ok(match (schedule.kind, schedule.missed) {
        (Kind::Reminder, _) => Some(format!("⏰ {}{due}", schedule.text)),
        (Kind::Request, Missed::Tell) if late => Some(missed(&schedule, slot, language, zone)),
        (Kind::Request, Missed::Run | Missed::Tell) => None,
    })
}

/// After a restore: slots that passed meanwhile are told and do not run. Gives the line for each conversation.
pub fn miss_all(
    tx: &Transaction<'_>,
    now: Now,
    language: Language,
    zone: &jiff::tz::TimeZone,
) -> Result<Vec<(ConversationId, String)>, StoreError> {
    let mut told = Vec::new();
    for schedule in rows::due(tx, now.wall)? {
        let (slot, next) = match (schedule.next_slot, newest_due(&schedule, now.wall)) {
            (Some(_), Ok(Some(found))) => found,
            (Some(slot), Err(ScheduleError::Rule { .. } | ScheduleError::Zone(_))) => (slot, None),
            (_, Err(ScheduleError::Store(error))) => return Err(error),
            (None, _) | (Some(_), Ok(None)) => continue,
        };
        rows::advance(tx, schedule.id, schedule.next_slot.unwrap_or(slot), slot, next)?;
        told.push((schedule.conversation, missed(&schedule, slot, language, zone)));
    }
    Ok(told)
}

fn missed(schedule: &Schedule, slot: Wall, language: Language, zone: &jiff::tz::TimeZone) -> String {
    let at = slot.timestamp().to_zoned_datetime(zone.clone()).strftime("%Y-%m-%d %H:%M").to_string();
    let words = language.pick("Missed, and not run; it was due", "Se perdió y no se ha hecho; era para el");
    format!("{words} {at}: {}", schedule.text)
}
