//! `find_free_time`: gaps between events that are long enough.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments::{ArgumentError, parse};
use super::calendar_access::CalendarAccess;
use super::context::{CallContext, CallError, ToolResult};
use super::read_declaration::read;
use super::registry::Tool;
use super::{schema, when};
use crate::domain::calendar::Event;
use crate::domain::chat::ToolSpec;
use crate::domain::time::Wall;
use crate::domain::tool::ToolDeclaration;

const MOST: usize = 20;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Start of the range, RFC 3339, local time or a date.
    from: String,
    /// End of the range; a date includes that day.
    to: String,
    /// Shortest gap that is of use.
    minutes: u32,
    /// Name of the calendar; without it the default one.
    calendar: Option<String>,
}

struct FindFreeTimeTool(CalendarAccess);

#[async_trait]
impl Tool for FindFreeTimeTool {
    fn declaration(&self) -> ToolDeclaration {
        read("find_free_time")
    }

    fn spec(&self) -> ToolSpec {
        schema::spec::<Arguments>(
            "find_free_time",
            "Finds the gaps in the calendar between two times. It knows nothing of working hours or nights.",
        )
    }

    async fn call(&self, context: &CallContext, arguments: &Value) -> Result<ToolResult, CallError> {
        let arguments: Arguments = match parse(arguments) {
            Ok(arguments) => arguments,
            Err(error) => return Ok(error.result()),
        };
        Ok(find(&self.0, context, arguments).await.unwrap_or_else(|result| result))
    }
}

async fn find(
    calendar: &CalendarAccess,
    context: &CallContext,
    arguments: Arguments,
) -> Result<ToolResult, ToolResult> {
    if arguments.minutes == 0 {
        return Err(ArgumentError::new("minutes", "minutes is 0", "a length in minutes").result());
    }
    let (from, to) = when::range(&arguments.from, &arguments.to, context).map_err(|error| error.result())?;
    let id = calendar.resolve(arguments.calendar.as_deref()).await?;
    let events = calendar.list(&id, from, to).await?;
    let busy = events.iter().filter(|event| !event.cancelled && !event.start.is_date());
    let busy = busy.filter_map(|event| span(event, context)).collect();
    let free: Vec<Value> = gaps(from, to, busy, i64::from(arguments.minutes))
        .into_iter()
        .take(MOST)
        .map(|(start, end)| {
            json!({
                "start": start.rfc3339(&context.zone),
                "end": end.rfc3339(&context.zone),
                "minutes": (end.0 - start.0) / 60_000,
            })
        })
        .collect();
    // A date says nothing about hours: a birthday leaves the day free, a holiday does not. The person decides.
    let all_day: Vec<&str> =
        events.iter().filter(|event| event.start.is_date()).map(|event| event.title.as_str()).collect();
    Ok(ToolResult::new(json!({ "status": "ok", "free": free, "all_day_events_not_counted": all_day })))
}

fn span(event: &Event, context: &CallContext) -> Option<(Wall, Wall)> {
    Some((event.start.instant(&context.zone)?.into(), event.end.instant(&context.zone)?.into()))
}

/// Free stretches of at least `minutes` within `from..to`.
fn gaps(from: Wall, to: Wall, mut busy: Vec<(Wall, Wall)>, minutes: i64) -> Vec<(Wall, Wall)> {
    busy.sort();
    let mut free = Vec::new();
    let mut at = from;
    for (start, end) in busy.into_iter().chain([(to, to)]) {
        let until = start.min(to);
        if until.0 - at.0 >= minutes * 60_000 {
            free.push((at, until));
        }
        at = at.max(end);
    }
    free
}

/// The tool, ready for the registry.
pub(super) fn tool(calendar: CalendarAccess) -> Arc<dyn Tool> {
    Arc::new(FindFreeTimeTool(calendar))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_lie_between_overlapping_events() {
        let minute = |n: i64| Wall(n * 60_000);
        let busy = vec![(minute(60), minute(90)), (minute(0), minute(30)), (minute(80), minute(100))];
        let spans = |minutes| gaps(minute(0), minute(180), busy.clone(), minutes);
        assert_eq!(spans(30), [(minute(30), minute(60)), (minute(100), minute(180))]);
        assert_eq!(spans(31), [(minute(100), minute(180))]);
        assert_eq!(gaps(minute(10), minute(20), vec![(minute(0), minute(60))], 1), []);
    }
}
