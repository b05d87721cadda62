//! `recent_actions`: what was done, what waits, what is in doubt — from the ledger, never from memory.

use std::sync::Arc;

use async_trait::async_trait;
use rusqlite::{Connection, params};
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
use crate::store::{Store, StoreError};

const MOST: i64 = 50;

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
        let zone = context.zone.clone();
        let actions = self.store.read(move |connection| recent(connection, arguments.text.as_deref(), since, &zone));
        Ok(ToolResult::new(json!({ "status": "ok", "actions": actions.await? })))
    }
}

/// Newest first.
fn recent(
    connection: &Connection,
    text: Option<&str>,
    since: Wall,
    zone: &jiff::tz::TimeZone,
) -> Result<Vec<Value>, StoreError> {
    let words: Vec<String> = text.unwrap_or("").to_lowercase().split_whitespace().map(str::to_owned).collect();
    let mut statement = connection.prepare_cached(
        "SELECT id, created_at, tool, account, state, partial, summary, action, provider_id, message_id, last_error,
                accepted_at FROM effects WHERE created_at >= ?1 ORDER BY created_at DESC, id DESC",
    )?;
    let mut rows = statement.query(params![since])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let action: String = row.get(7)?;
        let haystack = action.to_lowercase();
        if !words.iter().all(|word| haystack.contains(word)) {
            continue;
        }
        let mut entry = json!({
            "action_id": row.get::<_, String>(0)?,
            "asked_at": row.get::<_, Wall>(1)?.rfc3339(zone),
            "tool": row.get::<_, String>(2)?,
            "account": row.get::<_, String>(3)?,
            "state": row.get::<_, String>(4)?,
            "summary": row.get::<_, String>(6)?,
        });
        let mut add = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                entry[name] = json!(value);
            }
        };
        add("done_at", row.get::<_, Option<Wall>>(11)?.map(|at| at.rfc3339(zone)));
        add("receipt", row.get(8)?);
        add("message_id", row.get(9)?);
        add("error", row.get(10)?);
        if row.get::<_, bool>(5)? {
            entry["partial"] = json!(true);
        }
        found.push(entry);
        if found.len() as i64 >= MOST {
            break;
        }
    }
    Ok(found)
}

/// The tool, ready for the registry.
pub(super) fn tool(store: Store, clock: Arc<dyn crate::domain::ports::Clock>) -> Arc<dyn Tool> {
    Arc::new(RecentActionsTool { store, clock })
}
