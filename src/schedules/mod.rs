//! What comes back later: reminders and requests at a time, once or by a rule.
//!
//! In: what a person asked for through the tools. Out: due slots, each one inbound message under the key
//! `schedule:ID:SLOT`, so that no slot comes twice, whatever crashes between.
//! Invariants: a slot that was missed while the computer was off comes once, the newest one only; times follow the wall
//! clock of the schedule's zone; nothing here acts: a due request runs as a turn like any other.
//! Absent on purpose: the inbox. A [`Sink`] takes the slots, and only the composition knows which.

mod error;
mod rows;
mod rule;
mod slot;
mod worker;

pub use error::ScheduleError;
pub use rows::{Kind, Missed, New, Schedule, active, add, cancel};
pub use rule::next_after;
pub use slot::{answer, miss_all};
pub use worker::{Sink, Worker};

#[cfg(test)]
mod tests;
