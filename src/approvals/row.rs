//! Approval rows as they are read.

use rusqlite::{Connection, OptionalExtension, Row};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use super::error::ApprovalError;
use crate::domain::effect::{Difference, Mark};
use crate::domain::ids::{ApprovalId, ConversationId, EffectId};
use crate::domain::provenance::TargetOrigin;
use crate::domain::time::{Elapsed, Wall};
use crate::store::StoreError;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalState {
    Pending,
    Approved,
    Denied,
    Expired,
}

impl ApprovalState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Expired => "expired",
        }
    }

    fn parse(text: &str) -> Result<Self, StoreError> {
        [Self::Pending, Self::Approved, Self::Denied, Self::Expired]
            .into_iter()
            .find(|state| state.as_str() == text)
            .ok_or_else(|| StoreError::Unreadable { what: "approval state", reason: text.to_owned() })
    }
}

/// What a card says beside the action itself.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct Notes {
    /// Targets that no owner wrote, configured or confirmed, with where they come from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<TargetOrigin>,
    /// The earlier effect that this one resembles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub earlier: Option<EffectId>,
    /// How long ago that one was accepted or asked for, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub earlier_age: Option<i64>,
    /// That one may or may not have happened.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub earlier_unresolved: bool,
    /// An event that stands in the calendar already, made by another program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<Difference>,
    /// Age of the request in seconds when it was old.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale_seconds: Option<i64>,
    /// The same call came with another action than before.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fault: bool,
    /// A mail backend that only saves files.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub saves_only: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Approval {
    pub id: ApprovalId,
    pub effect: EffectId,
    pub state: ApprovalState,
    pub literal: String,
    /// Opaque, for callback data.
    pub token: String,
    pub marks: Vec<Mark>,
    pub notes: Notes,
    pub summary: String,
    pub conversation: Option<ConversationId>,
    pub requested_at: Wall,
    pub expires_at: Wall,
    pub expires_elapsed: Elapsed,
    pub reminded: bool,
    pub decided_at: Option<Wall>,
    pub decided_by: Option<String>,
    pub surface: Option<String>,
    pub reason: Option<String>,
}

const COLUMNS: &str = "id, effect_id, state, literal_hash, token, marks, notes, summary, conversation_id, requested_at, \
     expires_at, expires_elapsed, reminded, decided_at, decided_by, surface, reason";

type Raw = (Approval, String, String, String);

fn raw(row: &Row<'_>) -> rusqlite::Result<Raw> {
    let approval = Approval {
        id: row.get(0)?,
        effect: row.get(1)?,
        state: ApprovalState::Pending,
        literal: row.get(3)?,
        token: row.get(4)?,
        marks: Vec::new(),
        notes: Notes::default(),
        summary: row.get(7)?,
        conversation: row.get(8)?,
        requested_at: row.get(9)?,
        expires_at: row.get(10)?,
        expires_elapsed: row.get(11)?,
        reminded: row.get(12)?,
        decided_at: row.get(13)?,
        decided_by: row.get(14)?,
        surface: row.get(15)?,
        reason: row.get(16)?,
    };
    Ok((approval, row.get(2)?, row.get(5)?, row.get(6)?))
}

fn decode((approval, state, marks, notes): Raw) -> Result<Approval, StoreError> {
    Ok(Approval {
        state: ApprovalState::parse(&state)?,
        marks: serde_json::from_str(&marks)?,
        notes: serde_json::from_str(&notes)?,
        ..approval
    })
}

pub fn load(connection: &Connection, id: ApprovalId) -> Result<Approval, ApprovalError> {
    connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM approvals WHERE id = ?1"))?
        .query_row([id], raw)
        .optional()?
        .map(decode)
        .transpose()?
        .ok_or(ApprovalError::NotFound(id))
}

pub(super) fn by_token(connection: &Connection, token: &str) -> Result<Option<Approval>, StoreError> {
    connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM approvals WHERE token = ?1"))?
        .query_row([token], raw)
        .optional()?
        .map(decode)
        .transpose()
}

/// The approval that this effect waits for.
pub fn pending_of(connection: &Connection, effect: &EffectId) -> Result<Option<ApprovalId>, StoreError> {
    Ok(connection
        .prepare_cached("SELECT id FROM approvals WHERE effect_id = ?1 AND state = 'pending'")?
        .query_row([effect], |row| row.get(0))
        .optional()?)
}

/// Newest first; pending ones only, or all. At most `limit`, of ids below `before`.
pub fn list(
    connection: &Connection,
    pending_only: bool,
    before: Option<ApprovalId>,
    limit: u32,
) -> Result<Vec<Approval>, StoreError> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM approvals WHERE (?1 = 0 OR state = 'pending') AND id < ?2 ORDER BY id DESC LIMIT ?3"
    ))?;
    let before = before.map_or(i64::MAX, |id| id.0);
    let rows = statement.query_map(rusqlite::params![pending_only, before, limit], raw)?;
    rows.map(|row| decode(row?)).collect()
}
