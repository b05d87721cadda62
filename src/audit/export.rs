//! Export as JSON Lines (verifiable offline) and CSV (safe to open in a spreadsheet), page by page.
//!
//! A JSON line has the stored fields; personal values that are left stand in `details` beside their hash, with the salt.
//! The first line also names the `head` of the log, so that a cut file shows. In a filtered export a line carries
//! `skipped_before` (and the last one `skipped_after`): the hashes of the entries that were left out, in order.

use std::io::BufRead;

use rusqlite::Connection;
use serde_json::{Map, Value, json};

use super::query::{Filter, Personal, Stored, chain_page, head, personal};
use super::verify::{Bad, PAGE, Verification, Walk};
use crate::store::{Store, StoreError};

#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    Jsonl,
    Csv,
}

/// An export that is under way; every page is a snapshot of its own, up to the head at the start.
pub struct Export {
    filter: Filter,
    format: Format,
    zone: jiff::tz::TimeZone,
    head: Option<(i64, String)>,
    seq: i64,
    skipped: Vec<String>,
    /// JSON Lines: the last row, held back because it may have to carry `skipped_after`.
    held: Option<Map<String, Value>>,
    header_done: bool,
    rows: i64,
}

/// Lines to write, and whether they are the last.
pub struct Chunk {
    pub lines: Vec<String>,
    pub done: bool,
}

impl Export {
    /// `zone`: of the times.
    pub async fn begin(
        store: &Store,
        filter: Filter,
        format: Format,
        zone: jiff::tz::TimeZone,
    ) -> Result<Self, StoreError> {
        let head = store.read(head).await?;
        Ok(Self { filter, format, zone, head, seq: 0, skipped: Vec::new(), held: None, header_done: false, rows: 0 })
    }

    /// Entries written so far.
    pub fn rows(&self) -> i64 {
        self.rows
    }

    /// Position reached, and where the end is: for a progress bar.
    pub fn progress(&self) -> (i64, i64) {
        (self.seq, self.head.as_ref().map_or(0, |(seq, _)| *seq))
    }

    pub async fn next(&mut self, store: &Store) -> Result<Chunk, StoreError> {
        let last = self.head.as_ref().map_or(0, |(seq, _)| *seq);
        let (after, filter) = (self.seq, self.filter.clone());
        let entries = store.read(move |connection| page(connection, after, last, &filter)).await?;
        let mut lines = Vec::new();
        if self.format == Format::Csv && !self.header_done {
            self.header_done = true;
            lines.push(csv_line(CSV_HEADER.iter().map(|name| (*name).to_owned())));
        }
        for entry in entries {
            self.seq = entry.seq;
            if !self.filter.takes(&entry) {
                self.skipped.push(entry.hash);
                continue;
            }
            self.rows += 1;
            match self.format {
                Format::Csv => lines.push(self.csv_row(&entry)),
                Format::Jsonl => {
                    let row = self.json_row(&entry);
                    if let Some(held) = self.held.replace(row) {
                        lines.push(Value::Object(held).to_string());
                    }
                }
            }
        }
        let done = self.seq >= last;
        if done && let Some(mut held) = self.held.take() {
            if !self.skipped.is_empty() {
                held.insert("skipped_after".to_owned(), json!(std::mem::take(&mut self.skipped)));
            }
            lines.push(Value::Object(held).to_string());
        }
        Ok(Chunk { lines, done })
    }

    fn json_row(&mut self, entry: &Stored) -> Map<String, Value> {
        let mut row = Map::new();
        row.insert("seq".to_owned(), json!(entry.seq));
        row.insert("at".to_owned(), json!(self.time(entry.at)));
        row.insert("kind".to_owned(), json!(entry.kind));
        row.insert("conversation_id".to_owned(), json!(entry.conversation.map(|id| id.to_string())));
        row.insert("turn_id".to_owned(), json!(entry.turn));
        row.insert("effect_id".to_owned(), json!(entry.effect));
        row.insert("actor".to_owned(), json!(entry.actor));
        row.insert("details".to_owned(), entry.details_with_personal());
        row.insert("prev_hash".to_owned(), json!(entry.prev_hash));
        row.insert("hash".to_owned(), json!(entry.hash));
        if self.rows == 1
            && let Some((seq, hash)) = &self.head
        {
            row.insert("head".to_owned(), json!({ "seq": seq, "hash": hash }));
        }
        if !self.skipped.is_empty() {
            row.insert("skipped_before".to_owned(), json!(std::mem::take(&mut self.skipped)));
        }
        row
    }

