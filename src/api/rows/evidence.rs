//! `evidence list` and `evidence show`.

use jiff::tz::TimeZone;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::Serialize;
use serde_json::Value;

use super::approvals::{ApprovalRow, approval_of};
use super::{json, time};
use crate::domain::effect::EffectState;
use crate::domain::ids::EffectId;
use crate::store::StoreError;

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct EvidenceRow {
    pub id: String,
    pub tool: String,
    pub account: String,
    pub summary: String,
    pub state: String,
    pub partial: bool,
    pub idempotency_key: String,
    pub attempts: i64,
    pub next_attempt_at: Option<String>,
    pub message_id: Option<String>,
    pub provider_id: Option<String>,
    pub last_error: Option<String>,
    pub conversation_id: Option<String>,
    pub turn_id: Option<String>,
    pub created_at: String,
    pub updated_at: String,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct EvidenceDetail {
    #[serde(flatten)]
    pub row: EvidenceRow,
    pub intent: Value,
    pub action: Value,
    pub approval: Option<ApprovalRow>,
    pub attempt_log: Vec<AttemptRow>,
    pub receipt: Option<Value>,
    pub recipients: Vec<RecipientRow>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct AttemptRow {
    pub n: i64,
    pub phase: String,
    pub reply: Option<String>,
    pub outcome: Option<String>,
    pub started_at: String,
    pub ended_at: Option<String>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RecipientRow {
    pub address: String,
    pub state: String,
    pub reply: Option<String>,
}

/// Where a page ends: (created_at, id) of its last row.
pub type Position = (i64, String);

const COLUMNS: &str = "id, tool, account, summary, state, partial, idempotency_key, attempts, next_attempt_at,
    message_id, provider_id, last_error, conversation_id, turn_id, created_at, updated_at";

fn row(row: &Row<'_>, zone: &TimeZone) -> rusqlite::Result<EvidenceRow> {
    Ok(EvidenceRow {
        id: row.get(0)?,
        tool: row.get(1)?,
        account: row.get(2)?,
        summary: row.get(3)?,
        state: row.get(4)?,
        partial: row.get(5)?,
        idempotency_key: row.get(6)?,
        attempts: row.get(7)?,
        next_attempt_at: row.get::<_, Option<i64>>(8)?.map(|at| time(at, zone)),
        message_id: row.get(9)?,
        provider_id: row.get(10)?,
        last_error: row.get(11)?,
        conversation_id: row.get::<_, Option<i64>>(12)?.map(|id| id.to_string()),
        turn_id: row.get(13)?,
        created_at: time(row.get(14)?, zone),
        updated_at: time(row.get(15)?, zone),
    })
}

/// At most [`super::PAGE`] rows after `after`, newest first, and where they end.
pub fn evidence(
    connection: &Connection,
    state: Option<EffectState>,
    after: Option<&Position>,
    zone: &TimeZone,
) -> Result<(Vec<EvidenceRow>, Option<Position>), StoreError> {
    let (at, id) = after.cloned().unwrap_or((i64::MAX, String::new()));
    let sql = format!(
        "SELECT {COLUMNS} FROM effects
         WHERE (created_at, id) < (?1, ?2) AND (?3 IS NULL OR state = ?3)
         ORDER BY created_at DESC, id DESC LIMIT ?4"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let rows: Vec<(EvidenceRow, i64)> = statement
        .query_map(params![at, id, state.map(EffectState::as_str), super::PAGE], |found| {
            Ok((row(found, zone)?, found.get(14)?))
        })?
        .collect::<Result<_, _>>()?;
    let full = i64::try_from(rows.len()).is_ok_and(|count| count == super::PAGE);
    let end = rows.last().filter(|_| full).map(|(row, at)| (*at, row.id.clone()));
    Ok((rows.into_iter().map(|(row, _)| row).collect(), end))
}

/// One effect with everything known of it.
pub fn evidence_of(
    connection: &Connection,
    id: &EffectId,
    zone: &TimeZone,
) -> Result<Option<EvidenceDetail>, StoreError> {
    let sql = format!("SELECT {COLUMNS}, intent, action, receipt FROM effects WHERE id = ?1");
    let found = connection
        .prepare_cached(&sql)?
        .query_row([id], |found| {
            let receipt: Option<String> = found.get(18)?;
            Ok((row(found, zone)?, found.get::<_, String>(16)?, found.get::<_, String>(17)?, receipt))
        })
        .optional()?;
    let Some((row, intent, action, receipt)) = found else { return Ok(None) };
    Ok(Some(EvidenceDetail {
        row,
        intent: json(intent),
        action: json(action),
        approval: approval_of(connection, id, zone)?,
        attempt_log: attempts(connection, id, zone)?,
        receipt: receipt.map(json),
        recipients: recipients(connection, id)?,
    }))
}

fn attempts(connection: &Connection, id: &EffectId, zone: &TimeZone) -> Result<Vec<AttemptRow>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT n, phase, reply, outcome, started_at, ended_at FROM effect_attempts WHERE effect_id = ?1 ORDER BY n",
    )?;
    let rows = statement
        .query_map([id], |row| {
            Ok(AttemptRow {
                n: row.get(0)?,
                phase: row.get(1)?,
                reply: row.get(2)?,
                outcome: row.get(3)?,
                started_at: time(row.get(4)?, zone),
                ended_at: row.get::<_, Option<i64>>(5)?.map(|at| time(at, zone)),
            })
        })?
        .collect::<Result<_, _>>()?;
    Ok(rows)
}

fn recipients(connection: &Connection, id: &EffectId) -> Result<Vec<RecipientRow>, StoreError> {
    let mut statement = connection
        .prepare_cached("SELECT address, state, reply FROM effect_recipients WHERE effect_id = ?1 ORDER BY rowid")?;
    let rows = statement
        .query_map([id], |row| Ok(RecipientRow { address: row.get(0)?, state: row.get(1)?, reply: row.get(2)? }))?
        .collect::<Result<_, _>>()?;
    Ok(rows)
}
