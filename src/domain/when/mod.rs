//! Times of events by meaning: what a written time denotes, in which zone, and when two of them are the same.
//!
//! In: texts as people, models and servers write them (RFC 3339, RFC 9557, local times, dates, ISO 8601 durations,
//! RRULE values) and the person's zone. Out: [`EventTime`](super::calendar::EventTime)s with a resolved instant and
//! canonical forms that can be compared. Invariants: the same text and zone always give the same instant, also in
//! the hour a clock change skips or repeats, and what was decided there is told in a [`Note`]; a date is never a
//! midnight. Absent on purpose: the current time, and natural language ("tomorrow at three").

mod compare;
mod error;
mod length;
mod note;
mod resolve;
mod rule;
#[cfg(test)]
mod tests;
mod zone;

pub use compare::{key, names, same};
pub use error::WhenError;
pub use length::{add, default_end, settle_end};
pub use note::Note;
pub use resolve::{Resolved, at_instant, resolve, resolve_in, resolve_local};
pub use rule::{canonical_rule, canonical_rule_from};
pub use zone::{canonical_zone, time_zone, zone_name};
