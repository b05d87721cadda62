//! The frame around every view: badges, the status strip, what happened while nobody looked.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Language of the window; `auto` of the configuration is resolved before it gets here.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    Es,
    En,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Theme {
    System,
    Light,
    Dark,
}

/// Everything the frame shows. Sent once at the start, and again with every change as a [`Patch`].
#[derive(Clone, PartialEq, Debug, Serialize, TS)]
pub struct Snapshot {
    pub version: String,
    /// Wall clock of the core, so that the window shows ages by it.
    pub now: i64,
    pub zone: String,
    pub language: Language,
    pub theme: Theme,
    /// The wizard has not been finished or skipped yet.
    pub first_start: bool,
    /// No model provider is configured: the deterministic parser answers.
    pub practice: bool,
    pub paused: bool,
    /// The mail backend writes files; nothing it does may be called "sent".
    pub mail_saves_files: bool,
    /// The calendar lives on this computer only.
    pub local_calendar: bool,
    /// Undo time before a mail leaves.
    pub hold_seconds: i64,
    pub badges: Badges,
    pub status: Status,
    pub away: Option<Away>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, TS)]
pub struct Badges {
    pub approvals: i64,
    /// Unknown or stuck effects until they are resolved.
    pub evidence: i64,
}

/// How one part of the program does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    Ok,
    Off,
    Trouble,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, TS)]
pub struct PartStatus {
    pub health: Health,
    /// Name to show: a model, an address, a calendar.
    pub name: String,
    /// Code of the state, e.g. `receiving`, `conflict`, `practice`, `maildir`, `local`.
    pub state: String,
    /// What is wrong, in words, when something is.
    pub detail: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, TS)]
pub struct Status {
    pub telegram: PartStatus,
    pub model: PartStatus,
    pub mail: PartStatus,
    pub calendar: PartStatus,
    pub next_retry_at: Option<i64>,
    pub prevented_today: i64,
    pub merged_today: i64,
}

/// What happened during sleep or a long absence.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, TS)]
pub struct Away {
    pub from: i64,
    pub until: i64,
    pub arrived: i64,
    pub waiting: i64,
    pub not_repeated: i64,
    pub expired: Vec<ExpiredCard>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, TS)]
pub struct ExpiredCard {
    pub approval: String,
    pub summary: String,
}

/// Which views a change concerns.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    Conversations,
    Approvals,
    Evidence,
    Duplicates,
    Calendar,
    Activity,
    Settings,
}

/// Pushed after every committed change.
#[derive(Clone, PartialEq, Debug, Serialize, TS)]
pub struct Patch {
    pub snapshot: Snapshot,
    pub topics: Vec<Topic>,
}

/// Why a call did not do what was asked. `code` is stable and has words in both languages; `message` is the detail.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, TS)]
pub struct Failure {
    pub code: FailureCode,
    pub message: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum FailureCode {
    NotFound,
    /// Decided, resolved or left already; the message names how.
    AlreadySettled,
    /// The value cannot be used; the message says why.
    Invalid,
    /// A server or device outside does not answer.
    Unreachable,
    /// Credentials are missing or refused.
    Unauthorized,
    /// The person closed the dialog or stopped the work.
    Cancelled,
    Storage,
    Internal,
}

/// The window is told to show an item (a notification was clicked, the tray was used).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, TS)]
pub struct OpenItem {
    pub topic: Topic,
    pub id: Option<String>,
}
