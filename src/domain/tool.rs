//! Tool declarations: what a tool must say of itself before it may act.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::effect::DedupeClass;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// Only looks, or keeps something of the program's own (a reminder, a fact); never passes the guard.
    Read,
    /// Changes the world outside the turn; always passes the guard.
    Effect,
    /// Speaks to the user through the outbox.
    Message,
}

/// Policy per action.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    Auto,
    Ask,
    Deny,
}

/// Whether a call waits for the effect's outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Waiting {
    /// Waited for up to 30 s when it needs no approval.
    Outcome,
    /// Answers "queued" at once.
    Queued,
}

/// Which key of `[approvals]` decides.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum PolicyKey {
    MailSend,
    CalendarCreate,
    CalendarUpdate,
    CalendarDelete,
    Other,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, TS)]
pub struct ToolDeclaration {
    pub name: String,
    pub kind: ToolKind,
    /// Names of the arguments that make it the same action; empty: all. Built-in actions have their own identity in the guard.
    pub identity: Vec<String>,
    /// Window of its own; `None`: `guard.window`.
    #[ts(skip)]
    pub window: Option<Duration>,
    pub policy: PolicyKey,
    pub dedupe: DedupeClass,
    pub waiting: Waiting,
}
