//! Edits of delivered messages: closing cards, growing answers. Repeating an edit is harmless, so it is retried freely.

use std::time::Duration;

use rusqlite::{Connection, Transaction, params};

use super::enums::State;
use super::settle;
use super::stream::STREAMED;
use crate::domain::conversation::Address;
use crate::domain::ids::{ConversationId, OutboundId};
use crate::domain::ports::{Channel, OutboundPart, SendOutcome, SendRefusal};
use crate::domain::time::{Elapsed, Now};
use crate::runtime::backoff;
use crate::runtime::redact::redact;
use crate::store::StoreError;

const FIRST_RETRY: Duration = Duration::from_secs(2);
const LONGEST_RETRY: Duration = Duration::from_secs(120);

/// The message `id` shall show `content` (its first part) with `buttons` from now on. A later edit replaces one that
/// has not been made yet. If the message itself has not been sent yet, it is sent as it was and then edited.
pub fn edit(
    tx: &Transaction<'_>,
    now: Now,
    id: OutboundId,
    content: &str,
    buttons: &[Vec<(String, String)>],
) -> Result<(), StoreError> {
    let buttons = if buttons.is_empty() { None } else { Some(serde_json::to_string(buttons)?) };
    tx.prepare_cached(
        "INSERT INTO outbound_edits (outbound_id, content, buttons, state, queued_at) VALUES (?1, ?2, ?3, 'queued', ?4)
         ON CONFLICT (outbound_id) DO UPDATE SET content = excluded.content, buttons = excluded.buttons,
             version = version + 1, state = 'queued', attempts = 0, error = NULL",
    )?
    .execute(params![id, content, buttons, now.wall])?;
    Ok(())
}

/// An edit that may be made: its message is delivered.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Due {
    pub outbound: OutboundId,
    pub conversation: ConversationId,
    pub address: Address,
    pub not_before: Elapsed,
    external_id: Option<String>,
    content: String,
    buttons: Vec<Vec<(String, String)>>,
    version: i64,
    attempts: u32,
}

pub(super) fn due(connection: &Connection) -> Result<Vec<Due>, StoreError> {
    let rows: Vec<(Due, Option<String>)> = connection
        .prepare_cached(
            "SELECT e.outbound_id, o.conversation_id, c.channel, c.account, c.contact, c.thread, MAX(e.not_before_elapsed, CASE WHEN o.ordinal = ?1 THEN o.not_before_elapsed ELSE 0 END),
                    json_extract(o.external_ids, '$[0]'), e.content, e.buttons, e.version, e.attempts
             FROM outbound_edits e JOIN outbound o ON o.id = e.outbound_id JOIN conversations c ON c.id = o.conversation_id
             WHERE e.state = 'queued' AND (o.state NOT IN ('held', 'queued', 'sending')
                   OR (o.ordinal = ?1 AND o.state = 'queued' AND o.parts_done > 0))
             ORDER BY e.queued_at, e.outbound_id",
        )?
        .query_map([STREAMED], |row| {
            let due = Due {
                outbound: row.get(0)?,
                conversation: row.get(1)?,
                address: super::claim::address(row, 2)?,
                not_before: row.get(6)?,
                external_id: row.get(7)?,
                content: row.get(8)?,
                buttons: Vec::new(),
                version: row.get(10)?,
                attempts: row.get(11)?,
            };
            Ok((due, row.get(9)?))
        })?
        .collect::<Result<_, _>>()?;
    rows.into_iter()
        .map(|(mut due, buttons)| {
            if let Some(buttons) = buttons {
                due.buttons = serde_json::from_str(&buttons)?;
            }
            Ok(due)
        })
        .collect()
}

pub(super) async fn make(channel: &dyn Channel, due: &Due) -> SendOutcome {
    let Some(external_id) = &due.external_id else {
        return SendOutcome::Refused { reason: "the message was never delivered".to_owned(), kind: SendRefusal::Other };
    };
    let mut part = OutboundPart {
        to: due.address.clone(),
        markdown: channel.split(&due.content).into_iter().next().unwrap_or_default(),
        plain: false,
        buttons: due.buttons.clone(),
        reply_to: None,
    };
    let outcome = channel.edit(external_id, &part).await;
    match outcome {
        SendOutcome::Refused { kind: SendRefusal::Entities, .. } => {
            part.plain = true;
            channel.edit(external_id, &part).await
        }
        outcome => outcome,
    }
}

/// After so many failed attempts an edit is given up; the message stays as it was.
const MOST_ATTEMPTS: u32 = 8;

pub(super) fn settle(
    tx: &Transaction<'_>,
    now: Now,
    due: &Due,
    outcome: &SendOutcome,
    interval: Duration,
    fraction: f64,
) -> Result<(), StoreError> {
    let (state, error, wait) = match outcome {
        SendOutcome::Delivered { .. } | SendOutcome::Refused { kind: SendRefusal::NotModified, .. } => {
            ("done", None, interval)
        }
        SendOutcome::Refused { reason, .. } => ("failed", Some(reason), interval),
        SendOutcome::NotSent { reason, retry_after } => (
            if due.attempts + 1 < MOST_ATTEMPTS { "queued" } else { "failed" },
            Some(reason),
            retry_after.unwrap_or_else(|| backoff::doubling(FIRST_RETRY, LONGEST_RETRY, due.attempts, fraction)),
        ),
        SendOutcome::Uncertain { reason } => (
            if due.attempts + 1 < MOST_ATTEMPTS { "queued" } else { "failed" },
            Some(reason),
            backoff::doubling(FIRST_RETRY, LONGEST_RETRY, due.attempts, fraction),
        ),
    };
    let not_before = now.elapsed.plus(wait.max(interval));
    // A newer text may have come meanwhile: it stays queued, but keeps the distance.
    tx.prepare_cached(
        "UPDATE outbound_edits SET not_before_elapsed = ?2, attempts = attempts + 1,
             state = CASE WHEN version = ?3 THEN ?4 ELSE state END,
             error = CASE WHEN version = ?3 THEN ?5 ELSE error END
         WHERE outbound_id = ?1",
    )?
    .execute(params![due.outbound, not_before, due.version, state, error.map(|text| redact(text))])?;
    if state == "failed" {
        unfinished(tx, now, due)?;
    }
    Ok(())
}

/// The last edit of an answer that grew is given up: the person may have read half of it. *Send again* sends it whole.
fn unfinished(tx: &Transaction<'_>, now: Now, due: &Due) -> Result<(), StoreError> {
    let ended = tx
        .prepare_cached(
            "UPDATE outbound SET parts_done = 0 WHERE id = ?1 AND ordinal = ?2 AND state = 'queued'
                 AND EXISTS (SELECT 1 FROM outbound_edits e WHERE e.outbound_id = outbound.id AND e.state = 'failed')",
        )?
        .execute(params![due.outbound, STREAMED])?;
    if ended > 0 {
        settle::mark(
            tx,
            now,
            due.outbound,
            due.conversation,
            State::Uncertain,
            "the end of the answer could not be shown",
        )?;
    }
    Ok(())
}
