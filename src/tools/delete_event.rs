//! `delete_event`: takes an event, or one date of a series, out of the calendar.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::arguments::parse;
use super::calendar_access::CalendarAccess;
use super::context::{CallContext, CallError, ToolResult};
use super::effects::{EffectRequest, Effects};
use super::registry::Tool;
use super::{schema, when};
use crate::domain::action::{Action, DeleteEvent};
use crate::domain::chat::ToolSpec;
use crate::domain::effect::DedupeClass;
use crate::domain::tool::{PolicyKey, ToolDeclaration, ToolKind, Waiting};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// As given by list_events or create_event.
    event_id: String,
    /// For one date of a series: that date's `occurrence` from list_events. Without it the whole series goes.
    occurrence: Option<String>,
    /// Name of the calendar it is in; without it the default one.
    calendar: Option<String>,
}

struct DeleteEventTool {
    calendar: CalendarAccess,
    effects: Effects,
}

fn declaration() -> ToolDeclaration {
    ToolDeclaration {
        name: "delete_event".to_owned(),
        kind: ToolKind::Effect,
        identity: Vec::new(),
        window: None,
        policy: PolicyKey::CalendarDelete,
        dedupe: DedupeClass::Readable,
        waiting: Waiting::Outcome,
    }
}

impl DeleteEventTool {
    async fn action(&self, context: &CallContext, arguments: &Arguments) -> Result<DeleteEvent, ToolResult> {
        let calendar = self.calendar.resolve(arguments.calendar.as_deref()).await?;
        let event = self.calendar.get(&calendar, arguments.event_id.trim()).await?;
        let occurrence = arguments
            .occurrence
            .as_deref()
            .map(|text| when::time("occurrence", text, context, &mut Vec::new()))
            .transpose()
            .map_err(|error| error.result())?;
        let start = occurrence.clone().or(Some(event.start));
        Ok(DeleteEvent { calendar, event_id: event.id, occurrence, title: event.title, start })
    }
}

#[async_trait]
impl Tool for DeleteEventTool {
    fn declaration(&self) -> ToolDeclaration {
        declaration()
    }

    fn spec(&self) -> ToolSpec {
        schema::spec::<Arguments>("delete_event", "Deletes an event. Usually waits for the person's approval.")
    }

    async fn call(&self, context: &CallContext, arguments: &Value) -> Result<ToolResult, CallError> {
        let parsed: Arguments = match parse(arguments) {
            Ok(parsed) => parsed,
            Err(error) => return Ok(error.result()),
        };
        match self.action(context, &parsed).await {
            Ok(action) => {
                let request = EffectRequest {
                    declaration: declaration(),
                    action: Action::DeleteEvent(action),
                    account: self.calendar.account(),
                    target: "calendar".to_owned(),
                    arguments: arguments.clone(),
                    repeat: false,
                    notes: Vec::new(),
                };
                self.effects.submit(context, request).await
            }
            Err(result) => Ok(result),
        }
    }
}

/// The tool, ready for the registry.
pub(super) fn tool(calendar: CalendarAccess, effects: Effects) -> Arc<dyn Tool> {
    Arc::new(DeleteEventTool { calendar, effects })
}
