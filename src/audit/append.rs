//! Appending: one row, its hash over the previous one, no sync of its own.

use rusqlite::{OptionalExtension, Transaction, params};
use serde_json::{Value, json};

use super::entry::Entry;
use crate::domain::time::Now;
use crate::runtime::hash::sha256_parts;
use crate::runtime::redact::redact;
use crate::store::StoreError;

/// `prev_hash` of the first entry.
pub const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Hash of an entry: SHA-256 over its stored columns with their lengths, the previous hash first.
#[allow(clippy::too_many_arguments, reason = "exactly the stored columns, in order")]
pub fn chain_hash(
    prev_hash: &str,
    seq: i64,
    at: i64,
    kind: &str,
    conversation: Option<i64>,
    turn: Option<&str>,
    effect: Option<&str>,
    actor: &str,
    details: &str,
) -> String {
    let optional = |value: Option<String>| value.map_or_else(|| "-".to_owned(), |text| format!("+{text}"));
    sha256_parts(&[
        prev_hash.as_bytes(),
        &seq.to_be_bytes(),
        &at.to_be_bytes(),
        kind.as_bytes(),
        optional(conversation.map(|id| id.to_string())).as_bytes(),
        optional(turn.map(str::to_owned)).as_bytes(),
        optional(effect.map(str::to_owned)).as_bytes(),
        actor.as_bytes(),
        details.as_bytes(),
    ])
}

/// Appends `entry` in the caller's transaction and returns its sequence number.
pub fn append(transaction: &Transaction<'_>, now: Now, entry: Entry) -> Result<i64, StoreError> {
    let last: Option<(i64, String)> = transaction
        .prepare_cached("SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let (last_seq, prev_hash) = last.unwrap_or((0, GENESIS.to_owned()));
    let seq = last_seq + 1;

    let mut details = entry.details;
    let mut personal = Vec::with_capacity(entry.personal.len());
    for (field, value) in entry.personal {
        let salt = uuid::Uuid::new_v4().simple().to_string();
        let value = redact(&value);
        details.insert(field.to_owned(), json!({ "sha256": sha256_parts(&[salt.as_bytes(), value.as_bytes()]) }));
        personal.push((field, salt, value));
    }
    // Keys sorted by the canonical form; texts redacted by value.
    let details = serde_json_canonicalizer::to_string(&redacted(Value::Object(details)))?;
    let actor = entry.actor.text();
    let conversation = entry.conversation.map(|id| id.0);
    let turn = entry.turn.as_ref().map(|id| id.as_str());
    let effect = entry.effect.as_ref().map(|id| id.as_str());
    let kind = entry.kind.as_str();
    let hash = chain_hash(&prev_hash, seq, now.wall.0, kind, conversation, turn, effect, &actor, &details);
    transaction
        .prepare_cached(
            "INSERT INTO audit (seq, at, kind, conversation_id, turn_id, effect_id, actor, details, prev_hash, hash)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?
        .execute(params![seq, now.wall.0, kind, conversation, turn, effect, actor, details, prev_hash, hash])?;
    for (field, salt, value) in personal {
        transaction
            .prepare_cached("INSERT INTO audit_personal (seq, field, salt, value) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![seq, field, salt, value])?;
    }
    Ok(seq)
}

fn redacted(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(redact(&text)),
        Value::Array(items) => Value::Array(items.into_iter().map(redacted).collect()),
        Value::Object(fields) => Value::Object(fields.into_iter().map(|(key, value)| (key, redacted(value))).collect()),
        other => other,
    }
}
