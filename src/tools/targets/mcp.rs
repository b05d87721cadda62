//! Tools of external servers as an effect target: called once, and never asked whether it happened.
//!
//! The protocol has neither an id that a server would honour nor a way to look, so a call that left without an answer
//! stays `unknown` until a person decides.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value, json};

use crate::domain::action::Action;
use crate::domain::effect::{DedupeClass, Dispatch, Found, Outcome, Performed, Receipt, ReceiptSource};
use crate::domain::literal::escape_deceptive;
use crate::domain::mail::FrozenMail;
use crate::domain::ports::EffectTarget;
use crate::domain::time::Now;
use crate::domain::tool_server::{CallOutcome, ServerState, ToolServer};
use crate::domain::untrusted;
use crate::tools::server_names;

/// Characters of a result that are kept with the receipt.
const LONGEST_ANSWER: usize = 4_000;
/// A server that is away may be back soon.
const SOON: Duration = Duration::from_secs(5);

/// Performs the effects of one server.
pub struct McpTarget {
    server: Arc<dyn ToolServer>,
    /// Of the names of its tools, see [`server_names::prefix`].
    prefix: String,
}

impl McpTarget {
    pub fn new(server: Arc<dyn ToolServer>, prefix: impl Into<String>) -> Self {
        Self { server, prefix: prefix.into() }
    }
}

#[async_trait]
impl EffectTarget for McpTarget {
    fn dedupe(&self) -> DedupeClass {
        DedupeClass::Neither
    }

    fn freeze(&self, _dispatch: &Dispatch, _now: Now) -> Result<Option<FrozenMail>, String> {
        Ok(None)
    }

    async fn perform(&self, dispatch: &Dispatch) -> Performed {
        let Action::Other(other) = &dispatch.action else {
            return performed(
                Outcome::Rejected { reason: "this is no call of an external tool".to_owned() },
                "claimed",
            );
        };
        let Some(arguments) = other.arguments.as_object() else {
            return performed(Outcome::Rejected { reason: "the arguments are no object".to_owned() }, "claimed");
        };
        match self.call(&other.tool, arguments).await {
            CallOutcome::Answered { text } => {
                let answer: String = text.chars().take(LONGEST_ANSWER).collect();
                let detail = json!({
                    "server": self.server.name(),
                    "answer": untrusted::fence(&format!("result of {}", other.tool), &answer),
                });
                let receipt = Receipt { source: ReceiptSource::Provider, provider_id: None, detail };
                performed(Outcome::Accepted { receipt }, "done")
            }
            // Quoted: it stands in lines of ours that people and the model read.
            CallOutcome::Refused { reason } => {
                let reason = format!("the tool server says {:?}", escape_deceptive(&reason));
                performed(Outcome::Rejected { reason }, "request")
            }
            CallOutcome::NotSent { reason } => {
                let outcome = Outcome::Retryable { reason, retry_after: Some(SOON), greylisted: false };
                performed(outcome, "connect")
            }
            CallOutcome::Lost { reason } => performed(Outcome::Unknown { reason }, "request"),
        }
    }

    async fn reconcile(&self, _dispatch: &Dispatch) -> Found {
        Found::CannotTell
    }
}

impl McpTarget {
    async fn call(&self, name: &str, arguments: &Map<String, Value>) -> CallOutcome {
        let tools = self.server.tools();
        let tool = tools.iter().find(|tool| server_names::tool(&self.prefix, &tool.name) == name);
        match (tool, self.server.state()) {
            (Some(tool), _) => self.server.call(&tool.name, server_names::for_server(tool, arguments)).await,
            (None, ServerState::Running) => {
                CallOutcome::Refused { reason: format!("there is no tool {name} any more") }
            }
            (None, ServerState::Starting | ServerState::Failing { .. } | ServerState::Stopped) => {
                CallOutcome::NotSent { reason: format!("the tool server {} is not running", self.server.name()) }
            }
        }
    }
}

fn performed(outcome: Outcome, phase: &str) -> Performed {
    Performed { outcome, phase: phase.to_owned(), reply: None, provider_id: None, recipients: Vec::new() }
}
