//! `recent_actions`: what was done, what waits, what is in doubt — from the ledger, never from memory.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments::parse;
use super::context::{CallContext, CallError, ToolResult};
use super::read_declaration::read;
use super::registry::Tool;
use super::{schema, when};
use crate::domain::chat::ToolSpec;
use crate::domain::time::Wall;
use crate::domain::tool::ToolDeclaration;
use crate::evidence::{LedgerEntry, ledger};
use crate::store::Store;

const MOST: usize = 50;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Only actions with this in their title, subject, recipients or text.
    text: Option<String>,
    /// Only actions asked for since then; without it the last 30 days.
    since: Option<String>,
}

struct RecentActionsTool {
    store: Store,
    clock: Arc<dyn crate::domain::ports::Clock>,
}

#[async_trait]
impl Tool for RecentActionsTool {
    fn declaration(&self) -> ToolDeclaration {
        read("recent_actions")
    }

    fn spec(&self) -> ToolSpec {
        schema::spec::<Arguments>(
            "recent_actions",
            "Looks up what was done, what waits for approval and what failed, with times and receipts. \
             Use it for questions such as \"did you send it?\".",
        )
    }

    async fn call(&self, context: &CallContext, arguments: &Value) -> Result<ToolResult, CallError> {
        let arguments: Arguments = match parse(arguments) {
            Ok(arguments) => arguments,
            Err(error) => return Ok(error.result()),
        };
        let since = match &arguments.since {
            Some(text) => match when::instant("since", text, false, context) {
                Ok(since) => since,
                Err(error) => return Ok(error.result()),
            },
            None => Wall(self.clock.now().wall.0 - 30 * 86_400_000),
        };
        let text = arguments.text.unwrap_or_default();
        let found = self.store.read(move |connection| ledger(connection, &text, Some(since), MOST)).await?;
        let actions: Vec<Value> = found.into_iter().map(|entry| told(entry, &context.zone)).collect();
        Ok(ToolResult::new(json!({ "status": "ok", "actions": actions })))
    }
}

/// As the model reads it.
fn told(entry: LedgerEntry, zone: &jiff::tz::TimeZone) -> Value {
    let mut value = json!({
        "action_id": entry.effect,
        "asked_at": entry.asked_at.rfc3339(zone),
        "tool": entry.tool,
        "account": entry.account,
        "state": entry.state,
        "summary": entry.summary,
    });
    let done_at = entry.done_at.map(|at| at.rfc3339(zone));
    for (name, text) in [
        ("done_at", done_at),
        ("receipt", entry.provider_id),
        ("message_id", entry.message_id),
        ("error", entry.last_error),
    ] {
        if let Some(text) = text {
            value[name] = json!(text);
        }
    }
    if entry.partial {
        value["partial"] = json!(true);
    }
    value
}

/// The tool, ready for the registry.
pub(super) fn tool(store: Store, clock: Arc<dyn crate::domain::ports::Clock>) -> Arc<dyn Tool> {
    Arc::new(RecentActionsTool { store, clock })
}
