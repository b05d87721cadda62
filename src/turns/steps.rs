//! Recorded steps of a turn: what `turn_steps.content` holds.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ending::Closing;
use crate::domain::chat::{ImagePart, ToolCall, Usage};
use crate::domain::ids::BurstId;
use crate::domain::language::Language;

/// One recorded step.
#[derive(Clone, PartialEq, Debug)]
pub enum Step {
    /// What the person said: the first step of every epoch.
    Input(Input),
    ModelReply(ModelReply),
    ToolResult(ToolAnswer),
    /// Older history in few words; stands for every turn up to `through`.
    Summary(Summary),
    /// The program asks the model once more, and why.
    Correction(Correction),
    /// How the turn ended.
    Final(Closing),
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Input {
    /// Merged in this order.
    pub bursts: Vec<BurstId>,
    /// As the model reads it, fenced and labelled.
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ImagePart>,
    /// The person's own words, without quotes and forwards.
    pub request: String,
    /// Age of the oldest message of a stale input.
    pub stale_seconds: Option<i64>,
    pub language: Language,
    /// Elapsed ms when this epoch began.
    pub at_elapsed: i64,
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ModelReply {
    #[serde(default)]
    pub text: String,
    /// Every id occurs once.
    #[serde(default)]
    pub calls: Vec<ToolCall>,
    pub model: String,
    #[serde(default)]
    pub usage: Usage,
    #[serde(default)]
    pub truncated: bool,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ToolAnswer {
    pub call_id: String,
    pub name: String,
    pub content: Value,
    /// The call spoke to the user of this conversation.
    #[serde(default)]
    pub spoke: bool,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Summary {
    pub text: String,
    /// Number of the last turn it covers.
    pub through: i64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CorrectionReason {
    /// Neither text nor calls, and nothing said yet.
    EmptyReply,
    /// It claims an action that no row shows.
    UnprovenClaim,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Correction {
    pub reason: CorrectionReason,
    /// As the model reads it.
    pub text: String,
}

impl Step {
    /// Name in `turn_steps.kind`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Input(_) => "input",
            Self::ModelReply(_) => "model_reply",
            Self::ToolResult(_) => "tool_result",
            Self::Summary(_) => "summary",
            Self::Correction(_) => "correction",
            Self::Final(_) => "final",
        }
    }

    pub fn call_id(&self) -> Option<&str> {
        match self {
            Self::ToolResult(answer) => Some(&answer.call_id),
            Self::Input(_) | Self::ModelReply(_) | Self::Summary(_) | Self::Correction(_) | Self::Final(_) => None,
        }
    }

    pub(super) fn to_json(&self) -> Result<String, serde_json::Error> {
        match self {
            Self::Input(step) => serde_json::to_string(step),
            Self::ModelReply(step) => serde_json::to_string(step),
            Self::ToolResult(step) => serde_json::to_string(step),
            Self::Summary(step) => serde_json::to_string(step),
            Self::Correction(step) => serde_json::to_string(step),
            Self::Final(step) => serde_json::to_string(step),
        }
    }

    pub(super) fn from_json(kind: &str, content: &str) -> Result<Self, serde_json::Error> {
        match kind {
            "input" => serde_json::from_str(content).map(Self::Input),
            "model_reply" => serde_json::from_str(content).map(Self::ModelReply),
            "tool_result" => serde_json::from_str(content).map(Self::ToolResult),
            "summary" => serde_json::from_str(content).map(Self::Summary),
            "correction" => serde_json::from_str(content).map(Self::Correction),
            "final" => serde_json::from_str(content).map(Self::Final),
            other => Err(serde::de::Error::custom(format!("unknown step kind {other}"))),
        }
    }
}
