//! What other stages do to the outbox, in their own transactions.

use rusqlite::{OptionalExtension, Transaction, params};

use super::enums::{Kind, Mode, State};
use super::stream::STREAMED;
use crate::audit::{self, Actor, Entry};
use crate::domain::ids::{ConversationId, OutboundId, TurnId};
use crate::domain::time::Now;
use crate::store::StoreError;

/// A message to deliver.
#[derive(Clone, PartialEq, Debug)]
pub struct New {
    pub conversation: ConversationId,
    /// Turn, its epoch, and the ordinal of the message within the turn: the same triple is the same message.
    pub turn: Option<(TurnId, i64, i64)>,
    pub kind: Kind,
    pub mode: Mode,
    /// It was asked for as immediate and the channel could not.
    pub fell_back: bool,
    /// Markdown.
    pub content: String,
    /// Rows of (label, data).
    pub buttons: Vec<Vec<(String, String)>>,
    /// The channel's id of the message it answers.
    pub reply_to: Option<String>,
}

impl New {
    /// An immediate text without buttons.
    pub fn text(conversation: ConversationId, kind: Kind, content: impl Into<String>) -> Self {
        Self {
            conversation,
            turn: None,
            kind,
            mode: Mode::Immediate,
            fell_back: false,
            content: content.into(),
            buttons: Vec::new(),
            reply_to: None,
        }
    }

    pub fn in_turn(mut self, turn: TurnId, epoch: i64, ordinal: i64) -> Self {
        self.turn = Some((turn, epoch, ordinal));
        self
    }
}

/// Stores a message; a worker delivers it after the commit. A batched message of a running turn is held until
/// [`release_batch`]. The same (turn, epoch, ordinal) again changes nothing and gives back the first row.
pub fn enqueue(tx: &Transaction<'_>, now: Now, new: New) -> Result<OutboundId, StoreError> {
    if let Some((turn, epoch, ordinal)) = &new.turn {
        let same: Option<OutboundId> = tx
            .prepare_cached("SELECT id FROM outbound WHERE turn_id = ?1 AND turn_epoch = ?2 AND ordinal = ?3")?
            .query_row(params![turn, epoch, ordinal], |row| row.get(0))
            .optional()?;
        if let Some(id) = same {
            return Ok(id);
        }
    }
    let state = match (new.mode, &new.turn) {
        (Mode::Batched, Some(_)) => State::Held,
        (Mode::Batched, None) | (Mode::Immediate, _) => State::Queued,
    };
    let buttons = if new.buttons.is_empty() { None } else { Some(serde_json::to_string(&new.buttons)?) };
    let (turn, epoch, ordinal) = match new.turn {
        Some((turn, epoch, ordinal)) => (Some(turn), Some(epoch), Some(ordinal)),
        None => (None, None, None),
    };
    let sequence = next_sequence(tx, new.conversation)?;
    tx.prepare_cached(
        "INSERT INTO outbound (conversation_id, sequence, turn_id, turn_epoch, ordinal, kind, mode, fell_back, state,
                               content, buttons, reply_to, queued_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    )?
    .execute(params![
        new.conversation,
        sequence,
        turn,
        epoch,
        ordinal,
        new.kind,
        new.mode,
        new.fell_back,
        state,
        new.content,
        buttons,
        new.reply_to,
        now.wall,
    ])?;
    Ok(OutboundId(tx.last_insert_rowid()))
}

/// A deterministic line of the program that belongs to the conversation's history.
pub fn enqueue_notice(
    tx: &Transaction<'_>,
    now: Now,
    conversation: ConversationId,
    text: impl Into<String>,
) -> Result<OutboundId, StoreError> {
    enqueue(tx, now, New::text(conversation, Kind::Notice, text))
}

/// An answer to a command.
pub fn enqueue_control(
    tx: &Transaction<'_>,
    now: Now,
    conversation: ConversationId,
    text: impl Into<String>,
) -> Result<OutboundId, StoreError> {
    enqueue(tx, now, New::text(conversation, Kind::Control, text))
}

