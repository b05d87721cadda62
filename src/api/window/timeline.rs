//! One page of a conversation's timeline. Every source is an index walk of its own; the page is their newest rows merged.

use rusqlite::{Connection, params};

use super::steps;
use super::wire::{
    BurstEntry, ControlEntry, DecisionEntry, OutboundEntry, SaidMessage, TimelineCursor, TimelineEntry, TimelinePage,
    TurnEntry,
};
use crate::domain::ids::ConversationId;
use crate::domain::message::Parts;
use crate::store::StoreError;

/// Entries of one page.
const PAGE: usize = 60;

/// The newest entries before `older`, oldest first.
pub fn page(
    connection: &Connection,
    id: ConversationId,
    older: Option<TimelineCursor>,
) -> Result<TimelinePage, StoreError> {
    let mut cursor = older.unwrap_or(TimelineCursor {
        burst: i64::MAX,
        turn: i64::MAX,
        outbound: i64::MAX,
        decided: i64::MAX,
        approval: i64::MAX,
        control: i64::MAX,
    });
    let sources = [
        rows(bursts(connection, id, cursor.burst)?, TimelineEntry::Burst, |row| row.at),
        rows(controls(connection, id, cursor.control)?, TimelineEntry::Control, |row| row.at),
        rows(turns(connection, id, cursor.turn)?, TimelineEntry::Turn, |row| row.at),
        rows(deliveries(connection, id, cursor.outbound)?, TimelineEntry::Outbound, |row| row.at),
        rows(decisions(connection, id, (cursor.decided, cursor.approval))?, TimelineEntry::Decision, |row| row.at),
    ];
    let (mut kept, more) = newest(sources);
    for (_, _, entry) in &kept {
        match entry {
            TimelineEntry::Burst(row) => lower(&mut cursor.burst, &row.id),
            TimelineEntry::Turn(row) => cursor.turn = cursor.turn.min(row.number),
            TimelineEntry::Outbound(row) => lower(&mut cursor.outbound, &row.id),
            TimelineEntry::Decision(row) => {
                if let Ok(id) = row.id.parse() {
                    (cursor.decided, cursor.approval) = (cursor.decided, cursor.approval).min((row.at, id));
                }
            }
            TimelineEntry::Control(row) => lower(&mut cursor.control, &row.id),
        }
    }
    kept.sort_by_key(|(at, rank, _)| (*at, *rank));
    let mut entries: Vec<TimelineEntry> = kept.into_iter().map(|(_, _, entry)| entry).collect();
    if older.is_none() {
        entries.extend(buffered(connection, id)?.map(TimelineEntry::Burst));
    }
    for entry in &mut entries {
        if let TimelineEntry::Turn(turn) = entry {
            turn.steps = steps::of_turn(connection, &turn.id)?;
        }
    }
    Ok(TimelinePage { entries, older: more.then_some(cursor) })
}

type Ranked = (i64, usize, TimelineEntry);

fn rows<T>(found: Vec<T>, entry: fn(T) -> TimelineEntry, at: fn(&T) -> i64) -> Vec<(i64, TimelineEntry)> {
    found.into_iter().map(|row| (at(&row), entry(row))).collect()
}

/// The newest [`PAGE`] of all sources, and whether any are left. Each source is taken in its own order, never out of
/// the middle: a wall clock that was set back would otherwise hide what the cursor then skips.
fn newest<const N: usize>(sources: [Vec<(i64, TimelineEntry)>; N]) -> (Vec<Ranked>, bool) {
    let mut heads = sources.map(|source| source.into_iter().peekable());
    let mut kept = Vec::with_capacity(PAGE);
    loop {
        let next =
            heads.iter_mut().enumerate().filter_map(|(rank, source)| source.peek().map(|(at, _)| (*at, rank))).max();
        let Some((at, rank)) = next else { return (kept, false) };
        if kept.len() == PAGE {
            return (kept, true);
        }
        if let Some((_, entry)) = heads.get_mut(rank).and_then(Iterator::next) {
            kept.push((at, rank, entry));
        }
    }
}

fn lower(position: &mut i64, id: &str) {
    if let Ok(id) = id.parse::<i64>() {
        *position = (*position).min(id);
    }
}

/// One more than a page, so that it is known whether anything is left.
const LIMIT: i64 = 61;

fn bursts(connection: &Connection, id: ConversationId, before: i64) -> Result<Vec<BurstEntry>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT id, created_at, state, signal, window_ms, waited_ms, flush_reason, stale FROM bursts
         WHERE conversation_id = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3",
    )?;
    let rows: Vec<BurstEntry> = statement
        .query_map(params![id, before, LIMIT], |row| {
            Ok(BurstEntry {
                id: row.get::<_, i64>(0)?.to_string(),
                at: row.get(1)?,
                state: row.get(2)?,
                messages: Vec::new(),
                signal: row.get(3)?,
                window_ms: row.get(4)?,
                waited_ms: row.get(5)?,
                flush_reason: row.get(6)?,
                stale: row.get(7)?,
                until: None,
            })
        })?
        .collect::<Result<_, _>>()?;
    rows.into_iter()
        .map(|mut burst| {
            burst.messages = said(connection, "burst_id = ?1", &burst.id)?;
            Ok(burst)
        })
        .collect()
}

