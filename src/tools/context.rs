//! What a tool knows of the call it answers, and what it gives back.

use serde_json::{Value, json};

use crate::domain::ids::{ConversationId, TurnId};
use crate::domain::language::Language;
use crate::store::StoreError;

/// One call of one turn.
#[derive(Clone, Debug)]
pub struct CallContext {
    pub conversation: ConversationId,
    pub turn: TurnId,
    pub epoch: i64,
    /// Position among the turn's tool calls, from 0; the same when the turn is replayed.
    pub ordinal: i64,
    pub call_id: String,
    /// Age in seconds of the oldest message of a stale burst.
    pub stale_seconds: Option<i64>,
    /// The person's words that led to the call.
    pub request: String,
    pub language: Language,
    /// The user's zone.
    pub zone: jiff::tz::TimeZone,
    /// Its IANA name.
    pub zone_name: String,
}

/// What the model reads as the result of its call.
#[derive(Clone, PartialEq, Debug)]
pub struct ToolResult {
    pub content: Value,
}

impl ToolResult {
    pub fn new(content: Value) -> Self {
        Self { content }
    }

    /// An error the model can act on: what happened, and what to do instead.
    pub fn error(code: &str, message: impl Into<String>) -> Self {
        Self { content: json!({ "status": "error", "error": code, "message": message.into() }) }
    }

    pub fn is_error(&self) -> bool {
        self.content.get("status").and_then(Value::as_str) == Some("error")
    }
}

/// Why a call has no result.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The turn was stopped or superseded: the caller ends without recording anything.
    #[error("the turn is no longer running")]
    TurnGone,
    /// Nothing was decided; the same call may be made again.
    #[error(transparent)]
    Store(#[from] StoreError),
}
