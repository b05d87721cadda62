//! The one way from a tool to the world: admission by the guard, waiting for the outcome, words for the model.

use std::sync::Arc;

use serde_json::{Value, json};

use super::arguments::ArgumentError;
use super::context::{CallContext, CallError, ToolResult};
use super::{outcome, provenance};
use crate::domain::action::Action;
use crate::domain::effect::{Intent, Origin, Verdict};
use crate::domain::ids::AccountId;
use crate::domain::tool::{ToolDeclaration, Waiting};
use crate::guard::{self, AdmitRequest, GuardError};

/// Longest piece of the person's words that is kept with an intent.
const LONGEST_REQUEST: usize = 500;

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
    pub arguments: Value,
    /// The model says that a second occurrence is meant.
    pub repeat: bool,
    /// Told with the result: how a time was understood.
    pub notes: Vec<String>,
}

/// Submits effects; one for all tools, cheap to clone.
#[derive(Clone)]
pub struct Effects {
    guard: Arc<guard::Deps>,
    own_addresses: Arc<Vec<String>>,
}

impl Effects {
    /// `own_addresses`: those of the configured accounts, which need no card to be written to.
    pub fn new(guard: guard::Deps, own_addresses: Vec<String>) -> Self {
        Self { guard: Arc::new(guard), own_addresses: Arc::new(own_addresses) }
    }

    /// Admits the effect and, where its tool waits for outcomes, waits up to 30 s for this one.
    pub async fn submit(&self, context: &CallContext, request: EffectRequest) -> Result<ToolResult, CallError> {
        let waiting = request.declaration.waiting;
        let notes = request.notes.clone();
        let verdict = match self.admit(context, request).await {
            Ok(verdict) => verdict,
            Err(GuardError::TurnSuperseded) => return Err(CallError::TurnGone),
            Err(GuardError::Store(error)) => return Err(CallError::Store(error)),
            Err(GuardError::Refused { argument, problem }) => {
                return Ok(ArgumentError::new(&argument, problem, "a value that can be carried out").result());
            }
            Err(
                error @ (GuardError::NoSuchDuplicate(_)
                | GuardError::Meets(_)
                | GuardError::NotEditable(_)
                | GuardError::Approval(_)
                | GuardError::Evidence(_)),
            ) => {
                tracing::error!(turn_id = %context.turn, %error, "an effect could not be admitted");
                return Ok(ToolResult::error("not_possible", format!("{error}; nothing was done")));
            }
        };
        let mut content = match (&verdict, waiting) {
            (Verdict::Admitted { effect }, Waiting::Outcome) => {
                outcome::wait(&self.guard.store, self.guard.clock.as_ref(), effect, context).await?
            }
            (Verdict::Admitted { effect } | Verdict::NeedsApproval { effect, .. }, _) => {
                outcome::waiting(&self.guard.store, effect, context, guard::words::for_model(&verdict)).await?
            }
            (
                Verdict::Denied { .. }
                | Verdict::Pending { .. }
                | Verdict::InFlight { .. }
                | Verdict::Unresolved { .. }
                | Verdict::Duplicate { .. }
                | Verdict::Exists { .. },
                _,
            ) => guard::words::for_model(&verdict),
        };
        if let (false, Some(fields)) = (notes.is_empty(), content.as_object_mut()) {
            fields.insert("notes".to_owned(), json!(notes));
        }
        Ok(ToolResult::new(content))
    }

    async fn admit(&self, context: &CallContext, request: EffectRequest) -> Result<Verdict, GuardError> {
        let (action, own) = (request.action.clone(), self.own_addresses.clone());
        let conversation = context.conversation;
        let provenance =
            self.guard.store.read(move |connection| provenance::trace(connection, conversation, &action, &own)).await?;
        let admission = AdmitRequest {
            intent: Intent {
                tool: request.declaration.name.clone(),
                arguments: request.arguments,
                request: context.request.chars().take(LONGEST_REQUEST).collect(),
                stale_seconds: context.stale_seconds,
            },
            action: request.action,
            declaration: request.declaration,
            account: request.account,
            target: request.target,
            origin: Origin::Turn {
                turn: context.turn.clone(),
                epoch: context.epoch,
                ordinal: context.ordinal,
                call_id: context.call_id.clone(),
            },
            conversation: Some(context.conversation),
            stale_seconds: context.stale_seconds,
            repeat: request.repeat,
            provenance,
        };
        guard::admit(&self.guard, admission).await
    }
}
