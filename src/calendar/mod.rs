//! Edge: calendars. The local one lives in our database, the others on CalDAV servers and at Google.
//!
//! In: the [`Calendar`](crate::domain::ports::Calendar) port. Out: events as they stand there, and errors that say
//! what may be done next. Invariants: an event is created with an id of ours and never twice; a change is made only
//! to the version it was decided on; "no answer" is said only when the request may have been carried out.
//! Absent on purpose: any decision (guard, approvals and evidence decide); only `local` touches our database.

pub mod caldav;
pub mod google;
pub mod ics;
pub mod intake;
pub mod local;
pub mod recurrence;
