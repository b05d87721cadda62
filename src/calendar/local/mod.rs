//! The calendar in our own database.
//!
//! In: the port, and `.ics` files. Out: events with their row's version as ETag. Invariants: the primary key is the
//! id we chose, so that a second insert is impossible; each change is one transaction that checks the version; the
//! data is kept whole as iCalendar, and the columns beside it are only there to find it.

mod calendar;
mod rows;
#[cfg(test)]
mod tests;
mod transfer;

pub use calendar::LocalCalendar;
pub use transfer::{Imported, Moved};
