//! SQL of `facts` and its full-text index.

use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};
use serde::{Deserialize, Serialize};

use crate::domain::ids::FactId;
use crate::domain::time::{Now, Wall};
use crate::store::StoreError;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FactKind {
    Fact,
    Contact,
}

impl FactKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fact => "fact",
            Self::Contact => "contact",
        }
    }
}

/// Something to keep.
#[derive(Clone, PartialEq, Debug)]
pub struct NewFact {
    pub kind: FactKind,
    pub text: String,
    /// Of a contact.
    pub name: Option<String>,
    /// Of a contact.
    pub address: Option<String>,
    /// Who said it, e.g. `telegram:42`.
    pub said_by: String,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Fact {
    pub id: FactId,
    pub kind: FactKind,
    pub text: String,
    pub name: Option<String>,
    pub address: Option<String>,
    pub at: Wall,
}

const COLUMNS: &str = "f.id, f.kind, f.text, f.name, f.address, f.updated_at";

fn fact(row: &Row<'_>) -> rusqlite::Result<Fact> {
    let kind: String = row.get(1)?;
    Ok(Fact {
        id: row.get(0)?,
        kind: if kind == "contact" { FactKind::Contact } else { FactKind::Fact },
        text: row.get(2)?,
        name: row.get(3)?,
        address: row.get(4)?,
        at: row.get(5)?,
    })
}

/// Keeps a fact. The same text, or a contact of the same name, is updated instead of doubled: (id, whether it is new).
pub fn remember(tx: &Transaction<'_>, now: Now, new: &NewFact) -> Result<(FactId, bool), StoreError> {
    let same: Option<FactId> = tx
        .prepare_cached(
            "SELECT id FROM facts WHERE erased_at IS NULL AND kind = ?1
             AND ((?1 = 'fact' AND text = ?2) OR (?1 = 'contact' AND lower(name) = lower(?3)))",
        )?
        .query_row(params![new.kind.as_str(), new.text, new.name], |row| row.get(0))
        .optional()?;
    let id = match same {
        Some(id) => {
            tx.prepare_cached(
                "UPDATE facts SET text = ?2, name = ?3, address = ?4, said_by = ?5, updated_at = ?6 WHERE id = ?1",
            )?
            .execute(params![id, new.text, new.name, new.address, new.said_by, now.wall])?;
            tx.prepare_cached("DELETE FROM facts_fts WHERE rowid = ?1")?.execute([id])?;
            id
        }
        None => {
            tx.prepare_cached(
                "INSERT INTO facts (kind, text, name, address, said_by, created_at, updated_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)",
            )?
            .execute(params![
                new.kind.as_str(),
                new.text,
                new.name,
                new.address,
                new.said_by,
                now.wall
            ])?;
            FactId(tx.last_insert_rowid())
        }
    };
    tx.prepare_cached("INSERT INTO facts_fts (rowid, text, name) VALUES (?1, ?2, ?3)")?
        .execute(params![id, new.text, new.name])?;
    Ok((id, same.is_none()))
}

/// What matches any word of `query`, best first; everything, newest first, for an empty one.
pub fn recall(connection: &Connection, query: &str, limit: usize) -> Result<Vec<Fact>, StoreError> {
    // Each word quoted: what a person asks is no query language. A prefix, so that "dentist" finds "dentists".
    let words: Vec<String> = query
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(|word| format!("\"{word}\"*"))
        .collect();
    if words.is_empty() {
        let mut found = all(connection)?;
        found.truncate(limit);
        return Ok(found);
    }
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM facts_fts JOIN facts f ON f.id = facts_fts.rowid
         WHERE facts_fts MATCH ?1 AND f.erased_at IS NULL ORDER BY bm25(facts_fts), f.id DESC LIMIT ?2"
    ))?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = statement.query_map(params![words.join(" OR "), limit], fact)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Everything kept, newest first.
pub fn all(connection: &Connection) -> Result<Vec<Fact>, StoreError> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM facts f WHERE f.erased_at IS NULL ORDER BY f.updated_at DESC, f.id DESC"
    ))?;
    let rows = statement.query_map([], fact)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Erases one; `None` if there is none with this id.
pub fn forget(tx: &Transaction<'_>, now: Now, id: FactId) -> Result<Option<Fact>, StoreError> {
    let found = tx
        .prepare_cached(&format!("SELECT {COLUMNS} FROM facts f WHERE f.id = ?1 AND f.erased_at IS NULL"))?
        .query_row([id], fact)
        .optional()?;
    if found.is_some() {
        tx.prepare_cached("UPDATE facts SET text = '', name = NULL, address = NULL, erased_at = ?2 WHERE id = ?1")?
            .execute(params![id, now.wall])?;
        tx.prepare_cached("DELETE FROM facts_fts WHERE rowid = ?1")?.execute([id])?;
    }
    Ok(found)
}
