//! `approvals list`.

use jiff::tz::TimeZone;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::Serialize;
use serde_json::Value;

use super::{json, time};
use crate::domain::ids::{ApprovalId, EffectId};
use crate::store::StoreError;

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ApprovalRow {
    pub id: String,
    pub effect_id: String,
    pub state: String,
    pub summary: String,
    pub marks: Value,
    pub requested_at: String,
    pub expires_at: String,
    pub decided_at: Option<String>,
    pub decided_by: Option<String>,
    pub surface: Option<String>,
}

const COLUMNS: &str = "id, effect_id, state, summary, marks, requested_at, expires_at, decided_at, decided_by, surface";

fn row(row: &Row<'_>, zone: &TimeZone) -> rusqlite::Result<ApprovalRow> {
    Ok(ApprovalRow {
        id: row.get::<_, i64>(0)?.to_string(),
        effect_id: row.get(1)?,
        state: row.get(2)?,
        summary: row.get(3)?,
        marks: json(row.get(4)?),
        requested_at: time(row.get(5)?, zone),
        expires_at: time(row.get(6)?, zone),
        decided_at: row.get::<_, Option<i64>>(7)?.map(|at| time(at, zone)),
        decided_by: row.get(8)?,
        surface: row.get(9)?,
    })
}

/// At most [`super::PAGE`] approvals with an id below `before`, newest first; pending ones, or all.
pub fn approvals(
    connection: &Connection,
    all: bool,
    before: Option<i64>,
    zone: &TimeZone,
) -> Result<Vec<ApprovalRow>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM approvals WHERE id < ?1 AND (?2 OR state = 'pending') ORDER BY id DESC LIMIT ?3"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement
        .query_map(params![before.unwrap_or(i64::MAX), all, super::PAGE], |found| row(found, zone))?
        .collect::<Result<_, _>>()?;
    Ok(rows)
}

/// One approval by its id.
pub fn approval(connection: &Connection, id: ApprovalId, zone: &TimeZone) -> Result<Option<ApprovalRow>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM approvals WHERE id = ?1");
    Ok(connection.prepare_cached(&sql)?.query_row([id], |found| row(found, zone)).optional()?)
}

/// The newest approval of an effect.
pub fn approval_of(
    connection: &Connection,
    effect: &EffectId,
    zone: &TimeZone,
) -> Result<Option<ApprovalRow>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM approvals WHERE effect_id = ?1 ORDER BY id DESC LIMIT 1");
    Ok(connection.prepare_cached(&sql)?.query_row([effect], |found| row(found, zone)).optional()?)
}
