//! SQL of `turns` and `turn_steps`, and of the bursts that turns take.

use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use super::ending::{Ending, Reason};
use super::error::TurnError;
use super::steps::Step;
use crate::domain::conversation::ChannelKind;
use crate::domain::ids::{BurstId, ConversationId, TurnId};
use crate::domain::time::{Elapsed, Now, Wall};
use crate::store::StoreError;

/// A row of `turns`, as far as the agent loop needs it.
#[derive(Clone, PartialEq, Debug)]
pub struct Turn {
    pub id: TurnId,
    pub conversation: ConversationId,
    pub number: i64,
    pub sender_id: String,
    pub ended: bool,
    pub epoch: i64,
    pub supersessions: i64,
    pub fenced: bool,
    pub stop_requested: bool,
    pub started_at: Wall,
    pub started_elapsed: Elapsed,
}

const TURN: &str = "id, conversation_id, number, sender_id, state = 'ended', epoch, supersessions, fenced,
                    stop_requested, started_at, started_elapsed";

fn turn(row: &Row<'_>) -> rusqlite::Result<Turn> {
    Ok(Turn {
        id: TurnId(row.get(0)?),
        conversation: row.get(1)?,
        number: row.get(2)?,
        sender_id: row.get(3)?,
        ended: row.get(4)?,
        epoch: row.get(5)?,
        supersessions: row.get(6)?,
        fenced: row.get(7)?,
        stop_requested: row.get(8)?,
        started_at: row.get(9)?,
        started_elapsed: row.get(10)?,
    })
}

pub fn find(connection: &Connection, id: &TurnId) -> Result<Option<Turn>, StoreError> {
    Ok(connection
        .prepare_cached(&format!("SELECT {TURN} FROM turns WHERE id = ?1"))?
        .query_row([id], turn)
        .optional()?)
}

/// The turn that runs in a conversation.
pub fn running_in(connection: &Connection, conversation: ConversationId) -> Result<Option<Turn>, StoreError> {
    Ok(connection
        .prepare_cached(&format!("SELECT {TURN} FROM turns WHERE conversation_id = ?1 AND state <> 'ended'"))?
        .query_row([conversation], turn)
        .optional()?)
}

/// Every running turn.
pub fn running(connection: &Connection) -> Result<Vec<Turn>, StoreError> {
    let mut statement =
        connection.prepare_cached(&format!("SELECT {TURN} FROM turns WHERE state <> 'ended' ORDER BY started_at"))?;
    let rows = statement.query_map([], turn)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The turn, if it still runs in this epoch.
pub fn current(connection: &Connection, id: &TurnId, epoch: i64) -> Result<Turn, TurnError> {
    match find(connection, id)? {
        Some(turn) if turn.epoch == epoch && !turn.ended && !turn.stop_requested => Ok(turn),
        Some(_) | None => Err(TurnError::Gone),
    }
}

pub fn insert(
    tx: &Transaction<'_>,
    now: Now,
    id: &TurnId,
    conversation: ConversationId,
    sender_id: &str,
    stale: bool,
) -> Result<i64, StoreError> {
    Ok(tx
        .prepare_cached(
            "INSERT INTO turns (id, conversation_id, number, sender_id, state, stale, started_at, started_elapsed)
             SELECT ?1, ?2, COALESCE(MAX(number), 0) + 1, ?3, 'thinking', ?4, ?5, ?6
             FROM turns WHERE conversation_id = ?2
             RETURNING number",
        )?
        .query_row(params![id, conversation, sender_id, stale, now.wall, now.elapsed], |row| row.get(0))?)
}

/// Raises the epoch: what the turn thought so far is discarded.
pub fn supersede(tx: &Transaction<'_>, id: &TurnId, stale: bool) -> Result<i64, StoreError> {
    Ok(tx
        .prepare_cached(
            "UPDATE turns SET epoch = epoch + 1, supersessions = supersessions + 1, state = 'thinking',
                              stale = MAX(stale, ?2)
             WHERE id = ?1 RETURNING epoch",
        )?
        .query_row(params![id, stale], |row| row.get(0))?)
}

pub fn set_state(tx: &Transaction<'_>, id: &TurnId, state: &str) -> Result<(), StoreError> {
    tx.prepare_cached("UPDATE turns SET state = ?2 WHERE id = ?1 AND state <> ?2")?.execute(params![id, state])?;
    Ok(())
}

/// What one reply of `model` used, added to its turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Used {
    pub calls: i64,
    pub input_tokens: i64,
    pub output_tokens: i64,
    pub cost_micros: i64,
}

pub fn add_usage(tx: &Transaction<'_>, id: &TurnId, model: &str, used: Used) -> Result<(), StoreError> {
    tx.prepare_cached(
        "UPDATE turns SET model = ?2, model_calls = model_calls + ?3, input_tokens = input_tokens + ?4,
                          output_tokens = output_tokens + ?5, cost_micros = cost_micros + ?6 WHERE id = ?1",
    )?
    .execute(params![id, model, used.calls, used.input_tokens, used.output_tokens, used.cost_micros])?;
    Ok(())
}

