//! What the window asks and is told: wire types with their TypeScript, queries over the store, commands onto the stages.
//!
//! In: typed calls of the window, by name. Out: views as plain data, and a failure as code and message.
//! Invariants: nothing is kept in memory for a view, every page comes from SQLite; times are milliseconds since the
//! Unix epoch, ids are strings; no secret ever crosses.

mod acts;
mod approvals;
mod calendar;
mod chain;
pub mod commands;
mod conversations;
mod desk;
mod duplicates;
mod evidence;
mod failure;
mod later;
mod log;
mod search;
mod snapshot;
mod steps;
mod timeline;
pub mod wire;

pub use desk::{Desk, DeskParts};
pub use timeline::page as timeline_page;

#[cfg(test)]
mod tests;
