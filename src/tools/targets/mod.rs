//! Effect targets: one file per kind of outside world, called by the evidence worker only.

mod calendar;

pub use calendar::{CalendarTarget, event_id};
