//! `calendar list`.

use rusqlite::{Connection, OptionalExtension};
use serde::Serialize;

use crate::domain::calendar::{Event, EventTime};
use crate::store::StoreError;

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CalendarRow {
    pub id: String,
    pub title: String,
    /// RFC 3339 with offset, or a date.
    pub start: String,
    pub end: String,
    pub all_day: bool,
    pub guests: Vec<String>,
    pub recurrence: Option<String>,
    pub effect_id: Option<String>,
}

impl CalendarRow {
    pub fn of(event: Event, effect_id: Option<String>) -> Self {
        Self {
            id: event.id,
            title: event.title,
            all_day: event.start.is_date(),
            start: text(event.start),
            end: text(event.end),
            guests: event.guests,
            recurrence: event.recurrence,
            effect_id,
        }
    }
}

fn text(time: EventTime) -> String {
    match time {
        EventTime::Date { date } => date,
        EventTime::Timed { at, .. } => at,
    }
}

/// The effect that made an event, if this program did.
pub fn effect_of_event(connection: &Connection, event: &str) -> Result<Option<String>, StoreError> {
    Ok(connection
        .prepare_cached("SELECT id FROM effects WHERE provider_id = ?1 AND tool = 'create_event' LIMIT 1")?
        .query_row([event], |row| row.get(0))
        .optional()?)
}
