//! `remind_me`, `schedule_request`, `list_schedules`, `cancel_schedule`: what comes back later.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments::{ArgumentError, parse};
use super::context::{CallContext, CallError, ToolResult};
use super::own::fence;
use super::read_declaration::read;
use super::registry::Tool;
use super::{schema, when};
use crate::domain::chat::ToolSpec;
use crate::domain::ids::ScheduleId;
use crate::domain::ports::Clock;
use crate::domain::time::Wall;
use crate::domain::tool::ToolDeclaration;
use crate::schedules::{self, Kind, Missed, New, Schedule, ScheduleError};
use crate::store::{Durability, Store};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RemindArguments {
    /// What to remind the person of, in their words.
    text: String,
    /// When, RFC 3339 or local time. Relative times count from when the person wrote.
    at: String,
    /// RRULE value to repeat it, e.g. FREQ=DAILY.
    recurrence: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RequestArguments {
    /// The request as the person would write it then.
    request: String,
    /// When, RFC 3339 or local time.
    at: String,
    /// RRULE value to repeat it, e.g. FREQ=WEEKLY;BYDAY=MO.
    recurrence: Option<String>,
    /// If the computer was off at that time: "run" it late (the default) or only "tell" the person.
    #[schemars(with = "Option<String>")]
    missed: Option<Missed>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NoArguments {}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CancelArguments {
    /// As given by list_schedules.
    id: String,
}

#[derive(Clone, Copy)]
enum Which {
    Remind,
    Request,
    List,
    Cancel,
}

struct ScheduleTool {
    which: Which,
    store: Store,
    clock: Arc<dyn Clock>,
}

/// The four tools, ready for the registry.
pub(super) fn schedule_tools(store: &Store, clock: &Arc<dyn Clock>) -> Vec<Arc<dyn Tool>> {
    [Which::Remind, Which::Request, Which::List, Which::Cancel]
        .into_iter()
        .map(|which| Arc::new(ScheduleTool { which, store: store.clone(), clock: clock.clone() }) as Arc<dyn Tool>)
        .collect()
}

#[async_trait]
impl Tool for ScheduleTool {
    fn declaration(&self) -> ToolDeclaration {
        read(match self.which {
            Which::Remind => "remind_me",
            Which::Request => "schedule_request",
            Which::List => "list_schedules",
            Which::Cancel => "cancel_schedule",
        })
    }

    fn spec(&self) -> ToolSpec {
        let name = self.declaration().name;
        match self.which {
            Which::Remind => schema::spec::<RemindArguments>(&name, "Reminds the person here at a time."),
            Which::Request => schema::spec::<RequestArguments>(
                &name,
                "Runs a request of the person at a time, once or repeatedly, as if they wrote it then.",
            ),
            Which::List => schema::spec::<NoArguments>(&name, "Lists reminders and scheduled requests with their ids."),
            Which::Cancel => schema::spec::<CancelArguments>(&name, "Cancels a reminder or scheduled request."),
        }
    }

    async fn call(&self, context: &CallContext, arguments: &Value) -> Result<ToolResult, CallError> {
        match self.which {
            Which::Remind => match parse::<RemindArguments>(arguments) {
                Ok(given) => {
                    self.add(context, Kind::Reminder, given.text, &given.at, given.recurrence, Missed::Run).await
                }
                Err(error) => Ok(error.result()),
            },
            Which::Request => match parse::<RequestArguments>(arguments) {
                Ok(given) => {
                    let missed = given.missed.unwrap_or_default();
                    self.add(context, Kind::Request, given.request, &given.at, given.recurrence, missed).await
                }
                Err(error) => Ok(error.result()),
            },
            Which::List => match parse::<NoArguments>(arguments) {
                Ok(NoArguments {}) => self.list(context).await,
                Err(error) => Ok(error.result()),
            },
            Which::Cancel => match parse::<CancelArguments>(arguments) {
                Ok(given) => self.cancel(context, &given.id).await,
                Err(error) => Ok(error.result()),
            },
        }
    }
}

impl ScheduleTool {
    async fn add(
        &self,
        context: &CallContext,
        kind: Kind,
        text: String,
        at: &str,
        rule: Option<String>,
        missed: Missed,
    ) -> Result<ToolResult, CallError> {
        let text = text.trim().to_owned();
        if text.is_empty() {
            return Ok(ArgumentError::new("text", "the text is empty", "what to come back with").result());
        }
        let mut notes = Vec::new();
        let time = match when::time("at", at, context, &mut notes) {
            Ok(time) if time.is_date() => {
                let problem = format!("at: {at:?} is a day without a time");
                return Ok(ArgumentError::new("at", problem, "a day and a time, e.g. 2026-12-07T09:00").result());
            }
            Ok(time) => time,
            Err(error) => return Ok(error.result()),
        };
        let now = self.clock.now();
        let Some(starts_at) = time.instant(&context.zone).map(Wall::from) else {
            return Ok(ArgumentError::new("at", format!("at: {at:?} is no instant"), "a day and a time").result());
        };
        let rule = rule.map(|rule| rule.trim().to_owned()).filter(|rule| !rule.is_empty());
        if starts_at <= now.wall && rule.is_none() {
            let message = format!(
                "{} has passed already (it is {} now): nothing was scheduled. Tell the person, do not move it by yourself",
                when::text(&time),
                now.wall.rfc3339(&context.zone)
            );
            return Ok(ToolResult::error("in_the_past", message));
        }
        let new = New {
            kind,
            text,
            conversation: context.conversation,
            starts_at,
            zone: context.zone_name.clone(),
            rule,
            missed,
            turn: Some(context.turn.clone()),
        };
        let call = context.clone();
        let added = self
            .store
            .write("schedules.add", Durability::Full, move |tx| {
                fence(tx, &call)?;
                match schedules::add(tx, now, &new) {
                    Ok(added) => Ok(Ok(added)),
                    Err(ScheduleError::Store(error)) => Err(CallError::Store(error)),
                    Err(error @ (ScheduleError::Rule { .. } | ScheduleError::Zone(_))) => Ok(Err(error.to_string())),
                }
            })
            .await?;
        Ok(match added {
            Ok((id, fresh)) => {
                let mut content = json!({
                    "status": if fresh { "done" } else { "already_done" },
                    "id": id,
                    "at": when::text(&time),
                });
                if !notes.is_empty() {
                    content["notes"] = json!(notes);
                }
                ToolResult::new(content)
            }
            Err(problem) => ArgumentError::new("recurrence", problem, "an RRULE such as FREQ=WEEKLY;BYDAY=MO").result(),
        })
    }

    async fn list(&self, context: &CallContext) -> Result<ToolResult, CallError> {
        let zone = context.zone.clone();
        let found = self.store.read(|connection| schedules::active(connection, None)).await?;
        let listed: Vec<Value> = found.iter().map(|schedule| row(schedule, &zone)).collect();
        Ok(ToolResult::new(json!({ "status": "ok", "schedules": listed })))
    }

    async fn cancel(&self, context: &CallContext, id: &str) -> Result<ToolResult, CallError> {
        let Ok(id) = id.trim().parse::<ScheduleId>() else {
            return Ok(ArgumentError::new("id", format!("{id:?} is no id"), "an id from list_schedules").result());
        };
        let call = context.clone();
        let cancelled = self
            .store
            .write("schedules.cancel", Durability::Full, move |tx| {
                fence(tx, &call)?;
                schedules::cancel(tx, id).map_err(CallError::Store)
            })
            .await?;
        Ok(match cancelled {
            Some(schedule) => ToolResult::new(json!({ "status": "done", "cancelled": row(&schedule, &context.zone) })),
            None => ToolResult::error("not_found", format!("there is no active schedule with id {id}")),
        })
    }
}

fn row(schedule: &Schedule, zone: &jiff::tz::TimeZone) -> Value {
    let mut row = json!({
        "id": schedule.id,
        "kind": schedule.kind,
        "text": schedule.text,
        "next_at": schedule.next_slot.map(|at| at.rfc3339(zone)),
    });
    if let Some(rule) = &schedule.rule {
        row["recurrence"] = json!(rule);
    }
    row
}
