//! What is asked of a model and what it answers.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One entry of the conversation as a model sees it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum ChatMessage {
    User { text: String, images: Vec<ImagePart> },
    Assistant { text: String, calls: Vec<ToolCall> },
    ToolResult { call_id: String, name: String, content: String },
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ImagePart {
    pub mime: String,
    /// SHA-256 of the bytes in the data folder.
    pub sha256: String,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    /// An object, or the raw text when it was not valid JSON.
    pub arguments: Value,
}

/// A tool as a model is told of it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// JSON Schema of the arguments.
    pub schema: Value,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ChatRequest {
    pub system: String,
    pub messages: Vec<ChatMessage>,
    pub tools: Vec<ToolSpec>,
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ChatReply {
    pub text: String,
    pub calls: Vec<ToolCall>,
    pub model: String,
    pub usage: Usage,
    /// The reply was cut at the model's output limit.
    pub truncated: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Usage {
    pub input_tokens: i64,
    pub output_tokens: i64,
}

/// Why a model did not answer. A variant exists because the turn handles it differently.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// 429, 5xx, connection problems: try again after the given time or by backoff.
    #[error("the model provider is not available now: {reason}")]
    Unavailable { reason: String, retry_after: Option<std::time::Duration> },
    /// The stream ended without its end event.
    #[error("the model's answer was cut off")]
    Cut,
    #[error("the conversation is longer than the model can read")]
    ContextOverflow,
    #[error("the model provider refused the key: {reason}")]
    Unauthorized { reason: String },
    /// A 4xx that will not change by itself.
    #[error("the model provider refused the request: {reason}")]
    Refused { reason: String },
}