/// The end of a turn: its held messages are queued, in call order, after everything queued so far.
/// Call it before the final reply is enqueued. Gives how many there were.
pub fn release_batch(tx: &Transaction<'_>, turn: &TurnId, epoch: i64) -> Result<usize, StoreError> {
    let held: Vec<(OutboundId, ConversationId)> = tx
        .prepare_cached(
            "SELECT id, conversation_id FROM outbound
             WHERE turn_id = ?1 AND turn_epoch = ?2 AND state = 'held' ORDER BY ordinal",
        )?
        .query_map(params![turn, epoch], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    for (id, conversation) in &held {
        let sequence = next_sequence(tx, *conversation)?;
        tx.prepare_cached("UPDATE outbound SET state = 'queued', sequence = ?2 WHERE id = ?1")?
            .execute(params![id, sequence])?;
    }
    Ok(held.len())
}

/// A turn was rolled back or stopped: what it had not begun to send is cancelled. Gives how many rows that were.
/// Of a message sent in part, what is left is cancelled too; an answer that grew ends as whole as it is.
pub fn cancel_turn(tx: &Transaction<'_>, turn: &TurnId, epoch: i64) -> Result<usize, StoreError> {
    Ok(tx
        .prepare_cached(
            "UPDATE outbound SET state = 'cancelled', error = 'the turn was stopped'
             WHERE turn_id = ?1 AND turn_epoch = ?2 AND state IN ('held', 'queued') AND NOT (ordinal = ?3 AND parts_done > 0)",
        )?
        .execute(params![turn, epoch, STREAMED])?)
}

/// A person stopped the conversation: messages and replies that had not begun to be sent are cancelled; cards,
/// notices and answers to commands still go out.
pub fn cancel_conversation(tx: &Transaction<'_>, conversation: ConversationId) -> Result<usize, StoreError> {
    Ok(tx
        .prepare_cached(
            "UPDATE outbound SET state = 'cancelled', error = 'stopped'
             WHERE conversation_id = ?1 AND state IN ('held', 'queued') AND kind IN ('message', 'reply')
               AND NOT (ordinal IS ?2 AND parts_done > 0)",
        )?
        .execute(params![conversation, STREAMED])?)
}

/// A person's *send again* of an uncertain or failed message: a new row with the parts that are still open.
/// `None`: there is nothing to send again (delivered, on its way, or sent again before).
pub fn send_again(tx: &Transaction<'_>, now: Now, id: OutboundId, who: &str) -> Result<Option<OutboundId>, StoreError> {
    let conversation: Option<ConversationId> = tx
        .query_row(
            "SELECT conversation_id FROM outbound
             WHERE id = ?1 AND state IN ('uncertain', 'failed') AND sent_again_as IS NULL",
            [id],
            |row| row.get(0),
        )
        .optional()?;
    let Some(conversation) = conversation else { return Ok(None) };
    let sequence = next_sequence(tx, conversation)?;
    tx.execute(
        "INSERT INTO outbound (conversation_id, sequence, kind, mode, state, content, buttons, reply_to,
                               parts_total, parts_done, queued_at)
         SELECT conversation_id, ?2, kind, 'immediate', 'queued', content, buttons, reply_to,
                parts_total, parts_done, ?3
         FROM outbound WHERE id = ?1",
        params![id, sequence, now.wall],
    )?;
    let again = OutboundId(tx.last_insert_rowid());
    tx.execute("UPDATE outbound SET sent_again_as = ?2 WHERE id = ?1", params![id, again])?;
    tx.execute("UPDATE conversations SET unreachable = NULL WHERE id = ?1", [conversation])?;
    audit::append(
        tx,
        now,
        Entry::new(audit::Kind::MessageDelivered, Actor::Person(who.to_owned()))
            .in_conversation(conversation)
            .detail("outbound_id", id.0)
            .detail("state", "sent_again")
            .detail("as", again.0),
    )?;
    Ok(Some(again))
}

pub(super) fn next_sequence(tx: &Transaction<'_>, conversation: ConversationId) -> Result<i64, StoreError> {
    Ok(tx
        .prepare_cached(
            "UPDATE conversations SET next_sequence = next_sequence + 1 WHERE id = ?1 RETURNING next_sequence - 1",
        )?
        .query_row([conversation], |row| row.get(0))?)
}
