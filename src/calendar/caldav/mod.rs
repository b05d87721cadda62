//! Calendars on CalDAV servers (RFC 4791).
//!
//! In: an address (a URL, a host, or a mail address at that host), a user and a password. Out: the port.
//! Invariants: a new event is PUT under its own id with `If-None-Match: *`, so that a second one is refused by the
//! server; a server that ignores that is found out and then asked before each create; changes carry the ETag they
//! were decided on; what a server stores beside what we understand is kept. Plain HTTP only to this machine.

mod calendar;
mod errors;
mod home;
mod live;
mod requests;
mod resources;
mod settings;
mod sync;
mod transport;

pub use calendar::{CalDavCalendar, Ids};
pub use live::LiveTest;
pub use settings::Settings;
pub use sync::{Synced, SyncedEvent};
