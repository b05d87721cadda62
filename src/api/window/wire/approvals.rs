//! Approvals: the literal action, why it is asked, and what was decided.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::evidence::ChainLink;
use crate::domain::action::Action;
use crate::domain::effect::{Difference, EffectState, Mark};

#[derive(Clone, PartialEq, Debug, Serialize, TS)]
pub struct ApprovalRow {
    pub id: String,
    pub effect: String,
    pub tool: String,
    pub state: String,
    pub summary: String,
    /// Recipients or guests in short.
    pub whom: String,
    pub marks: Vec<Mark>,
    pub conversation: Option<String>,
    pub conversation_title: String,
    pub requested_at: i64,
    pub expires_at: i64,
    pub decided_at: Option<i64>,
    pub decided_by: Option<String>,
    pub surface: Option<String>,
    pub effect_state: EffectState,
    /// Approved and in its undo time until then.
    pub hold_until: Option<i64>,
}

#[derive(Clone, PartialEq, Debug, Serialize, TS)]
pub struct ApprovalDetail {
    pub row: ApprovalRow,
    /// Exactly what leaves.
    pub action: Action,
    pub literal_hash: String,
    pub reason: Option<String>,
    /// Why each mark stands, as facts to be shown literally.
    pub notes: Vec<MarkNote>,
    pub near: Option<EarlierAction>,
    pub chain: Vec<ChainLink>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, TS)]
pub struct MarkNote {
    pub mark: Mark,
    /// The address, calendar or link it is about, literal.
    pub target: Option<String>,
    /// Where that came from.
    pub origin: Option<String>,
    /// Age of the request for `stale`.
    pub seconds: Option<i64>,
}

/// The earlier effect beside a near duplicate or a prevented one.
#[derive(Clone, PartialEq, Debug, Serialize, TS)]
pub struct EarlierAction {
    pub effect: Option<String>,
    pub at: i64,
    pub state: Option<EffectState>,
    pub action: Option<Action>,
    pub summary: String,
    pub differences: Vec<Difference>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Approve,
    Deny,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, TS)]
pub struct Decided {
    pub state: String,
    pub hold_until: Option<i64>,
}
