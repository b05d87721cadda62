//! Settings: the configuration file as pages, live tests, the debounce playground.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

/// Effective values by dotted key (`debounce.closed`), as written in the file; secrets only say where they are.
#[derive(Clone, PartialEq, Debug, Serialize, TS)]
pub struct Settings {
    #[ts(type = "Record<string, unknown>")]
    pub values: BTreeMap<String, Value>,
    /// Secret keys that have a value.
    pub secrets_set: Vec<String>,
    pub config_path: String,
    pub data_path: String,
    /// No keychain answers: where secrets go instead.
    pub keychain: bool,
    pub zones: Vec<String>,
    pub start_at_login: bool,
    pub tray: bool,
    pub servers: Vec<ToolServer>,
    pub tools: Vec<ToolRow>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, TS)]
pub struct ToolServer {
    pub name: String,
    pub command: String,
    pub state: String,
    pub tools: i64,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, TS)]
pub struct ToolRow {
    pub name: String,
    pub effect: bool,
    pub policy: String,
}

/// Changes to write, by dotted key. `null` goes back to the default.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, TS)]
pub struct SettingsChange {
    #[ts(type = "Record<string, unknown>")]
    pub values: BTreeMap<String, Value>,
}

/// What a live test found.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, TS)]
pub struct TestResult {
    pub ok: bool,
    /// What answered: a model, a bot's name, a mailbox, a calendar.
    pub name: String,
    pub detail: String,
    pub millis: i64,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, TS)]
pub struct FoundModel {
    pub provider: String,
    pub base_url: String,
    pub models: Vec<String>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, TS)]
pub struct Pairing {
    pub code: String,
    /// Opens the bot with the code, when the bot's name is known.
    pub link: Option<String>,
    pub until: i64,
    pub owners: Vec<Owner>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, TS)]
pub struct Owner {
    pub id: String,
    pub name: String,
}

/// Answer of the debounce playground.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, TS)]
pub struct Explained {
    pub signal: String,
    pub window_ms: i64,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, TS)]
pub struct UsageDay {
    pub day: String,
    pub turns: i64,
    pub input_tokens: i64,
    pub output_tokens: i64,
    pub cost_micros: i64,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, TS)]
pub struct ScheduleRow {
    pub id: String,
    pub kind: String,
    pub text: String,
    pub next_at: Option<i64>,
    pub recurring: bool,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, TS)]
pub struct FactRow {
    pub id: String,
    pub kind: String,
    pub text: String,
    pub address: Option<String>,
    pub at: i64,
}

/// What the replayed story came to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, TS)]
pub struct ReplayTotals {
    pub turns: i64,
    pub tool_calls: i64,
    pub effects_accepted: i64,
    pub duplicates_prevented: i64,
    pub bursts_merged: i64,
}

#[derive(Clone, PartialEq, Debug, Serialize, TS)]
pub struct Replayed {
    pub totals: ReplayTotals,
    /// Its timeline, in the shape of any conversation.
    pub entries: Vec<super::TimelineEntry>,
}
