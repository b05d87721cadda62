//! `conversations list` and `conversations show`: a timeline of what was said and what happened.

use std::collections::HashMap;

use jiff::tz::TimeZone;
use rusqlite::{Connection, OptionalExtension, params};
use serde::Serialize;
use serde_json::{Value, json};

use super::time;
use crate::domain::ids::ConversationId;
use crate::store::StoreError;

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ConversationRow {
    pub id: String,
    pub channel: String,
    pub contact: String,
    pub thread: String,
    pub title: String,
    pub last_text: String,
    pub last_at: Option<String>,
    pub turns: i64,
}

/// All conversations, the latest first.
pub fn conversations(connection: &Connection, zone: &TimeZone) -> Result<Vec<ConversationRow>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT id, channel, contact, thread, title, last_text, last_at,
                (SELECT count(*) FROM turns WHERE conversation_id = conversations.id)
         FROM conversations WHERE erased_at IS NULL ORDER BY last_at DESC, id DESC",
    )?;
    let rows = statement
        .query_map([], |row| {
            let last_at: i64 = row.get(6)?;
            Ok(ConversationRow {
                id: row.get::<_, i64>(0)?.to_string(),
                channel: row.get(1)?,
                contact: row.get(2)?,
                thread: row.get(3)?,
                title: row.get(4)?,
                last_text: row.get(5)?,
                last_at: (last_at > 0).then(|| time(last_at, zone)),
                turns: row.get(7)?,
            })
        })?
        .collect::<Result<_, _>>()?;
    Ok(rows)
}

/// One thing that happened, in the order of time.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct TimelineRow {
    pub at: String,
    /// `message`, `burst`, `turn`, `model`, `tool`, `turn_end`, `delivery` or `approval`.
    pub kind: &'static str,
    pub turn_id: Option<String>,
    /// For a person.
    pub text: String,
    /// The facts behind it.
    pub details: Value,
    #[serde(skip)]
    order: (i64, i64),
}

impl TimelineRow {
    /// Wall milliseconds.
    pub fn millis(&self) -> i64 {
        self.order.0
    }
}

/// The whole timeline, oldest first; `None` when there is no such conversation.
pub fn conversation(
    connection: &Connection,
    id: ConversationId,
    zone: &TimeZone,
) -> Result<Option<Vec<TimelineRow>>, StoreError> {
    let known = connection
        .prepare_cached("SELECT 1 FROM conversations WHERE id = ?1 AND erased_at IS NULL")?
        .query_row([id], |_| Ok(()))
        .optional()?;
    if known.is_none() {
        return Ok(None);
    }
    let mut rows = Vec::new();
    for part in [messages, bursts, turns, steps, deliveries, decisions] {
        rows.extend(part(connection, id, zone)?);
    }
    rows.sort_by_key(|row| row.order);
    Ok(Some(rows))
}

type Part = Result<Vec<TimelineRow>, StoreError>;

