//! Steps of a turn as the timeline shows them: model calls, and tool calls with readable fields and their verdict.

use rusqlite::{Connection, OptionalExtension, params};
use serde_json::Value;

use super::evidence::saved_as_file;
use super::wire::{Chip, StepEntry, ToolField};
use crate::domain::effect::EffectState;
use crate::domain::ids::EffectId;
use crate::evidence;
use crate::store::StoreError;

/// Longest value of a field that the folded line shows.
const LONGEST: usize = 240;

struct Call {
    id: String,
    name: String,
    arguments: Value,
}

/// The steps of the surviving epoch. A call keeps its place; its verdict follows the effect.
pub(super) fn of_turn(connection: &Connection, turn: &str) -> Result<Vec<StepEntry>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT kind, call_id, content, millis FROM turn_steps
         WHERE turn_id = ?1 AND epoch = (SELECT epoch FROM turns WHERE id = ?1) ORDER BY ordinal",
    )?;
    let rows = statement.query_map([turn], |row| {
        Ok((
            row.get::<_, String>(0)?,
            row.get::<_, Option<String>>(1)?,
            row.get::<_, String>(2)?,
            row.get::<_, i64>(3)?,
        ))
    })?;
    let mut steps = Vec::new();
    let mut calls: Vec<Call> = Vec::new();
    for row in rows {
        let (kind, call_id, content, millis) = row?;
        let content: Value = serde_json::from_str(&content)?;
        match kind.as_str() {
            "model_reply" => {
                steps.push(StepEntry::Model { millis, text: text(&content, "text") });
                calls.extend(content["calls"].as_array().into_iter().flatten().map(|call| Call {
                    id: text(call, "id"),
                    name: text(call, "name"),
                    arguments: call["arguments"].clone(),
                }));
            }
            "tool_result" => {
                let id = call_id.unwrap_or_else(|| text(&content, "call_id"));
                let Some(at) = calls.iter().position(|call| call.id == id) else { continue };
                steps.push(tool(connection, turn, calls.remove(at), &content["content"], millis)?);
            }
            "summary" | "correction" => steps.push(StepEntry::Remark { text: text(&content, "text") }),
            // What was said is the burst, what was answered the delivery: both stand beside the turn.
            _ => {}
        }
    }
    for call in calls {
        let fields = fields(&call.arguments);
        let chip = Chip::Running;
        steps.push(StepEntry::Tool {
            name: call.name,
            fields,
            chip,
            differing: Vec::new(),
            effect: None,
            approval: None,
            millis: 0,
        });
    }
    Ok(steps)
}

fn tool(connection: &Connection, turn: &str, call: Call, result: &Value, millis: i64) -> Result<StepEntry, StoreError> {
    let effect: Option<String> = match result["effect"].as_str() {
        Some(id) => Some(id.to_owned()),
        None => connection
            .prepare_cached("SELECT id FROM effects WHERE turn_id = ?1 AND call_id = ?2")?
            .query_row(params![turn, call.id], |row| row.get(0))
            .optional()?,
    };
    let approval: Option<i64> = match &effect {
        Some(effect) => connection
            .prepare_cached("SELECT max(id) FROM approvals WHERE effect_id = ?1 AND state = 'pending'")?
            .query_row([effect], |row| row.get(0))?,
        None => None,
    };
    let differing = differing(result);
    let chip = chip(connection, effect.as_deref(), result, &differing)?;
    Ok(StepEntry::Tool {
        fields: fields(&call.arguments),
        name: call.name,
        chip,
        differing,
        effect,
        approval: approval.map(|id| id.to_string()),
        millis,
    })
}

fn chip(
    connection: &Connection,
    effect: Option<&str>,
    result: &Value,
    differing: &[String],
) -> Result<Chip, StoreError> {
    match result["status"].as_str() {
        Some("already_done") => return Ok(if differing.is_empty() { Chip::Duplicate } else { Chip::Differs }),
        Some("not_allowed") => return Ok(Chip::Denied),
        Some("unresolved") => return Ok(Chip::Unknown),
        _ => {}
    }
    let Some(effect) = effect else {
        return Ok(if result.get("error").is_some() { Chip::Failed } else { Chip::Read });
    };
    let Some(row) = evidence::find(connection, &EffectId::new(effect))? else { return Ok(Chip::Running) };
    Ok(Chip::of_effect(row.state, row.state == EffectState::Accepted && saved_as_file(&row)))
}

fn differing(result: &Value) -> Vec<String> {
    result["differences"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|difference| difference["field"].as_str().map(str::to_owned))
        .collect()
}

fn fields(arguments: &Value) -> Vec<ToolField> {
    let Some(arguments) = arguments.as_object() else {
        return vec![ToolField { name: "text".to_owned(), value: shown(arguments) }];
    };
    arguments
        .iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| ToolField { name: name.clone(), value: shown(value) })
        .collect()
}

fn shown(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    };
    if text.chars().count() <= LONGEST { text } else { text.chars().take(LONGEST).chain(['…']).collect() }
}

fn text(value: &Value, field: &str) -> String {
    value[field].as_str().unwrap_or_default().to_owned()
}
