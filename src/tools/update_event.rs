//! `update_event`: changes an event, or one date of a series.

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
use crate::domain::action::{Action, EventChanges, UpdateEvent};
use crate::domain::address;
use crate::domain::calendar::{Event, EventTime};
use crate::domain::chat::ToolSpec;
use crate::domain::effect::DedupeClass;
use crate::domain::tool::{PolicyKey, ToolDeclaration, ToolKind, Waiting};
use crate::domain::when as times;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// As given by list_events or create_event.
    event_id: String,
    /// For one date of a series: that date's `occurrence` from list_events. Without it the whole event changes.
    occurrence: Option<String>,
    title: Option<String>,
    /// New start; without end_datetime the length stays.
    start_datetime: Option<String>,
    end_datetime: Option<String>,
    all_day: Option<bool>,
    /// An empty text clears it.
    location: Option<String>,
    /// An empty text clears it.
    description: Option<String>,
    /// The whole new list of guests.
    #[serde(default, deserialize_with = "some_list")]
    #[schemars(with = "Option<Vec<String>>")]
    guests: Option<Vec<String>>,
    /// RRULE value; an empty text ends the series.
    recurrence: Option<String>,
    /// Name of the calendar it is in; without it the default one.
    calendar: Option<String>,
    /// True only if the person asks for the very same change once more.
    repeat: Option<bool>,
}

fn some_list<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    string_list(deserializer).map(Some)
}

struct UpdateEventTool {
    calendar: CalendarAccess,
    effects: Effects,
}

fn changes(
    context: &CallContext,
    arguments: &Arguments,
    current: &Event,
    notes: &mut Vec<String>,
) -> Result<EventChanges, ArgumentError> {
    let all_day = arguments.all_day == Some(true);
    let mut read = |name: &str, text: &Option<String>| -> Result<Option<EventTime>, ArgumentError> {
        let time = text.as_deref().map(|text| when::time(name, text, context, notes)).transpose()?;
        Ok(if all_day { time.map(when::date_of) } else { time })
    };
    let mut start = read("start_datetime", &arguments.start_datetime)?;
    let mut end = read("end_datetime", &arguments.end_datetime)?;
    if all_day && start.is_none() && !current.start.is_date() {
        start = Some(when::date_of(current.start.clone()));
    }
    if let (Some(start), None) = (&start, &end) {
        end = moved_end(start, current, context);
    }
    let effective = start.as_ref().unwrap_or(&current.start);
    if let Some(end) = &end {
        times::settle_end(effective, Some(end)).map_err(|error| {
            ArgumentError::new("end_datetime", error.to_string(), "an end after the start, in its form")
        })?;
    }
    if let Some(guests) = &arguments.guests {
        address::parse_all(guests)
            .map_err(|error| ArgumentError::new("guests", error.to_string(), "one mail address per item"))?;
    }
    if let Some(rule) = arguments.recurrence.as_deref().filter(|rule| !rule.is_empty()) {
        times::canonical_rule(rule).map_err(|error| {
            ArgumentError::new("recurrence", error.to_string(), "an RRULE such as FREQ=WEEKLY;BYDAY=TU")
        })?;
    }
    let title = arguments.title.as_deref().map(str::trim).map(str::to_owned);
    if title.as_deref() == Some("") {
        return Err(ArgumentError::new("title", "the new title is empty", "what the event is called"));
    }
    let changes = EventChanges {
        title,
        start,
        end,
        location: arguments.location.clone(),
        description: arguments.description.clone(),
        guests: arguments.guests.clone(),
        recurrence: arguments.recurrence.clone(),
        reminders: None,
    };
    if changes == EventChanges::default() {
        return Err(ArgumentError::new("event_id", "nothing to change was given", "at least one field to change"));
    }
    Ok(changes)
}

/// The end that keeps the event's length.
fn moved_end(start: &EventTime, current: &Event, context: &CallContext) -> Option<EventTime> {
    if start.is_date() != current.start.is_date() {
        return times::default_end(start).ok();
    }
    let length = |time: &EventTime| time.instant(&context.zone);
    let seconds = length(&current.end)?.as_second() - length(&current.start)?.as_second();
    match start {
        EventTime::Date { .. } => times::add(start, &format!("P{}D", (seconds / 86_400).max(1))).ok(),
        EventTime::Timed { .. } => times::add(start, &(seconds / 60).to_string()).ok(),
    }
}

fn declaration() -> ToolDeclaration {
    ToolDeclaration {
        name: "update_event".to_owned(),
        kind: ToolKind::Effect,
        identity: Vec::new(),
        window: None,
        policy: PolicyKey::CalendarUpdate,
        dedupe: DedupeClass::Readable,
        waiting: Waiting::Outcome,
    }
}

#[async_trait]
impl Tool for UpdateEventTool {
    fn declaration(&self) -> ToolDeclaration {
        declaration()
    }

    fn spec(&self) -> ToolSpec {
        schema::spec::<Arguments>("update_event", "Changes an event. Give only what changes.")
    }

    async fn call(&self, context: &CallContext, arguments: &Value) -> Result<ToolResult, CallError> {
        let parsed: Arguments = match parse(arguments) {
            Ok(parsed) => parsed,
            Err(error) => return Ok(error.result()),
        };
        let mut notes = Vec::new();
        match self.action(context, &parsed, &mut notes).await {
            Ok(action) => {
                let request = EffectRequest {
                    declaration: declaration(),
                    action: Action::UpdateEvent(action),
                    account: self.calendar.account(),
                    target: "calendar".to_owned(),
                    arguments: arguments.clone(),
                    repeat: parsed.repeat.unwrap_or(false),
                    notes,
                };
                self.effects.submit(context, request).await
            }
            Err(result) => Ok(result),
        }
    }
}

impl UpdateEventTool {
    async fn action(
        &self,
        context: &CallContext,
        arguments: &Arguments,
        notes: &mut Vec<String>,
    ) -> Result<UpdateEvent, ToolResult> {
        let calendar = self.calendar.resolve(arguments.calendar.as_deref()).await?;
        let mut current = self.calendar.get(&calendar, arguments.event_id.trim()).await?;
        let occurrence = arguments
            .occurrence
            .as_deref()
            .map(|text| when::time("occurrence", text, context, &mut Vec::new()))
            .transpose()
            .map_err(|error| error.result())?;
        if let Some(date) = &occurrence {
            // The length is the series', the place of this date its own.
            current.end = moved_end(date, &current, context).unwrap_or(current.end);
            current.start = date.clone();
        }
        let changes = changes(context, arguments, &current, notes).map_err(|error| error.result())?;
        Ok(UpdateEvent { calendar, event_id: current.id, occurrence, changes })
    }
}

/// The tool, ready for the registry.
pub(super) fn tool(calendar: CalendarAccess, effects: Effects) -> Arc<dyn Tool> {
    Arc::new(UpdateEventTool { calendar, effects })
}
