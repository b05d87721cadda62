//! A buffer becomes a burst, in one transaction.

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::buffer::{Buffered, Decision, FlushReason, decide};
use super::error::DebounceError;
use super::settings::Settings;
use crate::audit::{self, Actor, Entry};
use crate::domain::conversation::ChannelKind;
use crate::domain::ids::{BurstId, ConversationId};
use crate::domain::message::Parts;
use crate::domain::time::{Elapsed, Now};

/// One buffer: a sender in a conversation.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct Key {
    pub conversation: ConversationId,
    pub sender: String,
}

/// What became of a flush.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Flushed {
    /// Nothing is buffered (any more).
    Empty,
    /// More came, or an edit changed the signal: look again then.
    NotYet(Elapsed),
    Burst(BurstId),
    /// The rest of an album joined its burst, whose turn had not begun.
    Joined(BurstId),
}

/// Buffers that have a row with an id above `seen`.
pub(super) fn touched(connection: &Connection, seen: i64) -> Result<(Vec<Key>, i64), DebounceError> {
    let mut statement = connection.prepare_cached(
        "SELECT conversation_id, sender_id, MAX(id) FROM inbound WHERE state = 'buffered' AND id > ?1
         GROUP BY conversation_id, sender_id",
    )?;
    let mut newest = seen;
    let mut keys = Vec::new();
    let mut rows = statement.query([seen])?;
    while let Some(row) = rows.next()? {
        keys.push(Key { conversation: row.get(0)?, sender: row.get(1)? });
        newest = newest.max(row.get(2)?);
    }
    Ok((keys, newest))
}

/// The messages of a buffer with the channel they came by.
pub(super) fn buffered(
    connection: &Connection,
    key: &Key,
) -> Result<Option<(ChannelKind, Vec<Buffered>)>, DebounceError> {
    let mut statement = connection.prepare_cached(
        "SELECT id, channel, text, parts, received_elapsed, sent_at, stale, kind = 'schedule' FROM inbound
         WHERE conversation_id = ?1 AND sender_id = ?2 AND state = 'buffered' ORDER BY id",
    )?;
    let mut channel = None;
    let mut messages = Vec::new();
    let mut rows = statement.query(params![key.conversation, key.sender])?;
    while let Some(row) = rows.next()? {
        let name: String = row.get(1)?;
        channel = ChannelKind::ALL.into_iter().find(|kind| kind.as_str() == name).or(channel);
        let parts: String = row.get(3)?;
        messages.push(Buffered {
            id: row.get(0)?,
            text: row.get(2)?,
            parts: serde_json::from_str::<Parts>(&parts).map_err(crate::store::StoreError::from)?,
            received: row.get(4)?,
            sent_at: row.get(5)?,
            stale: row.get(6)?,
            scheduled: row.get(7)?,
        });
    }
    Ok(channel.map(|channel| (channel, messages)))
}

/// When the buffer is due.
pub(super) fn due(
    connection: &Connection,
    key: &Key,
    settings: &Settings,
) -> Result<Option<(Elapsed, bool)>, DebounceError> {
    let Some((channel, messages)) = buffered(connection, key)? else { return Ok(None) };
    let pending = messages.iter().any(|message| message.parts.waits_for_transcript());
    Ok(decide(&messages, &settings.of(channel)).map(|decision| (decision.due, pending)))
}

/// Merges the buffer if it is due. `started` is when this program began to watch.
pub(super) fn flush(
    tx: &Transaction<'_>,
    now: Now,
    key: &Key,
    settings: &Settings,
    started: Elapsed,
) -> Result<Flushed, DebounceError> {
    let Some((channel, messages)) = buffered(tx, key)? else { return Ok(Flushed::Empty) };
    let Some(mut decision) = decide(&messages, &settings.of(channel)) else { return Ok(Flushed::Empty) };
    if decision.due > now.elapsed {
        return Ok(Flushed::NotYet(decision.due));
    }
    if decision.due < started {
        decision.reason = FlushReason::Restart;
    }
    let taken = &messages[..decision.take];
    if let Some(burst) = waiting_album(tx, key, taken)? {
        adopt(tx, burst, taken)?;
        tx.prepare_cached("UPDATE bursts SET message_count = message_count + ?2 WHERE id = ?1")?
            .execute(params![burst, i64::try_from(taken.len()).unwrap_or(i64::MAX)])?;
        note(tx, now, key, burst, taken, decision, true)?;
        return Ok(Flushed::Joined(burst));
    }
    let burst = insert(tx, now, key, taken, decision, settings)?;
    adopt(tx, burst, taken)?;
    note(tx, now, key, burst, taken, decision, false)?;
    Ok(Flushed::Burst(burst))
}

