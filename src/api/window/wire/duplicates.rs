//! Prevented and held duplicates, the first effect beside each.

use serde::Serialize;
use ts_rs::TS;

use super::approvals::EarlierAction;
use crate::domain::action::Action;

#[derive(Clone, PartialEq, Debug, Serialize, TS)]
pub struct DuplicateRow {
    pub id: String,
    pub at: i64,
    pub verdict: String,
    pub layer: String,
    pub tool: String,
    pub summary: String,
    /// How long after the first one.
    pub age_seconds: Option<i64>,
    pub differing: Vec<String>,
    pub conversation: Option<String>,
    pub conversation_title: String,
    pub done_anyway: Option<String>,
}

#[derive(Clone, PartialEq, Debug, Serialize, TS)]
pub struct DuplicatePage {
    pub rows: Vec<DuplicateRow>,
    pub older: Option<String>,
}

#[derive(Clone, PartialEq, Debug, Serialize, TS)]
pub struct DuplicateDetail {
    pub row: DuplicateRow,
    /// What was not done.
    pub action: Action,
    pub request: String,
    pub first: EarlierAction,
    /// The next occurrence may be started by a person now.
    pub can_do_anyway: bool,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, TS)]
pub struct LayerDay {
    /// Local date, `YYYY-MM-DD`.
    pub day: String,
    pub merged: i64,
    pub prevented: i64,
    pub held: i64,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, TS)]
pub struct LayerChart {
    /// Oldest first, days without anything included.
    pub days: Vec<LayerDay>,
    pub prevented: i64,
    pub merged: i64,
    pub held: i64,
    /// The conversation most of it came from, and how much.
    pub top_title: Option<String>,
    pub top_count: i64,
}
