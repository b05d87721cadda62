//! Times in arguments, and events in results.

use serde_json::{Value, json};

use super::arguments::ArgumentError;
use super::context::CallContext;
use crate::domain::calendar::{Event, EventTime};
use crate::domain::time::Wall;
use crate::domain::untrusted::fence;
use crate::domain::when;

const EXPECTED: &str = "RFC 3339, or local time in the user's zone, e.g. 2026-12-07T15:00; a date alone is all day";

/// Reads the time in `argument`; what was decided about a clock change goes to `notes`.
pub fn time(
    argument: &str,
    text: &str,
    context: &CallContext,
    notes: &mut Vec<String>,
) -> Result<EventTime, ArgumentError> {
    let resolved = when::resolve(text, &context.zone)
        .map_err(|error| ArgumentError::new(argument, format!("{argument}: {error}"), EXPECTED))?;
    notes.extend(resolved.note.map(|note| note.text(context.language.as_str())));
    Ok(resolved.time)
}

/// The date of a time, for `all_day`.
pub fn date_of(time: EventTime) -> EventTime {
    match time {
        EventTime::Timed { at, .. } => EventTime::Date { date: at.chars().take(10).collect() },
        EventTime::Date { date } => EventTime::Date { date },
    }
}

/// An instant for a range; a date as its end means the end of that day.
pub fn instant(argument: &str, text: &str, end: bool, context: &CallContext) -> Result<Wall, ArgumentError> {
    let mut time = time(argument, text, context, &mut Vec::new())?;
    if end && time.is_date() {
        time = when::default_end(&time)
            .map_err(|error| ArgumentError::new(argument, format!("{argument}: {error}"), EXPECTED))?;
    }
    time.instant(&context.zone)
        .map(Wall::from)
        .ok_or_else(|| ArgumentError::new(argument, format!("{argument}: {text:?} is no instant"), EXPECTED))
}

/// A range `from..to`, in that order.
pub fn range(from: &str, to: &str, context: &CallContext) -> Result<(Wall, Wall), ArgumentError> {
    let range = (instant("from", from, false, context)?, instant("to", to, true, context)?);
    if range.0 >= range.1 {
        return Err(ArgumentError::new("to", format!("to ({to}) is not after from ({from})"), EXPECTED));
    }
    Ok(range)
}

/// As text: the date, or the local time with its offset.
pub fn text(time: &EventTime) -> &str {
    match time {
        EventTime::Date { date } => date,
        EventTime::Timed { at, .. } => at,
    }
}

/// An event as the model reads it. Its description may come from anyone.
pub fn event(event: &Event) -> Value {
    let mut out = json!({
        "event_id": event.id,
        "title": event.title,
        "start": text(&event.start),
        "end": text(&event.end),
        "all_day": event.start.is_date(),
    });
    if let Some(location) = &event.location {
        out["location"] = json!(location);
    }
    if let Some(description) = event.description.as_deref().filter(|text| !text.trim().is_empty()) {
        out["description"] = json!(fence("event description", description));
    }
    if !event.guests.is_empty() {
        out["guests"] = json!(event.guests);
    }
    if let Some(rule) = &event.recurrence {
        out["recurrence"] = json!(rule);
    }
    if let Some(occurrence) = &event.occurrence {
        out["occurrence"] = json!(text(occurrence));
    }
    out
}
