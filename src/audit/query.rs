//! Reading the log: entries as stored, by filter, in pages.

use rusqlite::types::Value as SqlValue;
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::entry::Kind;
use crate::store::StoreError;

/// One entry exactly as it was hashed, with what is kept of its personal values.
#[derive(Clone, PartialEq, Debug)]
pub struct Stored {
    pub seq: i64,
    /// Wall milliseconds.
    pub at: i64,
    pub kind: String,
    pub conversation: Option<i64>,
    pub turn: Option<String>,
    pub effect: Option<String>,
    pub actor: String,
    /// Canonical JSON.
    pub details: String,
    pub prev_hash: String,
    pub hash: String,
    pub personal: Vec<Personal>,
}

/// A value beside the chain; gone once erased.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Personal {
    pub field: String,
    pub salt: String,
    pub value: String,
}

/// Which entries. Empty: all.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Filter {
    pub kinds: Vec<Kind>,
    pub conversation: Option<i64>,
    /// Wall milliseconds, inclusive.
    pub since: Option<i64>,
    /// Wall milliseconds, exclusive.
    pub until: Option<i64>,
}

impl Filter {
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }

    pub fn takes(&self, entry: &Stored) -> bool {
        (self.kinds.is_empty() || self.kinds.iter().any(|kind| kind.as_str() == entry.kind))
            && self.conversation.is_none_or(|id| entry.conversation == Some(id))
            && self.since.is_none_or(|since| entry.at >= since)
            && self.until.is_none_or(|until| entry.at < until)
    }

    /// The same condition in SQL, with its values.
    fn condition(&self) -> (String, Vec<SqlValue>) {
        let mut parts = vec!["1".to_owned()];
        let mut values: Vec<SqlValue> = Vec::new();
        if !self.kinds.is_empty() {
            parts.push(format!("kind IN ({})", vec!["?"; self.kinds.len()].join(", ")));
            values.extend(self.kinds.iter().map(|kind| SqlValue::from(kind.as_str().to_owned())));
        }
        for (sql, value) in
            [("conversation_id = ?", self.conversation), ("at >= ?", self.since), ("at < ?", self.until)]
        {
            if let Some(value) = value {
                parts.push(sql.to_owned());
                values.push(value.into());
            }
        }
        (parts.join(" AND "), values)
    }
}

const COLUMNS: &str = "seq, at, kind, conversation_id, turn_id, effect_id, actor, details, prev_hash, hash";

fn stored(row: &Row<'_>) -> rusqlite::Result<Stored> {
    Ok(Stored {
        seq: row.get(0)?,
        at: row.get(1)?,
        kind: row.get(2)?,
        conversation: row.get(3)?,
        turn: row.get(4)?,
        effect: row.get(5)?,
        actor: row.get(6)?,
        details: row.get(7)?,
        prev_hash: row.get(8)?,
        hash: row.get(9)?,
        personal: Vec::new(),
    })
}

/// At most `limit` entries after `after`, in order, without their personal values: what verification walks over.
pub fn chain_page(connection: &Connection, after: i64, limit: i64) -> Result<Vec<Stored>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM audit WHERE seq > ?1 ORDER BY seq LIMIT ?2");
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map([after, limit], stored)?.collect::<Result<_, _>>()?;
    Ok(rows)
}

/// At most `limit` entries older than `before`, newest first, with their personal values.
pub fn newest(
    connection: &Connection,
    filter: &Filter,
    before: Option<i64>,
    limit: i64,
) -> Result<Vec<Stored>, StoreError> {
    let (condition, mut values) = filter.condition();
    values.push(before.unwrap_or(i64::MAX).into());
    values.push(limit.into());
    let sql = format!("SELECT {COLUMNS} FROM audit WHERE {condition} AND seq < ? ORDER BY seq DESC LIMIT ?");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows: Vec<Stored> = statement.query_map(params_from_iter(values), stored)?.collect::<Result<_, _>>()?;
    for row in &mut rows {
        row.personal = personal(connection, row.seq)?;
    }
    Ok(rows)
}

/// How many entries a filter takes.
pub fn count(connection: &Connection, filter: &Filter) -> Result<i64, StoreError> {
    let (condition, values) = filter.condition();
    let sql = format!("SELECT count(*) FROM audit WHERE {condition}");
    Ok(connection.prepare_cached(&sql)?.query_row(params_from_iter(values), |row| row.get(0))?)
}

/// Sequence and hash of the newest entry.
pub fn head(connection: &Connection) -> Result<Option<(i64, String)>, StoreError> {
    let row = connection
        .prepare_cached("SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(row)
}

/// Personal values of one entry that were not erased.
pub fn personal(connection: &Connection, seq: i64) -> Result<Vec<Personal>, StoreError> {
    let mut statement =
        connection.prepare_cached("SELECT field, salt, value FROM audit_personal WHERE seq = ?1 ORDER BY rowid")?;
    let rows = statement
        .query_map([seq], |row| Ok(Personal { field: row.get(0)?, salt: row.get(1)?, value: row.get(2)? }))?
        .collect::<Result<_, _>>()?;
    Ok(rows)
}

impl Stored {
    /// What it is about in a person's words: the first personal value that is left.
    pub fn about(&self) -> Option<&str> {
        const FIELDS: [&str; 4] = ["title", "summary", "subject", "text"];
        FIELDS
            .iter()
            .find_map(|field| self.personal.iter().find(|personal| personal.field == *field))
            .or_else(|| self.personal.first())
            .map(|personal| personal.value.as_str())
    }

    /// The details with every personal value that is left beside its hash.
    pub fn details_with_personal(&self) -> Value {
        let mut details: Value = serde_json::from_str(&self.details).unwrap_or(Value::Null);
        for personal in &self.personal {
            if let Some(slot) = details.get_mut(&personal.field).and_then(Value::as_object_mut) {
                slot.insert("salt".to_owned(), json!(personal.salt));
                slot.insert("value".to_owned(), json!(personal.value));
            }
        }
        details
    }
}
