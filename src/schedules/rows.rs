//! SQL of the table `schedules`.

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};
use serde::{Deserialize, Serialize};

use super::error::ScheduleError;
use super::rule::next_after;
use crate::domain::ids::{ConversationId, ScheduleId, TurnId};
use crate::domain::time::{Now, Wall};
use crate::store::StoreError;

/// What happens when it is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The person is told the text; no model is asked.
    Reminder,
    /// The text runs as a request.
    Request,
}

/// What happens to a slot that was missed while the computer was off.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Missed {
    /// Runs late, once.
    #[default]
    Run,
    /// The person is told that it was missed.
    Tell,
}

macro_rules! stored {
    ($name:ident { $($variant:ident = $text:literal),* }) => {
        impl $name {
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),* }
            }
        }
        impl ToSql for $name {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(self.as_str().into())
            }
        }
        impl FromSql for $name {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                let text = value.as_str()?;
                [$(Self::$variant),*].into_iter().find(|v| v.as_str() == text).ok_or(FromSqlError::InvalidType)
            }
        }
    };
}

stored!(Kind { Reminder = "reminder", Request = "request" });
stored!(Missed { Run = "run", Tell = "tell" });

/// A schedule to add.
#[derive(Clone, PartialEq, Debug)]
pub struct New {
    pub kind: Kind,
    pub text: String,
    pub conversation: ConversationId,
    pub starts_at: Wall,
    /// IANA name.
    pub zone: String,
    /// RRULE value; `None`: once.
    pub rule: Option<String>,
    pub missed: Missed,
    pub turn: Option<TurnId>,
}

/// A row of the table.
#[derive(Clone, PartialEq, Debug)]
pub struct Schedule {
    pub id: ScheduleId,
    pub kind: Kind,
    pub text: String,
    pub conversation: ConversationId,
    pub starts_at: Wall,
    pub zone: String,
    pub rule: Option<String>,
    pub missed: Missed,
    pub next_slot: Option<Wall>,
    pub last_slot: Option<Wall>,
}

const COLUMNS: &str = "id, kind, text, conversation_id, starts_at, zone, rrule, missed, next_slot, last_slot";

fn schedule(row: &Row<'_>) -> rusqlite::Result<Schedule> {
    Ok(Schedule {
        id: row.get(0)?,
        kind: row.get(1)?,
        text: row.get(2)?,
        conversation: row.get(3)?,
        starts_at: row.get(4)?,
        zone: row.get(5)?,
        rule: row.get(6)?,
        missed: row.get(7)?,
        next_slot: row.get(8)?,
        last_slot: row.get(9)?,
    })
}

/// Adds a schedule, unless the same stands already: (id, whether it is new).
pub fn add(tx: &Transaction<'_>, now: Now, new: &New) -> Result<(ScheduleId, bool), ScheduleError> {
    // A rule must be sound before it is stored: a worker has nobody to tell.
    if let Some(rule) = &new.rule {
        next_after(new.starts_at, &new.zone, rule, now.wall)?;
    }
    let same: Option<ScheduleId> = tx
        .prepare_cached(
            "SELECT id FROM schedules WHERE state = 'active' AND conversation_id = ?1 AND kind = ?2 AND text = ?3
             AND starts_at = ?4 AND rrule IS ?5",
        )?
        .query_row(params![new.conversation, new.kind, new.text, new.starts_at, new.rule], |row| row.get(0))
        .optional()?;
    if let Some(id) = same {
        return Ok((id, false));
    }
    tx.prepare_cached(
        "INSERT INTO schedules (kind, text, conversation_id, starts_at, zone, rrule, missed, state, next_slot, turn_id,
                                created_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'active', ?4, ?8, ?9)",
    )?
    .execute(params![
        new.kind,
        new.text,
        new.conversation,
        new.starts_at,
        new.zone,
        new.rule,
        new.missed,
        new.turn,
        now.wall
    ])?;
    Ok((ScheduleId(tx.last_insert_rowid()), true))
}

/// Active schedules, the next one first; of one conversation or of all.
pub fn active(connection: &Connection, conversation: Option<ConversationId>) -> Result<Vec<Schedule>, StoreError> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM schedules WHERE state = 'active' AND (?1 IS NULL OR conversation_id = ?1)
         ORDER BY next_slot, id"
    ))?;
    let rows = statement.query_map([conversation], schedule)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn find(connection: &Connection, id: ScheduleId) -> Result<Option<Schedule>, StoreError> {
    Ok(connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM schedules WHERE id = ?1"))?
        .query_row([id], schedule)
        .optional()?)
}

/// Cancels an active schedule; `None` if there is none with this id.
pub fn cancel(tx: &Transaction<'_>, id: ScheduleId) -> Result<Option<Schedule>, StoreError> {
    let found = find(tx, id)?;
    let changed = tx
        .prepare_cached(
            "UPDATE schedules SET state = 'cancelled', next_slot = NULL WHERE id = ?1 AND state = 'active'",
        )?
        .execute([id])?;
    Ok(found.filter(|_| changed == 1))
}

/// Due ones, the longest overdue first.
pub(super) fn due(connection: &Connection, now: Wall) -> Result<Vec<Schedule>, StoreError> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM schedules WHERE state = 'active' AND next_slot <= ?1 ORDER BY next_slot, id"
    ))?;
    let rows = statement.query_map([now], schedule)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// When the next one is due.
pub(super) fn next_due(connection: &Connection) -> Result<Option<Wall>, StoreError> {
    Ok(connection
        .prepare_cached("SELECT MIN(next_slot) FROM schedules WHERE state = 'active'")?
        .query_row([], |row| row.get(0))?)
}

/// `slot` was handed over; goes on with `next`, or is done. Nothing if somebody cancelled or advanced it meanwhile.
pub(super) fn advance(
    tx: &Transaction<'_>,
    id: ScheduleId,
    expected: Wall,
    slot: Wall,
    next: Option<Wall>,
) -> Result<(), StoreError> {
    tx.prepare_cached(
        "UPDATE schedules SET last_slot = ?3, next_slot = ?4, state = CASE WHEN ?4 IS NULL THEN 'done' ELSE state END
         WHERE id = ?1 AND state = 'active' AND next_slot = ?2",
    )?
    .execute(params![id, expected, slot, next])?;
    Ok(())
}
