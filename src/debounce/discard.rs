//! A person's stop or reset: what waits in a conversation is not going to run.

use rusqlite::{Transaction, params};

use super::error::DebounceError;
use crate::audit::{self, Actor, Entry};
use crate::domain::ids::{ConversationId, InboundId};
use crate::domain::time::Now;

/// How many messages were set aside.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Discarded {
    pub buffered: usize,
    /// In bursts that waited for their turn.
    pub queued: usize,
}

/// Discards the buffers and the queued bursts of `conversation`. Each message keeps `reason`.
pub fn discard(
    tx: &Transaction<'_>,
    now: Now,
    conversation: ConversationId,
    reason: &str,
    actor: &Actor,
) -> Result<Discarded, DebounceError> {
    let found: Vec<(InboundId, bool)> = tx
        .prepare_cached(
            "SELECT i.id, i.state = 'buffered' FROM inbound i LEFT JOIN bursts b ON b.id = i.burst_id
             WHERE i.conversation_id = ?1 AND (i.state = 'buffered' OR (i.state = 'merged' AND b.state = 'queued'))
             ORDER BY i.id",
        )?
        .query_map([conversation], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    let mut discarded = Discarded::default();
    for (id, buffered) in found {
        tx.prepare_cached("UPDATE inbound SET state = 'discarded', reason = ?2 WHERE id = ?1")?
            .execute(params![id, reason])?;
        if buffered {
            discarded.buffered += 1;
        } else {
            discarded.queued += 1;
        }
        audit::append(
            tx,
            now,
            Entry::new(audit::Kind::MessageDiscarded, actor.clone())
                .in_conversation(conversation)
                .detail("inbound_id", id.0)
                .detail("reason", reason),
        )?;
    }
    tx.prepare_cached(
        "UPDATE bursts SET state = 'discarded', reason = ?2 WHERE conversation_id = ?1 AND state = 'queued'",
    )?
    .execute(params![conversation, reason])?;
    Ok(discarded)
}
