//! Rows as the command line prints them: names and order of the fields are frozen.
//!
//! Times are RFC 3339 with the offset of the user's zone; ids are strings; what is absent is null.

mod approvals;
mod calendar;
mod conversations;
mod duplicates;
mod evidence;

pub use approvals::{ApprovalRow, approval, approval_of, approvals};
pub use calendar::{CalendarRow, effect_of_event};
pub use conversations::{ConversationRow, TimelineRow, conversation, conversations};
pub use duplicates::{DuplicateRow, duplicates};
pub use evidence::{AttemptRow, EvidenceDetail, EvidenceRow, evidence, evidence_of};

use crate::domain::time::Wall;

/// Rows read at a time, so that a long list is no long snapshot.
pub const PAGE: i64 = 500;

pub(super) fn time(at: i64, zone: &jiff::tz::TimeZone) -> String {
    Wall(at).rfc3339(zone)
}

/// JSON text of a column; unreadable text stays text, so that nothing is hidden.
pub(super) fn json(text: String) -> serde_json::Value {
    serde_json::from_str(&text).unwrap_or(serde_json::Value::String(text))
}
