//! Ends and durations.

use jiff::{Span, Timestamp};

use super::error::WhenError;
use super::resolve::at_instant;
use super::zone::time_zone;
use crate::domain::calendar::EventTime;

/// Without a stated end: one hour, or the one day of a date (the end of an all-day event is exclusive, as in RFC 5545).
pub fn default_end(start: &EventTime) -> Result<EventTime, WhenError> {
    let length = match start {
        EventTime::Date { .. } => Span::new().days(1),
        EventTime::Timed { .. } => Span::new().hours(1),
    };
    plus(start, length)
}

/// The end to store. A date that is missing or equal to the start means that one day.
pub fn settle_end(start: &EventTime, end: Option<&EventTime>) -> Result<EventTime, WhenError> {
    let Some(end) = end else { return default_end(start) };
    let backwards = |start: &str, end: &str| WhenError::EndBeforeStart { start: start.to_owned(), end: end.to_owned() };
    match (start, end) {
        (EventTime::Date { date: first }, EventTime::Date { date: last }) => {
            if last == first {
                return default_end(start);
            }
            // ISO dates of four-digit years order as text.
            if last < first { Err(backwards(first, last)) } else { Ok(end.clone()) }
        }
        (EventTime::Timed { at: first, .. }, EventTime::Timed { at: last, .. }) => {
            if instant(last)? < instant(first)? {
                Err(backwards(first, last))
            } else {
                Ok(end.clone())
            }
        }
        (EventTime::Date { .. }, EventTime::Timed { .. }) | (EventTime::Timed { .. }, EventTime::Date { .. }) => {
            Err(WhenError::MixedForms)
        }
    }
}

/// `start` plus a duration such as `90m`, `1h 30m`, `PT1H30M`, `P1D` or plain minutes. Days keep the local time.
pub fn add(start: &EventTime, duration: &str) -> Result<EventTime, WhenError> {
    let bad = || WhenError::BadDuration { text: duration.to_owned() };
    let trimmed = duration.trim();
    let span = match trimmed.parse::<i64>() {
        Ok(minutes) => Span::new().try_minutes(minutes).map_err(|_| bad())?,
        Err(_) => trimmed.parse::<Span>().map_err(|_| bad())?,
    };
    if span.is_negative() {
        return Err(bad());
    }
    plus(start, span)
}

fn plus(start: &EventTime, span: Span) -> Result<EventTime, WhenError> {
    match start {
        EventTime::Date { date } => {
            let unreadable = || WhenError::Unreadable { text: date.clone() };
            let first: jiff::civil::Date = date.parse().map_err(|_| unreadable())?;
            let last = first.checked_add(span).map_err(|_| WhenError::OutOfRange { text: date.clone() })?;
            Ok(EventTime::Date { date: last.to_string() })
        }
        EventTime::Timed { at, zone } => {
            let zone = time_zone(zone)?;
            let zoned = instant(at)?.to_zoned_datetime(zone.clone());
            let end = zoned.checked_add(span).map_err(|_| WhenError::OutOfRange { text: at.clone() })?;
            Ok(at_instant(end.timestamp(), &zone))
        }
    }
}

fn instant(at: &str) -> Result<Timestamp, WhenError> {
    at.parse().map_err(|_| WhenError::Unreadable { text: at.to_owned() })
}
