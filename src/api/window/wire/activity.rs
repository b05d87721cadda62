//! The audit log as the window reads, checks and exports it.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use crate::audit::Kind;

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct ActivityFilter {
    pub kinds: Vec<Kind>,
    pub conversation: Option<String>,
    pub since: Option<i64>,
    pub until: Option<i64>,
}

#[derive(Clone, PartialEq, Debug, Serialize, TS)]
pub struct ActivityRow {
    pub seq: i64,
    pub at: i64,
    pub kind: String,
    pub actor: String,
    pub conversation: Option<String>,
    pub conversation_title: Option<String>,
    pub effect: Option<String>,
    /// What it is about, in the person's words, unless erased.
    pub subject: Option<String>,
    #[ts(type = "unknown")]
    pub details: Value,
    pub hash: String,
}

#[derive(Clone, PartialEq, Debug, Serialize, TS)]
pub struct ActivityPage {
    pub rows: Vec<ActivityRow>,
    pub older: Option<i64>,
    pub total: i64,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, TS)]
pub struct Verification {
    pub entries: i64,
    /// First entry that does not fit, if any.
    pub bad: Option<i64>,
    pub reason: Option<String>,
    pub at: i64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ExportFormat {
    Jsonl,
    Csv,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, TS)]
pub struct ExportProgress {
    pub written: i64,
    pub total: i64,
    pub done: bool,
    pub path: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, TS)]
pub struct Exported {
    pub path: String,
    pub entries: i64,
}
