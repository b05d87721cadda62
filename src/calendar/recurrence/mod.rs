//! Series expanded into dates: rules by the `rrule` crate, exceptions and changed dates by us.
//!
//! In: a [`Series`](super::ics::Series) and a range. Out: its dates as events. Invariants: a series follows the clock of
//! its zone (13:00 stays 13:00 over a clock change), and a date that a clock change skips or repeats is resolved as
//! `domain::when` resolves it; an all-day series yields dates, never midnights; the work for one series is bounded.

mod expand;
#[cfg(test)]
mod tests;

pub use expand::{ends, event_at, find_occurrence, moved_end, occurrences, rule_for};
