//! `create_event`: a new event, admitted by the guard.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::arguments::{ArgumentError, parse, string_list};
use super::calendar_access::CalendarAccess;
use super::context::{CallContext, CallError, ToolResult};
use super::effects::{EffectRequest, Effects};
use super::registry::Tool;
use super::{schema, when};
use crate::domain::action::{Action, CreateEvent};
use crate::domain::address;
use crate::domain::calendar::EventTime;
use crate::domain::chat::ToolSpec;
use crate::domain::effect::DedupeClass;
use crate::domain::tool::{PolicyKey, ToolDeclaration, ToolKind, Waiting};
use crate::domain::when as times;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// What it is called, in the person's words.
    title: String,
    /// Start as RFC 3339 or local time, e.g. 2026-12-07T15:00. A date alone makes it all-day.
    start_datetime: String,
    /// End in the same form; without it one hour, or the one day.
    end_datetime: Option<String>,
    all_day: Option<bool>,
    location: Option<String>,
    description: Option<String>,
    /// Mail addresses of the guests, one per item. Only addresses that the person gave or that `recall` found.
    #[serde(default, deserialize_with = "string_list")]
    #[schemars(with = "Option<Vec<String>>")]
    guests: Vec<String>,
    /// RFC 5545 RRULE value for a series, e.g. FREQ=WEEKLY;BYDAY=TU.
    recurrence: Option<String>,
    /// Name of the calendar; without it the default one.
    calendar: Option<String>,
    /// True only if the person says in their newest message that they want the same event a second time.
    repeat: Option<bool>,
}

pub(super) struct CreateEventTool {
    pub calendar: CalendarAccess,
    pub effects: Effects,
}

impl CreateEventTool {
    async fn action(
        &self,
        context: &CallContext,
        arguments: Arguments,
        notes: &mut Vec<String>,
    ) -> Result<CreateEvent, ToolResult> {
        let calendar = self.calendar.resolve(arguments.calendar.as_deref()).await?;
        build(context, arguments, calendar, notes).map_err(|error| error.result())
    }
}

fn build(
    context: &CallContext,
    arguments: Arguments,
    calendar: String,
    notes: &mut Vec<String>,
) -> Result<CreateEvent, ArgumentError> {
    let title = arguments.title.trim().to_owned();
    if title.is_empty() {
        return Err(ArgumentError::new("title", "the title is empty", "what the event is called"));
    }
    let mut start = when::time("start_datetime", &arguments.start_datetime, context, notes)?;
    let mut end = arguments.end_datetime.as_deref().map(|text| when::time("end_datetime", text, context, notes));
    if arguments.all_day == Some(true) {
        start = when::date_of(start);
        end = end.map(|end| end.map(when::date_of));
    }
    let end: Option<EventTime> = end.transpose()?;
    times::settle_end(&start, end.as_ref()).map_err(|error| {
        ArgumentError::new("end_datetime", error.to_string(), "an end after the start, in its form")
    })?;
    address::parse_all(&arguments.guests)
        .map_err(|error| ArgumentError::new("guests", error.to_string(), "one mail address per item"))?;
    let recurrence = arguments.recurrence.filter(|rule| !rule.trim().is_empty());
    if let Some(rule) = &recurrence {
        times::canonical_rule(rule).map_err(|error| {
            ArgumentError::new("recurrence", error.to_string(), "an RRULE such as FREQ=WEEKLY;BYDAY=TU")
        })?;
    }
    let text = |text: Option<String>| text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    Ok(CreateEvent {
        calendar,
        title,
        start,
        end,
        location: text(arguments.location),
        description: text(arguments.description),
        guests: arguments.guests,
        recurrence: recurrence.map(|rule| rule.trim().trim_start_matches("RRULE:").to_owned()),
        reminders: Vec::new(),
    })
}

pub(super) fn declaration() -> ToolDeclaration {
    ToolDeclaration {
        name: "create_event".to_owned(),
        kind: ToolKind::Effect,
        identity: Vec::new(),
        window: None,
        policy: PolicyKey::CalendarCreate,
        dedupe: DedupeClass::ClientId,
        waiting: Waiting::Outcome,
    }
}

#[async_trait]
impl Tool for CreateEventTool {
    fn declaration(&self) -> ToolDeclaration {
        declaration()
    }

    fn spec(&self) -> ToolSpec {
        schema::spec::<Arguments>("create_event", "Creates one event in the person's calendar. One call per event.")
    }

    async fn call(&self, context: &CallContext, arguments: &Value) -> Result<ToolResult, CallError> {
        let parsed: Arguments = match parse(arguments) {
            Ok(parsed) => parsed,
            Err(error) => return Ok(error.result()),
        };
        let repeat = parsed.repeat.unwrap_or(false);
        let mut notes = Vec::new();
        let action = match self.action(context, parsed, &mut notes).await {
            Ok(action) => action,
            Err(result) => return Ok(result),
        };
        let request = EffectRequest {
            declaration: declaration(),
            action: Action::CreateEvent(action),
            account: self.calendar.account(),
            target: "calendar".to_owned(),
            arguments: arguments.clone(),
            repeat,
            notes,
        };
        self.effects.submit(context, request).await
    }
}

/// The tool, ready for the registry.
pub(super) fn tool(calendar: CalendarAccess, effects: Effects) -> Arc<dyn Tool> {
    Arc::new(CreateEventTool { calendar, effects })
}
