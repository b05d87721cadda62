//! The system prompt: who, when, where, the rules, and the ledger of the last 24 hours.
//!
//! The ledger lowers the rate of repeats; the guard is what prevents them.

use std::time::Duration;

use rusqlite::{Connection, params};
use serde_json::Value;

use super::settings::{LanguageChoice, Settings};
use crate::domain::action::Action;
use crate::domain::calendar::EventTime;
use crate::domain::time::{Now, Wall};
use crate::store::StoreError;

const TEMPLATE: &str = include_str!("../model/prompts/system.md");
const LEDGER_TIME: Duration = Duration::from_secs(24 * 3600);
const LEDGER_LINES: i64 = 40;

/// The prompt for one turn. Weekday, date and time are spelled out: models count days badly.
pub fn system(connection: &Connection, now: Now, settings: &Settings) -> Result<String, StoreError> {
    let at = now.wall.timestamp().to_zoned_datetime(settings.zone.clone());
    let language = match settings.language {
        LanguageChoice::Auto => "",
        LanguageChoice::En => "The person prefers English.",
        LanguageChoice::Es => "The person prefers Spanish.",
    };
    let instructions = match settings.instructions.trim() {
        "" => String::new(),
        text => format!("\n# From the person\n\n{text}\n"),
    };
    let ledger = ledger(connection, now, settings)?;
    Ok(TEMPLATE
        .replace("{name}", &settings.name)
        .replace("{weekday}", &at.strftime("%A").to_string())
        .replace("{now}", &now.wall.rfc3339(&settings.zone))
        .replace("{zone}", &settings.zone_name)
        .replace("{language}", language)
        .replace("{instructions}", &instructions)
        .replace("{ledger}", &ledger))
}

/// One line per effect, newest last.
pub fn ledger(connection: &Connection, now: Now, settings: &Settings) -> Result<String, StoreError> {
    let since = Wall(now.wall.0.saturating_sub(LEDGER_TIME.as_millis() as i64));
    let mut statement = connection.prepare_cached(
        "SELECT created_at, tool, state, account, action, provider_id, partial FROM effects
         WHERE created_at >= ?1 OR state IN ('awaiting_approval', 'ready', 'dispatching', 'retryable', 'unknown')
         ORDER BY created_at DESC, id DESC LIMIT ?2",
    )?;
    let mut lines = statement
        .query_map(params![since, LEDGER_LINES], |row| {
            Ok((
                row.get::<_, Wall>(0)?,
                row.get::<_, String>(1)?,
                row.get::<_, String>(2)?,
                row.get::<_, String>(3)?,
                row.get::<_, String>(4)?,
                row.get::<_, Option<String>>(5)?,
                row.get::<_, bool>(6)?,
            ))
        })?
        .map(|row| {
            let (at, tool, state, account, action, provider_id, partial) = row?;
            let action: Action = serde_json::from_str(&action)?;
            let id = provider_id.map(|id| format!(" (id {id})")).unwrap_or_default();
            let partial = if partial { " for some recipients" } else { "" };
            let state = state.replace('_', " ");
            let at = at.rfc3339(&settings.zone);
            Ok(format!("- {at} {tool} in {account}: {} — {state}{partial}{id}", describe(&action)))
        })
        .collect::<Result<Vec<_>, StoreError>>()?;
    lines.reverse();
    Ok(if lines.is_empty() { "None.".to_owned() } else { lines.join("\n") })
}

/// The action in one line; names are quoted, so that a title cannot pose as a line of its own.
pub fn describe(action: &Action) -> String {
    match action {
        Action::CreateEvent(event) => format!("{:?} at {}", event.title, time(&event.start)),
        Action::UpdateEvent(update) => {
            let changes = serde_json::to_value(&update.changes).unwrap_or(Value::Null);
            let fields: Vec<String> = changes.as_object().map(|map| map.keys().cloned().collect()).unwrap_or_default();
            format!("event {} changed: {}", update.event_id, fields.join(", "))
        }
        Action::DeleteEvent(delete) => format!("{:?}, event {}", delete.title, delete.event_id),
        Action::SendEmail(mail) => format!("{:?} to {}", mail.subject, mail.to.join(", ")),
        Action::Other(other) => other.arguments.to_string().chars().take(200).collect(),
    }
}

fn time(time: &EventTime) -> &str {
    match time {
        EventTime::Date { date } => date,
        EventTime::Timed { at, .. } => at,
    }
}
