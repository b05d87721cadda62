//! Evidence: every effect from intent to receipt.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use crate::domain::action::Action;
use crate::domain::effect::{EffectState, ReceiptSource, RecipientResult};

/// Groups of states that a person filters by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceFilter {
    All,
    /// Unknown and stuck.
    Attention,
    /// Not settled yet.
    Open,
    Accepted,
    /// Rejected, denied, expired, cancelled, reverted.
    NotDone,
}

#[derive(Clone, PartialEq, Debug, Serialize, TS)]
pub struct EvidenceRow {
    pub id: String,
    pub tool: String,
    pub summary: String,
    pub whom: String,
    pub state: EffectState,
    pub partial: bool,
    /// Accepted by writing a file.
    pub saved_as_file: bool,
    pub attempts: i64,
    pub next_attempt_at: Option<i64>,
    pub provider_id: Option<String>,
    pub last_error: Option<String>,
    pub left_by_person: bool,
    /// `ready` and in its undo time.
    pub hold_until: Option<i64>,
    pub created_at: i64,
    pub updated_at: i64,
}

#[derive(Clone, PartialEq, Debug, Serialize, TS)]
pub struct EvidencePage {
    /// Newest first.
    pub rows: Vec<EvidenceRow>,
    /// Pass it back to read on.
    pub older: Option<String>,
}

#[derive(Clone, PartialEq, Debug, Serialize, TS)]
pub struct EvidenceDetail {
    pub row: EvidenceRow,
    pub action: Action,
    pub account: String,
    pub message_id: Option<String>,
    pub idempotency_key: String,
    pub conversation: Option<String>,
    pub released: Option<String>,
    pub recipients: Vec<RecipientResult>,
    pub chain: Vec<ChainLink>,
}

/// One link of the chain intent, action, approval, attempts, receipt.
#[derive(Clone, PartialEq, Debug, Serialize, TS)]
#[serde(tag = "link", rename_all = "snake_case")]
pub enum ChainLink {
    Intent {
        at: i64,
        request: String,
        tool: String,
        conversation_title: String,
    },
    Action {
        at: i64,
        tool: String,
        digest: String,
    },
    Approval {
        id: String,
        at: i64,
        state: String,
        who: Option<String>,
        surface: Option<String>,
        decided_at: Option<i64>,
        reason: Option<String>,
    },
    Attempt {
        n: i64,
        phase: String,
        reply: Option<String>,
        outcome: Option<String>,
        late: bool,
        started_at: i64,
        ended_at: Option<i64>,
    },
    Receipt {
        at: i64,
        source: ReceiptSource,
        provider_id: Option<String>,
        #[ts(type = "unknown")]
        detail: Value,
    },
}

/// A person's answer to an unknown outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Sent,
    NotSent,
    Drop,
    Leave,
}
