//! Taking the next part of a message: `sending` is on disk, and the turn fenced, before a request leaves.

use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use super::enums::State;
use crate::domain::conversation::{Address, ChannelKind, ConversationKind};
use crate::domain::ids::{ConversationId, OutboundId, TurnId};
use crate::domain::time::Elapsed;
use crate::store::StoreError;

/// In `conversations.unreachable`: the topic is gone, the chat itself is not.
pub(super) const THREAD_GONE: &str = "thread gone";

/// The message whose turn it is in its conversation.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Head {
    pub id: OutboundId,
    pub conversation: ConversationId,
    pub address: Address,
    pub conversation_kind: ConversationKind,
    pub state: State,
    pub not_before: Elapsed,
    /// A part that stands is to be edited first.
    pub amending: bool,
}

/// First open message of each conversation, oldest first.
pub(super) fn heads(connection: &Connection) -> Result<Vec<Head>, StoreError> {
    Ok(connection
        .prepare_cached(
            "SELECT o.id, o.conversation_id, c.channel, c.account, c.contact, c.thread, c.kind, o.state,
                    o.not_before_elapsed,
                    o.parts_done > 0 AND EXISTS (SELECT 1 FROM outbound_edits e WHERE e.outbound_id = o.id AND e.state = 'queued'),
                    MIN(o.sequence)
             FROM outbound o JOIN conversations c ON c.id = o.conversation_id
             WHERE o.state IN ('queued', 'sending')
             GROUP BY o.conversation_id ORDER BY o.queued_at, o.id",
        )?
        .query_map([], |row| {
            Ok(Head {
                id: row.get(0)?,
                conversation: row.get(1)?,
                address: address(row, 2)?,
                conversation_kind: conversation_kind(&row.get::<_, String>(6)?),
                state: row.get(7)?,
                not_before: row.get(8)?,
                amending: row.get(9)?,
            })
        })?
        .collect::<Result<_, _>>()?)
}

/// Columns `channel, account, contact, thread` from `first` on.
pub(super) fn address(row: &Row<'_>, first: usize) -> rusqlite::Result<Address> {
    let channel: String = row.get(first)?;
    let channel = ChannelKind::ALL
        .into_iter()
        .find(|kind| kind.as_str() == channel)
        .ok_or(rusqlite::Error::InvalidColumnType(first, channel, rusqlite::types::Type::Text))?;
    Ok(Address { channel, account: row.get(first + 1)?, contact: row.get(first + 2)?, thread: row.get(first + 3)? })
}

pub(super) fn conversation_kind(text: &str) -> ConversationKind {
    if text == "group" { ConversationKind::Group } else { ConversationKind::Private }
}

/// What is to be sent.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Claimed {
    pub id: OutboundId,
    pub conversation: ConversationId,
    pub address: Address,
    pub content: String,
    pub buttons: Vec<Vec<(String, String)>>,
    pub reply_to: Option<String>,
    pub parts_done: usize,
    /// The topic was found gone earlier: goes to the chat itself.
    pub thread_gone: bool,
}

/// Claims `id`, or settles it without a request where none may leave (turn stopped or superseded, person unreachable).
pub(super) fn claim(tx: &Transaction<'_>, id: OutboundId) -> Result<Option<Claimed>, StoreError> {
    type Raw = (Claimed, Option<TurnId>, Option<i64>, Option<String>, Option<String>);
    let raw: Option<Raw> = tx
        .prepare_cached(
            "SELECT o.id, o.conversation_id, c.channel, c.account, c.contact, c.thread, o.content, o.buttons, o.reply_to,
                    o.parts_done, o.turn_id, o.turn_epoch, c.unreachable
             FROM outbound o JOIN conversations c ON c.id = o.conversation_id
             WHERE o.id = ?1 AND o.state = 'queued'",
        )?
        .query_row([id], |row| {
            let unreachable: Option<String> = row.get(12)?;
            let claimed = Claimed {
                id: row.get(0)?,
                conversation: row.get(1)?,
                address: address(row, 2)?,
                content: row.get(6)?,
                buttons: Vec::new(),
                reply_to: row.get(8)?,
                parts_done: usize::try_from(row.get::<_, i64>(9)?).unwrap_or(0),
                thread_gone: unreachable.as_deref() == Some(THREAD_GONE),
            };
            Ok((claimed, row.get(10)?, row.get(11)?, row.get(7)?, unreachable))
        })
        .optional()?;
    let Some((mut claimed, turn, epoch, buttons, unreachable)) = raw else { return Ok(None) };
    if let Some(reason) = unreachable.filter(|_| !claimed.thread_gone) {
        give_up(tx, id, State::Failed, &reason)?;
        return Ok(None);
    }
    if let (Some(turn), Some(epoch)) = (&turn, epoch)
        && !fence(tx, turn, epoch)?
    {
        give_up(tx, id, State::Cancelled, "the turn was stopped or superseded")?;
        return Ok(None);
    }
    tx.prepare_cached("UPDATE outbound SET state = 'sending', attempts = attempts + 1 WHERE id = ?1")?.execute([id])?;
    if let Some(buttons) = buttons {
        claimed.buttons = serde_json::from_str(&buttons)?;
    }
    if claimed.thread_gone {
        claimed.address.thread.clear();
    }
    Ok(Some(claimed))
}

fn give_up(tx: &Transaction<'_>, id: OutboundId, state: State, reason: &str) -> Result<(), StoreError> {
    tx.prepare_cached("UPDATE outbound SET state = ?2, error = ?3 WHERE id = ?1")?
        .execute(params![id, state, reason])?;
    Ok(())
}

/// Fences the running turn. False if it is another epoch by now, or was stopped: then nothing may leave.
/// A turn that has ended in this epoch needs no fence.
fn fence(tx: &Transaction<'_>, turn: &TurnId, epoch: i64) -> Result<bool, StoreError> {
    let fenced = tx
        .prepare_cached(
            "UPDATE turns SET fenced = 1 WHERE id = ?1 AND epoch = ?2 AND stop_requested = 0 AND state <> 'ended'",
        )?
        .execute(params![turn, epoch])?;
    if fenced > 0 {
        return Ok(true);
    }
    Ok(tx
        .prepare_cached("SELECT 1 FROM turns WHERE id = ?1 AND epoch = ?2 AND state = 'ended'")?
        .exists(params![turn, epoch])?)
}
