//! Rows as the command line prints them: names and order of the fields are frozen.
//!
//! Times are RFC 3339 with the offset of the user's zone; ids are strings; what is absent is null.

mod approvals;
mod calendar;
mod columns;
mod conversations;
mod duplicates;
mod evidence;

pub use approvals::{ApprovalRow, approval, approval_of, approvals};
pub use calendar::{CalendarRow, effect_of_event};
pub use columns::PAGE;
pub use conversations::{ConversationRow, TimelineRow, conversation, conversations};
pub use duplicates::{DuplicateRow, duplicates};
pub use evidence::{AttemptRow, EvidenceDetail, EvidenceRow, evidence, evidence_of};

use columns::{json, time};
