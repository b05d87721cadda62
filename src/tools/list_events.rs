//! `list_events`: what stands in the calendar.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments::parse;
use super::calendar_access::CalendarAccess;
use super::context::{CallContext, CallError, ToolResult};
use super::read_declaration::read;
use super::registry::Tool;
use super::{schema, when};
use crate::domain::chat::ToolSpec;
use crate::domain::tool::ToolDeclaration;

/// More than this would fill the model's context with one answer.
const MOST: usize = 100;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Start of the range, RFC 3339, local time or a date.
    from: String,
    /// End of the range; a date includes that day.
    to: String,
    /// Only events with this in their title, location or description.
    text: Option<String>,
    /// Name of the calendar; without it the default one.
    calendar: Option<String>,
}

struct ListEventsTool(CalendarAccess);

#[async_trait]
impl Tool for ListEventsTool {
    fn declaration(&self) -> ToolDeclaration {
        read("list_events")
    }

    fn spec(&self) -> ToolSpec {
        schema::spec::<Arguments>("list_events", "Lists the events between two times, with their ids.")
    }

    async fn call(&self, context: &CallContext, arguments: &Value) -> Result<ToolResult, CallError> {
        let arguments: Arguments = match parse(arguments) {
            Ok(arguments) => arguments,
            Err(error) => return Ok(error.result()),
        };
        Ok(list(&self.0, context, arguments).await.unwrap_or_else(|result| result))
    }
}

async fn list(
    calendar: &CalendarAccess,
    context: &CallContext,
    arguments: Arguments,
) -> Result<ToolResult, ToolResult> {
    let (from, to) = when::range(&arguments.from, &arguments.to, context).map_err(|error| error.result())?;
    let id = calendar.resolve(arguments.calendar.as_deref()).await?;
    let mut events = calendar.list(&id, from, to).await?;
    events.retain(|event| !event.cancelled);
    if let Some(text) = arguments.text.map(|text| text.trim().to_lowercase()).filter(|text| !text.is_empty()) {
        events.retain(|event| {
            [Some(&event.title), event.location.as_ref(), event.description.as_ref()]
                .into_iter()
                .flatten()
                .any(|field| field.to_lowercase().contains(&text))
        });
    }
    let found = events.len();
    let shown: Vec<Value> = events.iter().take(MOST).map(when::event).collect();
    let mut content = json!({ "status": "ok", "events": shown, "count": found });
    if found > MOST {
        content["note"] = json!(format!("only the first {MOST} of {found} are shown; ask for a shorter range"));
    }
    Ok(ToolResult::new(content))
}

/// The tool, ready for the registry.
pub(super) fn tool(calendar: CalendarAccess) -> Arc<dyn Tool> {
    Arc::new(ListEventsTool(calendar))
}
