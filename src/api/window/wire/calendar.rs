//! The configured calendar, with what the agent made in it.

use serde::Serialize;
use ts_rs::TS;

use crate::domain::calendar::EventTime;

#[derive(Clone, PartialEq, Debug, Serialize, TS)]
pub struct CalendarView {
    pub name: String,
    /// It lives on this computer only.
    pub local: bool,
    pub events: Vec<CalendarEntry>,
}

#[derive(Clone, PartialEq, Debug, Serialize, TS)]
pub struct CalendarEntry {
    pub id: String,
    pub title: String,
    pub start: EventTime,
    pub end: EventTime,
    /// Instants for placing it; of an all-day event the bounds of its days in the window's zone.
    pub starts_at: i64,
    pub ends_at: i64,
    pub all_day: bool,
    pub location: Option<String>,
    pub guests: Vec<String>,
    pub recurring: bool,
    /// The effect that made it, if the agent did.
    pub effect: Option<String>,
}
