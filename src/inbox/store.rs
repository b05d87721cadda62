//! SQL of the inbox's tables.

use rusqlite::{Connection, OptionalExtension, Transaction, params};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::error::InboxError;
use crate::domain::conversation::{Address, ConversationKind};
use crate::domain::ids::{ConversationId, InboundId};
use crate::domain::message::{InputKind, NewInput, Parts};
use crate::domain::time::{Now, Wall};
use crate::store::StoreError;

/// State of an inbound row. Names as in the table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum InboundState {
    /// Waits for the rest of the thought.
    Buffered,
    /// In a burst.
    Merged,
    /// Handled at once.
    Control,
    Discarded,
    /// Could not be read.
    Failed,
}

impl InboundState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Buffered => "buffered",
            Self::Merged => "merged",
            Self::Control => "control",
            Self::Discarded => "discarded",
            Self::Failed => "failed",
        }
    }
}

pub(super) fn kind_name(kind: InputKind) -> &'static str {
    match kind {
        InputKind::Message => "message",
        InputKind::Edit => "edit",
        InputKind::Tap => "tap",
        InputKind::Command => "command",
        InputKind::Schedule => "schedule",
        InputKind::Service => "service",
        InputKind::Poison => "poison",
    }
}

/// The row that this input made when it came first.
pub(super) fn known(
    connection: &Connection,
    dedupe_key: &str,
) -> Result<Option<(InboundId, Option<ConversationId>)>, InboxError> {
    Ok(connection
        .prepare_cached("SELECT id, conversation_id FROM inbound WHERE dedupe_key = ?1")?
        .query_row([dedupe_key], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?)
}

/// Finds or makes the conversation at `address`. A chat that writes is reachable again.
pub(super) fn conversation(
    tx: &Transaction<'_>,
    now: Now,
    address: &Address,
    kind: ConversationKind,
    title: &str,
) -> Result<ConversationId, InboxError> {
    let kind = match kind {
        ConversationKind::Private => "private",
        ConversationKind::Group => "group",
    };
    Ok(tx
        .prepare_cached(
            "INSERT INTO conversations (channel, account, contact, thread, kind, title, created_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT (channel, account, contact, thread) DO UPDATE SET
                 title = CASE WHEN excluded.title = '' THEN title ELSE excluded.title END,
                 unreachable = NULL, erased_at = NULL
             RETURNING id",
        )?
        .query_row(
            params![address.channel.as_str(), address.account, address.contact, address.thread, kind, title, now.wall],
            |row| row.get(0),
        )?)
}

/// How a row begins.
pub(super) struct Birth<'a> {
    pub conversation: Option<ConversationId>,
    pub state: InboundState,
    pub reason: Option<&'a str>,
    pub owner: bool,
    pub stale: bool,
    pub edit_of: Option<InboundId>,
}

pub(super) fn insert(
    tx: &Transaction<'_>,
    now: Now,
    input: &NewInput,
    birth: &Birth<'_>,
) -> Result<InboundId, InboxError> {
    let channel = input.address.as_ref().map_or("telegram", |address| address.channel.as_str());
    tx.prepare_cached(
        "INSERT INTO inbound (conversation_id, channel, dedupe_key, kind, state, reason, external_id, sender_id, sender_name,
                              owner, text, parts, edit_of, sent_at, received_at, received_elapsed, stale)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
    )?
    .execute(params![
        birth.conversation,
        channel,
        input.dedupe_key,
        kind_name(input.kind),
        birth.state.as_str(),
        birth.reason,
        input.external_id,
        input.sender_id,
        input.sender_name,
        birth.owner,
        input.text,
        serde_json::to_string(&input.parts).map_err(StoreError::from)?,
        birth.edit_of,
        input.sent_at,
        now.wall,
        now.elapsed,
        birth.stale,
    ])?;
    let id = InboundId(tx.last_insert_rowid());
    if let Some(conversation) = birth.conversation
        && birth.owner
        && !input.text.is_empty()
    {
        tx.prepare_cached("UPDATE conversations SET last_text = ?2, last_at = ?3 WHERE id = ?1")?.execute(params![
            conversation,
            shortened(&input.text),
            now.wall
        ])?;
    }
    Ok(id)
}

/// Preview of a text for lists.
fn shortened(text: &str) -> String {
    text.chars().take(200).collect()
}

/// A buffer of this sender is open.
pub(super) fn is_buffering(
    connection: &Connection,
    conversation: ConversationId,
    sender: &str,
) -> Result<bool, InboxError> {
    Ok(connection
        .prepare_cached("SELECT 1 FROM inbound WHERE conversation_id = ?1 AND sender_id = ?2 AND state = 'buffered'")?
        .exists(params![conversation, sender])?)
}

/// The message that an edit is about, as it stands now.
pub(super) struct Original {
    pub id: InboundId,
    pub state: String,
    pub text: String,
    pub parts: Parts,
    /// Its burst has not begun its turn.
    pub queued: bool,
}

pub(super) fn original(
    connection: &Connection,
    conversation: ConversationId,
    external_id: &str,
) -> Result<Option<Original>, InboxError> {
    // The newest one that reached the agent or still waits: the message itself, or its last edit that became an input.
    let found: Option<(InboundId, String, String, String, Option<String>)> = connection
        .prepare_cached(
            "SELECT i.id, i.state, i.text, i.parts, b.state FROM inbound i LEFT JOIN bursts b ON b.id = i.burst_id
             WHERE i.conversation_id = ?1 AND i.external_id = ?2 AND i.kind IN ('message', 'edit', 'command')
               AND (i.kind <> 'edit' OR i.state IN ('buffered', 'merged'))
             ORDER BY i.id DESC LIMIT 1",
        )?
        .query_row(params![conversation, external_id], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
        })
        .optional()?;
    let Some((id, state, text, parts, burst)) = found else { return Ok(None) };
    let parts = serde_json::from_str(&parts).map_err(StoreError::from)?;
    Ok(Some(Original { id, state, text, parts, queued: burst.as_deref() == Some("queued") }))
}

pub(super) fn replace_text(
    tx: &Transaction<'_>,
    id: InboundId,
    text: &str,
    parts: &Parts,
    sent_at: Wall,
    stale: bool,
) -> Result<(), InboxError> {
    tx.prepare_cached(
        "UPDATE inbound SET text = ?2, parts = ?3, sent_at = MAX(sent_at, ?4), stale = MIN(stale, ?5) WHERE id = ?1",
    )?
    .execute(params![id, text, serde_json::to_string(parts).map_err(StoreError::from)?, sent_at, stale])?;
    Ok(())
}

/// Where a source stands: cursor and the wall time of its last poll.
pub(super) fn cursor(
    connection: &Connection,
    channel: &str,
    account: &str,
) -> Result<Option<(i64, Option<Wall>)>, InboxError> {
    Ok(connection
        .prepare_cached("SELECT cursor, last_poll_at FROM channel_cursors WHERE channel = ?1 AND account = ?2")?
        .query_row([channel, account], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?)
}

pub(super) fn set_cursor(
    tx: &Transaction<'_>,
    channel: &str,
    account: &str,
    cursor: i64,
    polled_at: Wall,
) -> Result<(), InboxError> {
    tx.prepare_cached(
        "INSERT INTO channel_cursors (channel, account, cursor, last_poll_at) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (channel, account) DO UPDATE SET cursor = excluded.cursor, last_poll_at = excluded.last_poll_at",
    )?
    .execute(params![channel, account, cursor, polled_at])?;
    Ok(())
}
