//! The one way from a tool to the world: admission by the guard, then the words for the model.

use super::context::{CallContext, CallError, ToolResult};
use crate::domain::action::Action;
use crate::domain::ids::AccountId;
use crate::domain::tool::ToolDeclaration;

/// An effect that a tool asks for.
#[derive(Clone, Debug)]
pub struct EffectRequest {
    pub declaration: ToolDeclaration,
    /// Literal, as it will be shown and as it will leave.
    pub action: Action,
    pub account: AccountId,
    /// Which effect target performs it: `calendar`, `mail`, `mcp:SERVER`.
    pub target: String,
    /// Arguments as the model gave them, for the intent.
    pub arguments: serde_json::Value,
    /// The model says that a second occurrence is meant.
    pub repeat: bool,
    /// Told with the result: how a time was understood.
    pub notes: Vec<String>,
}

/// Submits effects; one for all tools.
#[derive(Clone)]
pub struct Effects {}

impl Effects {
    /// Admits the effect and, where its tool waits for outcomes, waits up to 30 s for this one.
    pub async fn submit(&self, context: &CallContext, request: EffectRequest) -> Result<ToolResult, CallError> {
        tracing::debug!(turn_id = %context.turn, tool = %request.declaration.name, "effect asked for");
        Err(CallError::TurnGone)
    }
}
