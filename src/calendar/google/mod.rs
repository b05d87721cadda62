//! Google Calendar (API v3, <https://developers.google.com/workspace/calendar/api/v3/reference>).
//!
//! In: a signed-in account of the person's own Google client. Out: the port. Invariants: an event is inserted with
//! our own id, so that a second insert is refused; a cancelled event is never taken for a done one; changes carry the
//! ETag they were decided on; limits are told apart from refusals by Google's reasons, not by status alone.

mod calendar;
mod errors;
mod instances;
mod intake;
mod json;
mod settings;
mod sync;
mod transport;

pub use calendar::GoogleCalendar;
pub use settings::{SCOPES, SendUpdates, Settings};
pub use sync::GoogleSynced;
