//! Answers that grow while the model writes them: one row per turn, sent once, then edited.
//!
//! In: what the model has written so far, then the final text. Out: a row of its turn and edits of its message.
//! Invariants: the row holds the text its message is to show; it is claimed like any other, so the turn is fenced before
//! a word leaves; the final text replaces what was shown and never becomes a second message, unless the turn has said
//! something else meanwhile, below which an answer belongs; a message whose last edit fails is `uncertain`.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::channels::Channels;
use super::enqueue::{New, enqueue};
use super::enums::{Kind, State};
use super::rows::{Turn, delivered_texts};
use super::{claim, edits};
use crate::domain::conversation::ConversationKind;
use crate::domain::ids::{ConversationId, OutboundId};
use crate::domain::ports::Channel;
use crate::domain::time::Now;
use crate::store::StoreError;

/// `outbound.ordinal` of the row that grows: no call of a turn has it.
pub(super) const STREAMED: i64 = -1;

/// Where an answer may grow.
#[derive(Clone)]
pub struct Growing {
    channel: Arc<dyn Channel>,
    /// Groups have a stricter rate, and other people's patience.
    pub group: bool,
}

impl Growing {
    /// `None` where messages cannot be edited.
    pub fn at(
        connection: &Connection,
        channels: &Channels,
        conversation: ConversationId,
    ) -> Result<Option<Self>, StoreError> {
        let (address, kind) = connection
            .prepare_cached("SELECT channel, account, contact, thread, kind FROM conversations WHERE id = ?1")?
            .query_row([conversation], |row| {
                Ok((claim::address(row, 0)?, claim::conversation_kind(&row.get::<_, String>(4)?)))
            })?;
        let channel = channels.get(address.channel).filter(|channel| channel.capabilities(&address).edit);
        Ok(channel.map(|channel| Self { channel: channel.clone(), group: kind == ConversationKind::Group }))
    }

    /// As much of `text` as one message holds: the rest comes with the end.
    pub fn first_part(&self, text: &str) -> String {
        self.channel.split(text).into_iter().next().unwrap_or_default()
    }
}

struct Streamed {
    id: OutboundId,
    state: State,
    sequence: i64,
    content: String,
    begun: bool,
}

fn streamed(connection: &Connection, turn: &Turn) -> Result<Option<Streamed>, StoreError> {
    Ok(connection
        .prepare_cached(
            "SELECT id, state, sequence, content, parts_done > 0 FROM outbound
             WHERE turn_id = ?1 AND turn_epoch = ?2 AND ordinal = ?3 AND kind = 'reply'",
        )?
        .query_row(params![turn.id, turn.epoch, STREAMED], |row| {
            Ok(Streamed {
                id: row.get(0)?,
                state: row.get(1)?,
                sequence: row.get(2)?,
                content: row.get(3)?,
                begun: row.get(4)?,
            })
        })
        .optional()?)
}

/// The turn said something after `sequence`, or will at its end.
fn spoke_since(connection: &Connection, turn: &Turn, sequence: i64) -> Result<bool, StoreError> {
    Ok(connection
        .prepare_cached(
            "SELECT 1 FROM outbound WHERE turn_id = ?1 AND turn_epoch = ?2 AND kind = 'message' AND ordinal <> ?4
                 AND (sequence > ?3 OR state = 'held') AND state NOT IN ('failed', 'cancelled')",
        )?
        .exists(params![turn.id, turn.epoch, sequence, STREAMED])?)
}

/// Shows `text` as the answer so far. It begins a message, or replaces what the one that was begun shows.
/// False if nothing is shown: the answer belongs below other messages, or repeats one.
pub fn grow(
    tx: &Transaction<'_>,
    now: Now,
    conversation: ConversationId,
    turn: &Turn,
    text: &str,
) -> Result<bool, StoreError> {
    let Some(row) = streamed(tx, turn)? else {
        let taken = tx
            .prepare_cached("SELECT 1 FROM outbound WHERE turn_id = ?1 AND turn_epoch = ?2 AND ordinal = ?3")?
            .exists(params![turn.id, turn.epoch, STREAMED])?;
        let repeats = || -> Result<bool, StoreError> {
            Ok(delivered_texts(tx, turn, conversation)?.iter().any(|said| said.trim().starts_with(text.trim())))
        };
        if taken || spoke_since(tx, turn, i64::MAX)? || repeats()? {
            return Ok(false);
        }
        enqueue(tx, now, New::text(conversation, Kind::Reply, text).in_turn(turn.id.clone(), turn.epoch, STREAMED))?;
        return Ok(true);
    };
    if spoke_since(tx, turn, row.sequence)? {
        return Ok(false);
    }
    match row.state {
        State::Queued | State::Sending | State::Delivered => {
            replace(tx, now, &row, text)?;
            Ok(true)
        }
        State::Held | State::Uncertain | State::Failed | State::Cancelled => Ok(false),
    }
}

/// The answer is whole. False if it is to be enqueued as usual: nothing was begun, or it belongs below what the turn
/// said since; then what was begun stays a message of its own.
pub fn finish(tx: &Transaction<'_>, now: Now, turn: &Turn, text: &str) -> Result<bool, StoreError> {
    let Some(row) = streamed(tx, turn)? else { return Ok(false) };
    match row.state {
        State::Held | State::Failed | State::Cancelled => return Ok(false),
        State::Queued | State::Sending | State::Delivered | State::Uncertain => {}
    }
    if spoke_since(tx, turn, row.sequence)? {
        // Not sent yet: nobody misses it.
        tx.prepare_cached(
            "UPDATE outbound SET kind = 'message',
                 state = CASE WHEN state = 'queued' AND parts_done = 0 THEN 'cancelled' ELSE state END
             WHERE id = ?1",
        )?
        .execute([row.id])?;
        return Ok(false);
    }
    replace(tx, now, &row, text)?;
    // An edit that was given up while more was to come decides now.
    tx.prepare_cached(
        "UPDATE outbound_edits SET state = 'queued', attempts = 0 WHERE outbound_id = ?1 AND state = 'failed'",
    )?
    .execute([row.id])?;
    if row.state == State::Delivered {
        // What one message does not hold follows; without any, the row is delivered once its edit is made.
        tx.prepare_cached("UPDATE outbound SET state = 'queued' WHERE id = ?1")?.execute([row.id])?;
    }
    Ok(true)
}

fn replace(tx: &Transaction<'_>, now: Now, row: &Streamed, text: &str) -> Result<(), StoreError> {
    if row.content == text {
        return Ok(());
    }
    tx.prepare_cached("UPDATE outbound SET content = ?2 WHERE id = ?1")?.execute(params![row.id, text])?;
    let shown = row.begun || row.state == State::Sending;
    if shown && row.state != State::Uncertain {
        edits::edit(tx, now, row.id, text, &[])?;
    }
    Ok(())
}
