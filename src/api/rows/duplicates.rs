//! `duplicates list`.

use jiff::tz::TimeZone;
use rusqlite::{Connection, params};
use serde::Serialize;
use serde_json::Value;

use super::{json, time};
use crate::store::StoreError;

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct DuplicateRow {
    pub id: String,
    pub at: String,
    pub verdict: String,
    pub layer: String,
    pub tool: String,
    pub summary: String,
    pub first_effect_id: Option<String>,
    pub differences: Value,
    pub conversation_id: Option<String>,
    pub turn_id: Option<String>,
}

/// At most [`super::PAGE`] prevented or held duplicates with an id below `before`, newest first.
pub fn duplicates(
    connection: &Connection,
    before: Option<i64>,
    zone: &TimeZone,
) -> Result<Vec<DuplicateRow>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT id, at, verdict, layer, tool, summary, first_effect_id, differences, conversation_id, turn_id
         FROM prevented WHERE id < ?1 ORDER BY id DESC LIMIT ?2",
    )?;
    let rows = statement
        .query_map(params![before.unwrap_or(i64::MAX), super::PAGE], |row| {
            Ok(DuplicateRow {
                id: row.get::<_, i64>(0)?.to_string(),
                at: time(row.get(1)?, zone),
                verdict: row.get(2)?,
                layer: row.get(3)?,
                tool: row.get(4)?,
                summary: row.get(5)?,
                first_effect_id: row.get(6)?,
                differences: json(row.get(7)?),
                conversation_id: row.get::<_, Option<i64>>(8)?.map(|id| id.to_string()),
                turn_id: row.get(9)?,
            })
        })?
        .collect::<Result<_, _>>()?;
    Ok(rows)
}
