//! Reading deliveries.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::enums::{Kind, Mode, State};
use crate::domain::ids::{ConversationId, OutboundId, TurnId};
use crate::domain::ports::Clock;
use crate::domain::time::Wall;
use crate::store::{Store, StoreError, Table};

/// A message on its way, as others see it.
#[derive(Clone, PartialEq, Debug)]
pub struct Delivery {
    pub id: OutboundId,
    pub conversation: ConversationId,
    pub turn: Option<TurnId>,
    pub kind: Kind,
    pub mode: Mode,
    pub fell_back: bool,
    pub state: State,
    pub content: String,
    pub sequence_in_turn: Option<i64>,
    pub external_ids: Vec<String>,
    pub error: Option<String>,
    pub queued_at: Wall,
    pub delivered_at: Option<Wall>,
}

const COLUMNS: &str = "id, conversation_id, turn_id, kind, mode, fell_back, state, content, sequence_in_turn, external_ids, \
                       error, queued_at, delivered_at";

fn delivery(row: &Row<'_>) -> rusqlite::Result<Delivery> {
    let external_ids: String = row.get(9)?;
    Ok(Delivery {
        id: row.get(0)?,
        conversation: row.get(1)?,
        turn: row.get(2)?,
        kind: row.get(3)?,
        mode: row.get(4)?,
        fell_back: row.get(5)?,
        state: row.get(6)?,
        content: row.get(7)?,
        sequence_in_turn: row.get(8)?,
        external_ids: serde_json::from_str(&external_ids).unwrap_or_default(),
        error: row.get(10)?,
        queued_at: row.get(11)?,
        delivered_at: row.get(12)?,
    })
}

pub fn state(connection: &Connection, id: OutboundId) -> Result<Option<Delivery>, StoreError> {
    Ok(connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM outbound WHERE id = ?1"))?
        .query_row([id], delivery)
        .optional()?)
}

/// Turn and epoch whose messages are meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Turn {
    pub id: TurnId,
    pub epoch: i64,
}

/// The messages of a turn, in the order they go out.
pub fn of_turn(connection: &Connection, turn: &Turn) -> Result<Vec<Delivery>, StoreError> {
    Ok(connection
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM outbound WHERE turn_id = ?1 AND turn_epoch = ?2 ORDER BY sequence"
        ))?
        .query_map(params![turn.id, turn.epoch], delivery)?
        .collect::<Result<_, _>>()?)
}

/// Texts of this turn that went, or go, to `conversation`: the final reply is left out only if it is one of them.
pub fn delivered_texts(
    connection: &Connection,
    turn: &Turn,
    conversation: ConversationId,
) -> Result<Vec<String>, StoreError> {
    Ok(connection
        .prepare_cached(
            "SELECT content FROM outbound
             WHERE turn_id = ?1 AND turn_epoch = ?2 AND conversation_id = ?3 AND state NOT IN ('failed', 'cancelled')
             ORDER BY sequence",
        )?
        .query_map(params![turn.id, turn.epoch, conversation], |row| row.get(0))?
        .collect::<Result<_, _>>()?)
}

/// Waits until nothing more happens to the message by itself, or it joined the batch, at most `patience`.
pub async fn wait_settled(
    store: &Store,
    clock: &dyn Clock,
    id: OutboundId,
    patience: Duration,
) -> Result<Option<Delivery>, StoreError> {
    let watch = store.watch(&[Table::Outbound]);
    let until = clock.now().elapsed.plus(patience);
    loop {
        let found = store.read(move |connection| state(connection, id)).await?;
        let left = until.since(clock.now().elapsed);
        match &found {
            None => return Ok(None),
            Some(row) if row.state.is_settled() || row.state == State::Held || left.is_zero() => return Ok(found),
            Some(_) => {}
        }
        tokio::select! {
            _ = watch.changed() => {}
            () = clock.sleep(left) => {}
        }
    }
}
