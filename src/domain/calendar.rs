//! Events and times as calendars know them.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::action::EventChanges;

/// A point in a calendar: a date without time, or a local time in a zone with its resolved instant.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, TS)]
#[serde(tag = "form", rename_all = "snake_case")]
pub enum EventTime {
    /// All-day; never a midnight instant. `YYYY-MM-DD`.
    Date { date: String },
    Timed {
        /// RFC 3339 local time with offset, e.g. `2026-12-07T15:00:00+01:00`.
        at: String,
        /// IANA zone.
        zone: String,
    },
}

impl EventTime {
    /// UTC instant; a date is taken at the start of day in `zone`.
    pub fn instant(&self, zone: &jiff::tz::TimeZone) -> Option<jiff::Timestamp> {
        match self {
            Self::Date { date } => {
                let date: jiff::civil::Date = date.parse().ok()?;
                zone.to_ambiguous_timestamp(date.at(0, 0, 0, 0)).compatible().ok()
            }
            Self::Timed { at, .. } => at.parse().ok(),
        }
    }

    pub fn is_date(&self) -> bool {
        matches!(self, Self::Date { .. })
    }
}

/// An event to create, with our own id.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct EventDraft {
    /// Chosen by us from the effect key: lower-case base32hex, 5 to 1024 characters, valid as UID, href and Google id.
    pub id: String,
    pub calendar: String,
    pub title: String,
    pub start: EventTime,
    pub end: EventTime,
    pub location: Option<String>,
    pub description: Option<String>,
    pub guests: Vec<String>,
    pub recurrence: Option<String>,
    pub reminders: Vec<i64>,
}

/// An event as it stands on its server; for a series with `occurrence` set, one instance of it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, TS)]
pub struct Event {
    pub id: String,
    pub calendar: String,
    pub title: String,
    pub start: EventTime,
    pub end: EventTime,
    pub location: Option<String>,
    pub description: Option<String>,
    pub guests: Vec<String>,
    pub recurrence: Option<String>,
    pub reminders: Vec<i64>,
    /// Start of this instance when it was expanded from a series.
    pub occurrence: Option<EventTime>,
    /// Of the server; changes with every change of the event.
    pub etag: String,
    pub cancelled: bool,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, TS)]
pub struct CalendarInfo {
    pub id: String,
    pub name: String,
    pub writable: bool,
    pub is_default: bool,
}

impl Event {
    /// The changes that bring back what `changes` took away, to be made to the version that the change produced.
    ///
    /// Start and end go back together: a change of one may have moved the other.
    pub fn before(&self, changes: &EventChanges) -> EventChanges {
        let text =
            |changed: &Option<String>, was: Option<&String>| changed.as_ref().map(|_| was.cloned().unwrap_or_default());
        let moved = changes.start.is_some() || changes.end.is_some();
        EventChanges {
            title: text(&changes.title, Some(&self.title)),
            start: moved.then(|| self.start.clone()),
            end: moved.then(|| self.end.clone()),
            location: text(&changes.location, self.location.as_ref()),
            description: text(&changes.description, self.description.as_ref()),
            guests: changes.guests.as_ref().map(|_| self.guests.clone()),
            recurrence: text(&changes.recurrence, self.recurrence.as_ref()),
            reminders: changes.reminders.as_ref().map(|_| self.reminders.clone()),
        }
    }
}
