//! Actions as they will be shown and as they will leave: literal, typed, before normalisation.
//!
//! `guard::normalise` turns an [`Action`] into identity, digest and literal hash.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use super::calendar::EventTime;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Action {
    CreateEvent(CreateEvent),
    UpdateEvent(UpdateEvent),
    DeleteEvent(DeleteEvent),
    SendEmail(SendEmail),
    Other(OtherAction),
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, TS)]
pub struct CreateEvent {
    /// Calendar id within the account, the default one resolved.
    pub calendar: String,
    pub title: String,
    pub start: EventTime,
    pub end: Option<EventTime>,
    pub location: Option<String>,
    pub description: Option<String>,
    /// Addresses as given.
    pub guests: Vec<String>,
    /// RRULE value without the `RRULE:` prefix.
    pub recurrence: Option<String>,
    /// Minutes before the start.
    pub reminders: Vec<i64>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, TS)]
pub struct UpdateEvent {
    pub calendar: String,
    pub event_id: String,
    /// One date of a series; the whole event or series when absent.
    pub occurrence: Option<EventTime>,
    pub changes: EventChanges,
}

/// Only what changes is present. An empty text or list clears the field.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct EventChanges {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<EventTime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<EventTime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guests: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recurrence: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reminders: Option<Vec<i64>>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, TS)]
pub struct DeleteEvent {
    pub calendar: String,
    pub event_id: String,
    pub occurrence: Option<EventTime>,
    /// Title and start at the time of the request, for the card and the summary.
    pub title: String,
    pub start: Option<EventTime>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, TS)]
pub struct SendEmail {
    /// `Name <address>` or `address`.
    pub from: String,
    pub to: Vec<String>,
    pub cc: Vec<String>,
    pub bcc: Vec<String>,
    pub subject: String,
    /// Plain text.
    pub body: String,
    pub html: Option<String>,
    /// Copied in at admission.
    pub attachments: Vec<AttachedFile>,
    /// Message-ID of the mail answered, with angle brackets.
    pub in_reply_to: Option<String>,
    /// References of the thread, oldest first.
    pub references: Vec<String>,
    /// Thread identity: the root Message-ID of the thread, if any.
    pub thread: Option<String>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, TS)]
pub struct AttachedFile {
    pub name: String,
    pub mime: String,
    pub sha256: String,
    pub bytes: i64,
}

/// Any other effect tool, external ones included.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, TS)]
pub struct OtherAction {
    pub tool: String,
    pub arguments: Value,
    /// Arguments that make it the same action; empty: all.
    pub identity_fields: Vec<String>,
}

impl Action {
    /// Title or subject, for lists.
    pub fn summary(&self) -> String {
        match self {
            Self::CreateEvent(event) => event.title.clone(),
            Self::UpdateEvent(update) => update.changes.title.clone().unwrap_or_else(|| update.event_id.clone()),
            Self::DeleteEvent(delete) => delete.title.clone(),
            Self::SendEmail(mail) => mail.subject.clone(),
            Self::Other(other) => other.tool.clone(),
        }
    }
}