    fn csv_row(&self, entry: &Stored) -> String {
        let optional = |value: &Option<String>| value.clone().unwrap_or_default();
        csv_line([
            entry.seq.to_string(),
            self.time(entry.at),
            entry.kind.clone(),
            entry.conversation.map(|id| id.to_string()).unwrap_or_default(),
            optional(&entry.turn),
            optional(&entry.effect),
            entry.actor.clone(),
            entry.about().unwrap_or_default().to_owned(),
            entry.details_with_personal().to_string(),
            entry.prev_hash.clone(),
            entry.hash.clone(),
        ])
    }

    /// RFC 3339 with milliseconds: the hash needs them.
    fn time(&self, at: i64) -> String {
        let timestamp = crate::domain::time::Wall(at).timestamp();
        timestamp.to_zoned_datetime(self.zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%.3f%:z").to_string()
    }
}

fn page(connection: &Connection, after: i64, last: i64, filter: &Filter) -> Result<Vec<Stored>, StoreError> {
    let mut entries = chain_page(connection, after, PAGE)?;
    entries.retain(|entry| entry.seq <= last);
    for entry in entries.iter_mut().filter(|entry| filter.takes(entry)) {
        entry.personal = personal(connection, entry.seq)?;
    }
    Ok(entries)
}

const CSV_HEADER: [&str; 11] =
    ["seq", "at", "kind", "conversation_id", "turn_id", "effect_id", "actor", "about", "details", "prev_hash", "hash"];

/// One record without its line end. A cell that a spreadsheet would run as a formula gets a leading apostrophe.
fn csv_line(cells: impl IntoIterator<Item = String>) -> String {
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::Any(b'\n')).from_writer(Vec::new());
    let cells = cells.into_iter().map(|cell| {
        let runs = cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']);
        if runs { format!("'{cell}") } else { cell }
    });
    // silent-ok: writing into memory cannot fail.
    let _ = writer.write_record(cells);
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8_lossy(&bytes).trim_end_matches('\n').to_owned()
}

/// A JSON Lines export that cannot be checked.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error("line {line} is not an entry of an export: {reason}")]
    NotAnEntry { line: usize, reason: String },
    #[error("the file cannot be read: {0}")]
    Io(#[from] std::io::Error),
}

/// Checks an export without the database.
pub fn verify_export(input: impl BufRead) -> Result<Verification, ExportError> {
    let mut walk = Walk::default();
    let mut promised: Option<(i64, String)> = None;
    for (number, line) in (1..).zip(input.lines()) {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        let not_an_entry = |reason: String| ExportError::NotAnEntry { line: number, reason };
        let row: Value = serde_json::from_str(&line).map_err(|error| not_an_entry(error.to_string()))?;
        for hash in hashes(&row, "skipped_before") {
            walk.skip(hash);
        }
        if let Some(head) = row.get("head") {
            promised = head.get("seq").and_then(Value::as_i64).zip(head.get("hash").and_then(text));
        }
        let entry = parse_row(&row).ok_or_else(|| not_an_entry("a field is missing".to_owned()))?;
        if let Err(bad) = walk.step(&entry) {
            return Ok(walk.end(Some(bad)));
        }
        for hash in hashes(&row, "skipped_after") {
            walk.skip(hash);
        }
    }
    let bad = promised.and_then(|(seq, hash)| {
        let reached = walk.seq() == seq && walk.hash() == hash;
        (!reached).then(|| Bad { seq: walk.seq() + 1, reason: format!("the file ends before entry {seq}") })
    });
    Ok(walk.end(bad))
}

fn hashes<'a>(row: &'a Value, field: &str) -> impl Iterator<Item = &'a str> {
    row.get(field).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn parse_row(row: &Value) -> Option<Stored> {
    let optional = |field: &str| row.get(field).and_then(text);
    let mut details = row.get("details")?.clone();
    let mut personals = Vec::new();
    for (field, slot) in details.as_object_mut()?.iter_mut() {
        let Some(slot) = slot.as_object_mut() else { continue };
        if let (Some(salt), Some(value)) = (slot.get("salt").and_then(text), slot.get("value").and_then(text)) {
            slot.remove("salt");
            slot.remove("value");
            personals.push(Personal { field: field.clone(), salt, value });
        }
    }
    let at: jiff::Timestamp = row.get("at")?.as_str()?.parse().ok()?;
    Some(Stored {
        seq: row.get("seq")?.as_i64()?,
        at: at.as_millisecond(),
        kind: optional("kind")?,
        conversation: optional("conversation_id").and_then(|id| id.parse().ok()),
        turn: optional("turn_id"),
        effect: optional("effect_id"),
        actor: optional("actor")?,
        details: serde_json_canonicalizer::to_string(&details).ok()?,
        prev_hash: optional("prev_hash")?,
        hash: optional("hash")?,
        personal: personals,
    })
}