/// What waits in the buffer, as a burst that is still open.
fn buffered(connection: &Connection, id: ConversationId) -> Result<Option<BurstEntry>, StoreError> {
    let messages = said(connection, "conversation_id = ?1 AND state = 'buffered'", &id.to_string())?;
    let Some(last) = messages.last() else { return Ok(None) };
    Ok(Some(BurstEntry {
        id: format!("buffer-{id}"),
        at: last.at,
        state: "buffered".to_owned(),
        signal: "none".to_owned(),
        window_ms: 0,
        waited_ms: 0,
        flush_reason: String::new(),
        stale: false,
        until: Some(last.at),
        messages,
    }))
}

fn said(connection: &Connection, condition: &str, value: &str) -> Result<Vec<SaidMessage>, StoreError> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT id, sent_at, sender_name, text, parts FROM inbound WHERE {condition} ORDER BY id"
    ))?;
    let rows = statement.query_map([value], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get(2)?, row.get(3)?, row.get::<_, String>(4)?))
    })?;
    rows.map(|row| {
        let (id, at, sender, text, parts) = row?;
        let parts: Parts = serde_json::from_str(&parts)?;
        Ok(SaidMessage {
            id: id.to_string(),
            at,
            sender,
            text,
            edited_from: parts.edited_from,
            forwarded_from: parts.forward.map(|forward| forward.origin),
            reply_to: parts.reply.map(|reply| reply.text),
            media: parts.media.into_iter().map(|media| media.name.unwrap_or(media.kind)).collect(),
        })
    })
    .collect()
}

fn turns(connection: &Connection, id: ConversationId, before: i64) -> Result<Vec<TurnEntry>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT id, started_at, number, state, ending, reason, model, input_tokens, output_tokens,
                coalesce(ended_at, started_at) - started_at
         FROM turns WHERE conversation_id = ?1 AND number < ?2 ORDER BY number DESC LIMIT ?3",
    )?;
    let rows = statement.query_map(params![id, before, LIMIT], |row| {
        Ok(TurnEntry {
            id: row.get(0)?,
            at: row.get(1)?,
            number: row.get(2)?,
            state: row.get(3)?,
            ending: row.get(4)?,
            reason: row.get(5)?,
            model: row.get(6)?,
            input_tokens: row.get(7)?,
            output_tokens: row.get(8)?,
            millis: row.get::<_, i64>(9)?.max(0),
            steps: Vec::new(),
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn deliveries(connection: &Connection, id: ConversationId, before: i64) -> Result<Vec<OutboundEntry>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT id, queued_at, kind, mode, fell_back, state, content, error, sent_again_as IS NOT NULL, delivered_at
         FROM outbound WHERE conversation_id = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3",
    )?;
    let rows = statement.query_map(params![id, before, LIMIT], |row| {
        Ok(OutboundEntry {
            id: row.get::<_, i64>(0)?.to_string(),
            at: row.get(1)?,
            role: row.get(2)?,
            mode: row.get(3)?,
            fell_back: row.get(4)?,
            state: row.get(5)?,
            content: row.get(6)?,
            error: row.get(7)?,
            sent_again: row.get(8)?,
            delivered_at: row.get(9)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn decisions(
    connection: &Connection,
    id: ConversationId,
    before: (i64, i64),
) -> Result<Vec<DecisionEntry>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT id, coalesce(decided_at, expires_at) AS at, state, summary, decided_by, surface, effect_id
         FROM approvals
         WHERE conversation_id = ?1 AND state <> 'pending' AND (coalesce(decided_at, expires_at), id) < (?2, ?3)
         ORDER BY at DESC, id DESC LIMIT ?4",
    )?;
    let rows = statement.query_map(params![id, before.0, before.1, LIMIT], |row| {
        Ok(DecisionEntry {
            id: row.get::<_, i64>(0)?.to_string(),
            at: row.get(1)?,
            state: row.get(2)?,
            summary: row.get(3)?,
            who: row.get(4)?,
            surface: row.get(5)?,
            effect: row.get(6)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn controls(connection: &Connection, id: ConversationId, before: i64) -> Result<Vec<ControlEntry>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT id, received_at, sender_name, text, state, reason FROM inbound
         WHERE conversation_id = ?1 AND id < ?2 AND kind <> 'tap' AND burst_id IS NULL
           AND state IN ('control', 'discarded', 'failed')
         ORDER BY id DESC LIMIT ?3",
    )?;
    let rows = statement.query_map(params![id, before, LIMIT], |row| {
        Ok(ControlEntry {
            id: row.get::<_, i64>(0)?.to_string(),
            at: row.get(1)?,
            sender: row.get(2)?,
            text: row.get(3)?,
            state: row.get(4)?,
            reason: row.get(5)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