pub fn count_tool_call(tx: &Transaction<'_>, id: &TurnId) -> Result<(), StoreError> {
    tx.prepare_cached("UPDATE turns SET tool_calls = tool_calls + 1 WHERE id = ?1")?.execute([id])?;
    Ok(())
}

/// Closes a running turn; false if another transaction ended it before.
pub fn end(
    tx: &Transaction<'_>,
    now: Now,
    id: &TurnId,
    ending: Ending,
    reason: Option<&Reason>,
) -> Result<bool, StoreError> {
    let reason = reason.map(serde_json::to_string).transpose()?;
    Ok(tx
        .prepare_cached(
            "UPDATE turns SET state = 'ended', ending = ?2, reason = ?3, ended_at = ?4
             WHERE id = ?1 AND state <> 'ended'",
        )?
        .execute(params![id, ending.as_str(), reason, now.wall])?
        == 1)
}

// ---- steps -------------------------------------------------------------------------------------

/// Steps of one epoch in order.
pub fn steps(connection: &Connection, id: &TurnId, epoch: i64) -> Result<Vec<Step>, StoreError> {
    let mut statement = connection
        .prepare_cached("SELECT kind, content FROM turn_steps WHERE turn_id = ?1 AND epoch = ?2 ORDER BY ordinal")?;
    let rows = statement
        .query_map(params![id, epoch], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?
        .collect::<Result<Vec<_>, _>>()?;
    rows.iter().map(|(kind, content)| Step::from_json(kind, content).map_err(StoreError::from)).collect()
}

/// Appends a step. `millis` says how long it took.
pub fn append_step(
    tx: &Transaction<'_>,
    now: Now,
    id: &TurnId,
    epoch: i64,
    step: &Step,
    millis: i64,
) -> Result<(), StoreError> {
    tx.prepare_cached(
        "INSERT INTO turn_steps (turn_id, epoch, ordinal, kind, call_id, content, millis, created_at)
         SELECT ?1, ?2, COALESCE(MAX(ordinal) + 1, 0), ?3, ?4, ?5, ?6, ?7
         FROM turn_steps WHERE turn_id = ?1 AND epoch = ?2",
    )?
    .execute(params![id, epoch, step.kind(), step.call_id(), step.to_json()?, millis, now.wall])?;
    Ok(())
}

// ---- bursts ------------------------------------------------------------------------------------

/// A burst that waits for a turn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Queued {
    pub id: BurstId,
    pub conversation: ConversationId,
    pub channel: ChannelKind,
    pub sender_id: String,
    pub stale: bool,
}

/// Queued bursts, oldest first, per conversation in order.
pub fn queued(connection: &Connection) -> Result<Vec<Queued>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT b.id, b.conversation_id, c.channel, b.sender_id, b.stale
         FROM bursts b JOIN conversations c ON c.id = b.conversation_id
         WHERE b.state = 'queued' ORDER BY b.id",
    )?;
    let rows = statement.query_map([], |row| {
        Ok(Queued {
            id: row.get(0)?,
            conversation: row.get(1)?,
            channel: channel(&row.get::<_, String>(2)?),
            sender_id: row.get(3)?,
            stale: row.get(4)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn channel(name: &str) -> ChannelKind {
    ChannelKind::ALL.into_iter().find(|kind| kind.as_str() == name).unwrap_or(ChannelKind::Window)
}

/// Takes a queued burst into a turn; false if it is no longer queued.
pub fn take_burst(tx: &Transaction<'_>, burst: BurstId, turn: &TurnId) -> Result<bool, StoreError> {
    Ok(tx
        .prepare_cached("UPDATE bursts SET state = 'running', turn_id = ?2 WHERE id = ?1 AND state = 'queued'")?
        .execute(params![burst, turn])?
        == 1)
}

/// The bursts of a turn, in order.
pub fn bursts_of(connection: &Connection, turn: &TurnId) -> Result<Vec<BurstId>, StoreError> {
    let mut statement = connection.prepare_cached("SELECT id FROM bursts WHERE turn_id = ?1 ORDER BY id")?;
    let rows = statement.query_map([turn], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub fn answer_bursts(tx: &Transaction<'_>, turn: &TurnId) -> Result<(), StoreError> {
    tx.prepare_cached("UPDATE bursts SET state = 'answered' WHERE turn_id = ?1 AND state = 'running'")?
        .execute([turn])?;
    Ok(())
}

/// Discards a queued burst and its messages, with the reason.
pub fn discard_burst(tx: &Transaction<'_>, burst: BurstId, reason: &str) -> Result<(), StoreError> {
    tx.prepare_cached("UPDATE bursts SET state = 'discarded', reason = ?2 WHERE id = ?1 AND state = 'queued'")?
        .execute(params![burst, reason])?;
    tx.prepare_cached("UPDATE inbound SET state = 'discarded', reason = ?2 WHERE burst_id = ?1 AND state = 'merged'")?
        .execute(params![burst, reason])?;
    Ok(())
}

/// Queued bursts of one conversation.
pub fn queued_in(connection: &Connection, conversation: ConversationId) -> Result<Vec<BurstId>, StoreError> {
    let mut statement = connection
        .prepare_cached("SELECT id FROM bursts WHERE conversation_id = ?1 AND state = 'queued' ORDER BY id")?;
    let rows = statement.query_map([conversation], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
