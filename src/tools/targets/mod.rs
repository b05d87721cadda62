//! Effect targets: one file per kind of outside world, called by the evidence worker only.

mod calendar;
mod mail;
mod mcp;

pub use calendar::{CalendarTarget, event_id};
pub use mail::{MAIL, MailTarget};
pub use mcp::McpTarget;
