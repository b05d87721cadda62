//! iCalendar (RFC 5545) as it stands in files and on servers: read, changed in place, written back.
//!
//! In: calendar data of any origin. Out: [`Event`](crate::domain::calendar::Event)s and new calendar data.
//! Invariants: what this program does not understand (properties, parameters, components, zone definitions) is kept
//! as it was; local times are written with their zone, never as a fixed offset; the same change applied twice gives
//! the same data. Absent on purpose: to-dos, journals and scheduling messages.

mod change;
mod document;
mod line;
mod read;
mod time;
mod write;
mod zones;

pub use change::{ChangeError, Stamp, apply, exclude_occurrence, override_occurrence};
pub use document::{Component, IcsError, parse_calendar};
pub use line::Line;
pub use read::{Series, read_event, read_series, series_of};
pub use time::{read_time, write_time};
pub use write::{draft_calendar, wrap};
pub use zones::{zone_definition, zone_of};
