//! What a host outside the window may ask, and how the answer comes: lines, then an end.
//!
//! The same shapes go over the control socket as newline-delimited JSON.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::audit::{Filter, Format};
use crate::domain::effect::EffectState;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    Status,
    Conversations,
    Conversation {
        id: String,
    },
    Calendar {
        /// RFC 3339, or a date; `None`: now.
        from: Option<String>,
        to: Option<String>,
    },
    Approvals {
        all: bool,
    },
    Decide {
        id: String,
        approve: bool,
    },
    Evidence {
        state: Option<EffectState>,
    },
    EvidenceOf {
        id: String,
    },
    Resolve {
        id: String,
        resolution: Resolution,
    },
    Duplicates,
    AuditExport {
        filter: Filter,
        format: Format,
    },
    AuditVerify,
    Backup {
        /// Absolute.
        file: String,
    },
}

/// A person's word on an unknown outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resolution {
    Sent,
    NotSent,
    Drop,
    Leave,
}

/// One line of an answer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// One row of a list, or the only value.
    Row(Value),
    /// Ready to be written as it is (CSV).
    Text(String),
    /// Nothing more follows.
    Done,
    Failed(Failure),
}

/// A failure as code and message: hosts decide by the code, people read the message.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    pub code: FailureCode,
    /// What happened, what was and wasn't done, what to do.
    pub message: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureCode {
    /// No such row.
    NotFound,
    /// Decided or settled already; the message names how.
    Settled,
    /// The request itself is wrong.
    Invalid,
    /// A server, the keychain or the disk cannot be used now.
    Unavailable,
    /// A check found something bad.
    Bad,
    Internal,
}

impl Failure {
    pub fn new(code: FailureCode, message: impl Into<String>) -> Self {
        Self { code, message: crate::runtime::redact::redact(&message.into()) }
    }

    pub fn not_found(what: &str, id: &str) -> Self {
        Self::new(FailureCode::NotFound, format!("there is no {what} {id}"))
    }
}

impl From<crate::store::StoreError> for Failure {
    fn from(error: crate::store::StoreError) -> Self {
        let code = if error.is_transient() { FailureCode::Unavailable } else { FailureCode::Internal };
        Self::new(code, error.to_string())
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        crate::store::StoreError::from(error).into()
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        crate::store::StoreError::from(error).into()
    }
}