fn collect(
    connection: &Connection,
    id: ConversationId,
    sql: &str,
    each: impl Fn(&rusqlite::Row<'_>) -> rusqlite::Result<TimelineRow>,
) -> Part {
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map(params![id], |row| each(row))?.collect::<Result<_, _>>()?;
    Ok(rows)
}

fn messages(connection: &Connection, id: ConversationId, zone: &TimeZone) -> Part {
    let sql = "SELECT received_at, sender_name, text, kind, state, reason, id FROM inbound
               WHERE conversation_id = ?1 ORDER BY id";
    collect(connection, id, sql, |row| {
        let (at, sender, text): (i64, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let (kind, state, reason): (String, String, Option<String>) = (row.get(3)?, row.get(4)?, row.get(5)?);
        Ok(TimelineRow {
            at: time(at, zone),
            kind: "message",
            turn_id: None,
            text,
            details: json!({ "sender": sender, "kind": kind, "state": state, "reason": reason }),
            order: (at, 0),
        })
    })
}

fn bursts(connection: &Connection, id: ConversationId, zone: &TimeZone) -> Part {
    let sql = "SELECT created_at, message_count, signal, window_ms, waited_ms, flush_reason, state, turn_id
               FROM bursts WHERE conversation_id = ?1 ORDER BY id";
    collect(connection, id, sql, |row| {
        let (at, count, signal): (i64, i64, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let (window, waited, why): (i64, i64, String) = (row.get(3)?, row.get(4)?, row.get(5)?);
        let messages = if count == 1 { "1 message".to_owned() } else { format!("{count} messages") };
        #[allow(clippy::cast_precision_loss, reason = "shown with one decimal")]
        let seconds = waited as f64 / 1_000.0;
        Ok(TimelineRow {
            at: time(at, zone),
            kind: "burst",
            turn_id: row.get(7)?,
            text: format!("{messages}, one request, waited {seconds:.1} s ({signal}, {why})"),
            details: json!({
                "message_count": count, "signal": signal, "window_ms": window, "waited_ms": waited,
                "flush_reason": why, "state": row.get::<_, String>(6)?,
            }),
            order: (at, 1),
        })
    })
}

fn turns(connection: &Connection, id: ConversationId, zone: &TimeZone) -> Part {
    let sql = "SELECT started_at, ended_at, id, number, state, ending, reason, model, model_calls, tool_calls,
                      input_tokens, output_tokens FROM turns WHERE conversation_id = ?1 ORDER BY number";
    let ended = collect(connection, id, sql, |row| {
        let at: i64 = row.get::<_, Option<i64>>(1)?.unwrap_or(i64::MAX);
        let ending: Option<String> = row.get(5)?;
        let reason: Option<String> = row.get(6)?;
        Ok(TimelineRow {
            at: time(at, zone),
            kind: "turn_end",
            turn_id: row.get(2)?,
            text: [ending.clone().unwrap_or_default(), reason.clone().unwrap_or_default()].join(" ").trim().to_owned(),
            details: json!({
                "ending": ending, "reason": reason, "model": row.get::<_, String>(7)?,
                "model_calls": row.get::<_, i64>(8)?, "tool_calls": row.get::<_, i64>(9)?,
                "input_tokens": row.get::<_, i64>(10)?, "output_tokens": row.get::<_, i64>(11)?,
            }),
            order: (at, 5),
        })
    })?;
    let mut rows = collect(connection, id, sql, |row| {
        let (at, number): (i64, i64) = (row.get(0)?, row.get(3)?);
        Ok(TimelineRow {
            at: time(at, zone),
            kind: "turn",
            turn_id: row.get(2)?,
            text: format!("turn {number}"),
            details: json!({ "number": number, "state": row.get::<_, String>(4)? }),
            order: (at, 2),
        })
    })?;
    rows.extend(ended.into_iter().filter(|row| row.order.0 != i64::MAX));
    Ok(rows)
}

/// What the model said and what its calls came to, of the epoch that counts.
fn steps(connection: &Connection, id: ConversationId, zone: &TimeZone) -> Part {
    let mut statement = connection.prepare_cached(
        "SELECT turn_steps.created_at, turn_id, turn_steps.kind, content, millis FROM turn_steps
         JOIN turns ON turns.id = turn_id AND turns.epoch = turn_steps.epoch
         WHERE conversation_id = ?1 AND turn_steps.kind IN ('model_reply', 'tool_result') ORDER BY turn_steps.id",
    )?;
    let steps: Vec<(i64, String, String, String, i64)> = statement
        .query_map([id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)))?
        .collect::<Result<_, _>>()?;
    // What each call is about, by its id.
    let mut about: HashMap<String, String> = HashMap::new();
    let mut rows = Vec::with_capacity(steps.len());
    for (at, turn, kind, content, millis) in steps {
        let content = super::json(content);
        let field = |name: &str| content.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (kind, text, details) = if kind == "model_reply" {
            let calls = content.get("calls").cloned().unwrap_or(Value::Null);
            let mut names = Vec::new();
            for call in calls.as_array().into_iter().flatten() {
                let part = |name: &str| call.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
                let arguments = call.get("arguments").unwrap_or(&Value::Null);
                let subject = ["title", "subject"].iter().find_map(|name| arguments.get(name)?.as_str());
                about.insert(part("id"), subject.unwrap_or_default().to_owned());
                names.push(part("name"));
            }
            let text = if names.is_empty() { field("text") } else { format!("calls {}", names.join(", ")) };
            ("model", text, json!({ "millis": millis, "text": field("text"), "calls": calls }))
        } else {
            let result = content.get("content").cloned().unwrap_or(Value::Null);
            let subject = about.get(&field("call_id")).cloned().unwrap_or_default();
            let call = format!("{} {subject}", field("name"));
            let text = format!("{}: {}", call.trim_end(), status_of(&result));
            ("tool", text, json!({ "millis": millis, "name": field("name"), "result": result }))
        };
        rows.push(TimelineRow { at: time(at, zone), kind, turn_id: Some(turn), text, details, order: (at, 3) });
    }
    Ok(rows)
}

/// How a call ended, in words: its status, and which fields differ from the first one.
fn status_of(result: &Value) -> String {
    let status = ["status", "state", "error", "delivery_mode"]
        .iter()
        .find_map(|name| result.get(name).and_then(Value::as_str))
        .map_or_else(|| "done".to_owned(), |status| status.replace('_', " "));
    let differing: Vec<&str> = result
        .get("differences")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|difference| difference.get("field")?.as_str())
        .collect();
    if differing.is_empty() { status } else { format!("{status} (another {})", differing.join(", ")) }
}

fn deliveries(connection: &Connection, id: ConversationId, zone: &TimeZone) -> Part {
    let sql = "SELECT coalesce(delivered_at, queued_at), turn_id, content, kind, mode, fell_back, state, error,
                      sequence_in_turn, id FROM outbound WHERE conversation_id = ?1 ORDER BY id";
    collect(connection, id, sql, |row| {
        let at: i64 = row.get(0)?;
        Ok(TimelineRow {
            at: time(at, zone),
            kind: "delivery",
            turn_id: row.get(1)?,
            text: row.get(2)?,
            details: json!({
                "kind": row.get::<_, String>(3)?, "delivery_mode": row.get::<_, String>(4)?,
                "fell_back_to_batch": row.get::<_, bool>(5)?, "state": row.get::<_, String>(6)?,
                "error": row.get::<_, Option<String>>(7)?, "sequence_in_turn": row.get::<_, Option<i64>>(8)?,
            }),
            order: (at, 4),
        })
    })
}

fn decisions(connection: &Connection, id: ConversationId, zone: &TimeZone) -> Part {
    let sql = "SELECT coalesce(decided_at, requested_at), id, effect_id, state, summary, decided_by, surface
               FROM approvals WHERE conversation_id = ?1 ORDER BY id";
    collect(connection, id, sql, |row| {
        let (at, number, state): (i64, i64, String) = (row.get(0)?, row.get(1)?, row.get(3)?);
        let summary: String = row.get(4)?;
        Ok(TimelineRow {
            at: time(at, zone),
            kind: "approval",
            turn_id: None,
            text: format!("#{number} {state}: {summary}"),
            details: json!({
                "id": number.to_string(), "effect_id": row.get::<_, String>(2)?, "state": state,
                "decided_by": row.get::<_, Option<String>>(5)?, "surface": row.get::<_, Option<String>>(6)?,
            }),
            order: (at, 6),
        })
    })
}
