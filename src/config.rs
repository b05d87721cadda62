//! The configuration file: one TOML file, every key optional, checked at the start.
//!
//! In: the file's text. Out: a typed [`Config`], or every mistake in it with file, line, column, key and what is allowed.
//! Invariants: an unknown key stops the start; a secret is never in the file, only where it is;
//! an edit keeps comments and is written only if the result is valid.

mod defaults;
mod edit;
mod error;
mod folders;
mod reader;
mod schema;
mod sections;
#[cfg(test)]
mod tests;
mod values;

pub use edit::{Change, apply};
pub use error::{ConfigError, Problem};
pub use folders::{Places, find};
pub use schema::{
    Approvals, Assistant, Caldav, Calendar, CalendarBackend, Config, Debounce, DeliveryMode, DoubleTexting, Evidence,
    GmailMail, GoogleCalendar, Groups, Guard, GuardTool, Http, Imap, Inbox, Language, Log, LogLevel, Mail, MailAuth,
    MailBackend, Mcp, McpServer, McpTransport, Message, Model, NearDuplicates, Oauth, Provider, Smtp, Telegram, Theme,
    Tls, Transcription, Turns, Window,
};
pub use sections::{Loaded, load, parse};
pub use values::{as_json, as_toml, duration, duration_text};