/// The queued burst of this sender that holds the beginning of the album these messages end.
fn waiting_album(tx: &Transaction<'_>, key: &Key, taken: &[Buffered]) -> Result<Option<BurstId>, DebounceError> {
    let Some(album) = taken.first().and_then(|message| message.parts.album.as_deref()) else { return Ok(None) };
    if taken.iter().any(|message| message.parts.album.as_deref() != Some(album)) {
        return Ok(None);
    }
    Ok(tx
        .prepare_cached(
            "SELECT b.id FROM bursts b JOIN inbound i ON i.burst_id = b.id
             WHERE b.conversation_id = ?1 AND b.sender_id = ?2 AND b.state = 'queued'
               AND json_extract(i.parts, '$.album') = ?3
             ORDER BY b.id DESC LIMIT 1",
        )?
        .query_row(params![key.conversation, key.sender, album], |row| row.get(0))
        .optional()?)
}

fn insert(
    tx: &Transaction<'_>,
    now: Now,
    key: &Key,
    taken: &[Buffered],
    decision: Decision,
    settings: &Settings,
) -> Result<BurstId, DebounceError> {
    let first = taken.first().map_or(now.elapsed, |message| message.received);
    let stale = taken.iter().any(|message| message.stale || now.wall.since(message.sent_at) > settings.stale_after);
    tx.prepare_cached(
        "INSERT INTO bursts (conversation_id, sender_id, state, signal, window_ms, flush_reason, message_count, waited_ms,
                             stale, created_at)
         VALUES (?1, ?2, 'queued', ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?
    .execute(params![
        key.conversation,
        key.sender,
        decision.signal,
        i64::try_from(decision.window.as_millis()).unwrap_or(i64::MAX),
        decision.reason,
        i64::try_from(taken.len()).unwrap_or(i64::MAX),
        i64::try_from(now.elapsed.since(first).as_millis()).unwrap_or(i64::MAX),
        stale,
        now.wall,
    ])?;
    Ok(BurstId(tx.last_insert_rowid()))
}

fn adopt(tx: &Transaction<'_>, burst: BurstId, taken: &[Buffered]) -> Result<(), DebounceError> {
    let mut statement =
        tx.prepare_cached("UPDATE inbound SET state = 'merged', burst_id = ?2 WHERE id = ?1 AND state = 'buffered'")?;
    for message in taken {
        statement.execute(params![message.id, burst])?;
    }
    Ok(())
}

fn note(
    tx: &Transaction<'_>,
    now: Now,
    key: &Key,
    burst: BurstId,
    taken: &[Buffered],
    decision: Decision,
    joined: bool,
) -> Result<(), DebounceError> {
    let first = taken.first().map_or(now.elapsed, |message| message.received);
    audit::append(
        tx,
        now,
        Entry::new(audit::Kind::BurstMerged, Actor::System)
            .in_conversation(key.conversation)
            .detail("burst_id", burst.0)
            .detail("messages", taken.len())
            .detail("signal", decision.signal.as_str())
            .detail("window_ms", u64::try_from(decision.window.as_millis()).unwrap_or(u64::MAX))
            .detail("flush_reason", decision.reason.as_str())
            .detail("waited_ms", u64::try_from(now.elapsed.since(first).as_millis()).unwrap_or(u64::MAX))
            .detail("joined", joined),
    )?;
    Ok(())
}
