//! The list of conversations, each with what it is doing right now.

use rusqlite::{Connection, OptionalExtension, params};

use super::desk::DeskParts;
use super::wire::{ConversationRow, Failure, Live};
use crate::debounce::{self, signal, window};
use crate::domain::conversation::{ChannelKind, ConversationKind};
use crate::domain::ids::ConversationId;
use crate::domain::message::Parts;
use crate::domain::time::{Elapsed, Now};
use crate::store::StoreError;

/// As many as a person scrolls through; older ones are found by search.
const MOST: i64 = 300;

pub(super) async fn list(parts: &DeskParts) -> Result<Vec<ConversationRow>, Failure> {
    let api = parts.api.parts();
    let now = api.clock.now();
    let midnight = now.wall.timestamp().to_zoned_datetime(api.zone.clone()).start_of_day();
    let midnight = midnight.map_or(0, |start| start.timestamp().as_millisecond());
    let settings = parts.debounce.clone();
    api.store.read(move |connection| read(connection, now, midnight, &settings)).await.map_err(Failure::from)
}

fn read(
    connection: &Connection,
    now: Now,
    midnight: i64,
    settings: &debounce::Settings,
) -> Result<Vec<ConversationRow>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT id, channel, kind, title, last_text, last_at, unreachable,
                (SELECT count(*) FROM turns WHERE conversation_id = conversations.id AND started_at >= ?1),
                (SELECT count(*) FROM prevented WHERE conversation_id = conversations.id AND at >= ?1)
         FROM conversations WHERE erased_at IS NULL
         ORDER BY last_at DESC, id LIMIT ?2",
    )?;
    let rows = statement.query_map([midnight, MOST], |row| {
        let (channel, kind): (String, String) = (row.get(1)?, row.get(2)?);
        Ok((
            row.get::<_, ConversationId>(0)?,
            channel,
            kind,
            row.get::<_, String>(3)?,
            row.get::<_, String>(4)?,
            row.get::<_, i64>(5)?,
            row.get::<_, Option<String>>(6)?,
            row.get::<_, i64>(7)?,
            row.get::<_, i64>(8)?,
        ))
    })?;
    let mut found = Vec::new();
    for row in rows {
        let (id, channel, kind, title, last_text, last_at, unreachable, turns_today, prevented_today) = row?;
        let Some(channel) = ChannelKind::ALL.into_iter().find(|one| one.as_str() == channel) else { continue };
        found.push(ConversationRow {
            id: id.to_string(),
            channel,
            kind: if kind == "group" { ConversationKind::Group } else { ConversationKind::Private },
            title,
            last_text,
            last_at,
            live: live(connection, id, channel, now, settings)?,
            turns_today,
            prevented_today,
            unreachable,
        });
    }
    Ok(found)
}

fn live(
    connection: &Connection,
    id: ConversationId,
    channel: ChannelKind,
    now: Now,
    settings: &debounce::Settings,
) -> Result<Live, StoreError> {
    let turn: Option<(String, i64)> = connection
        .prepare_cached("SELECT state, started_at FROM turns WHERE conversation_id = ?1 AND state <> 'ended'")?
        .query_row([id], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    if let Some((state, since)) = turn {
        return Ok(if state == "thinking" { Live::Thinking { since } } else { Live::Acting { since } });
    }
    if let Some(open) = buffer(connection, id, channel, now, settings)? {
        return Ok(Live::Buffering { since: open.since, until: open.until, signal: open.signal });
    }
    let approval: Option<i64> = connection
        .prepare_cached(
            "SELECT id FROM approvals WHERE conversation_id = ?1 AND state = 'pending' ORDER BY id DESC LIMIT 1",
        )?
        .query_row(params![id], |row| row.get(0))
        .optional()?;
    Ok(approval.map_or(Live::Idle, |approval| Live::Waiting { approval: approval.to_string() }))
}

struct Buffer {
    since: i64,
    until: i64,
    signal: String,
}

/// The open buffer: the window that its last message chose, capped from its first, in wall time for the ring.
fn buffer(
    connection: &Connection,
    id: ConversationId,
    channel: ChannelKind,
    now: Now,
    settings: &debounce::Settings,
) -> Result<Option<Buffer>, StoreError> {
    let last: Option<(String, String, i64)> = connection
        .prepare_cached(
            "SELECT text, parts, received_elapsed FROM inbound WHERE conversation_id = ?1 AND state = 'buffered'
             ORDER BY id DESC LIMIT 1",
        )?
        .query_row([id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let Some((text, parts, received)) = last else { return Ok(None) };
    let first: i64 = connection
        .prepare_cached("SELECT min(received_elapsed) FROM inbound WHERE conversation_id = ?1 AND state = 'buffered'")?
        .query_row([id], |row| row.get(0))?;
    let windows = settings.of(channel);
    let parts: Parts = serde_json::from_str(&parts)?;
    let signal = signal(&text, &parts, windows.text_limit);
    let wait = window(signal, &text, &windows);
    let until = Elapsed(received).plus(wait).min(Elapsed(first).plus(windows.max_wait));
    let wall = |elapsed: i64| now.wall.0 + elapsed - now.elapsed.0;
    Ok(Some(Buffer { since: wall(received), until: wall(until.0), signal: signal.as_str().to_owned() }))
}
