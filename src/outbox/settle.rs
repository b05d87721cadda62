//! What a send came to, written down.

use std::time::Duration;

use rusqlite::{Transaction, params};

use super::claim::{Claimed, THREAD_GONE};
use super::enums::{Kind, Mode, State};
use super::stream::STREAMED;
use crate::audit::{self, Actor, Entry};
use crate::domain::ids::{ConversationId, OutboundId, TurnId};
use crate::domain::language::Language;
use crate::domain::ports::{SendOutcome, SendRefusal};
use crate::domain::time::Now;
use crate::runtime::redact::redact;
use crate::store::StoreError;

/// The part that was sent, of how many.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Progress {
    pub part: usize,
    pub total: usize,
}

/// What settings and chance add to the decision.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Policy {
    pub fall_back: bool,
    /// Between two texts of a message that grows.
    pub edit_interval: Duration,
    pub language: Language,
    /// For jitter, `0.0..1.0`.
    pub fraction: f64,
}

/// Waits between attempts of a message that did not leave.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LONGEST_RETRY: Duration = Duration::from_secs(300);

struct RowFacts {
    kind: Kind,
    mode: Mode,
    attempts: u32,
    turn: Option<TurnId>,
    epoch: Option<i64>,
    sequence_in_turn: Option<i64>,
    streamed: bool,
}

/// State of the row after `outcome`, committed with everything that follows from it.
pub(super) fn settle(
    tx: &Transaction<'_>,
    now: Now,
    claimed: &Claimed,
    progress: Progress,
    outcome: &SendOutcome,
    policy: &Policy,
) -> Result<State, StoreError> {
    let id = claimed.id;
    let row = facts(tx, id)?;
    match outcome {
        SendOutcome::Delivered { external_id } => {
            delivered(tx, now, claimed, progress, &row, external_id.as_deref(), policy.edit_interval)
        }
        SendOutcome::NotSent { reason, retry_after } => {
            // A flood wait is an appointment, not a failure: the message keeps its place.
            if retry_after.is_none() && has_a_batch(tx, &row, progress)? {
                return not_immediate(tx, now, claimed, &row, reason, policy.fall_back);
            }
            let wait = retry_after.unwrap_or_else(|| {
                crate::runtime::backoff::doubling(
                    FIRST_RETRY,
                    LONGEST_RETRY,
                    row.attempts.saturating_sub(1),
                    policy.fraction,
                )
            });
            set_state(tx, id, State::Queued, Some(reason))?;
            tx.prepare_cached("UPDATE outbound SET not_before_elapsed = ?2 WHERE id = ?1")?
                .execute(params![id, now.elapsed.plus(wait)])?;
            Ok(State::Queued)
        }
        SendOutcome::Uncertain { reason } => end(tx, now, claimed, &row, State::Uncertain, reason),
        // An answer that refuses proves that nothing was delivered.
        SendOutcome::Refused { reason, kind: SendRefusal::Other } if has_a_batch(tx, &row, progress)? => {
            not_immediate(tx, now, claimed, &row, reason, policy.fall_back)
        }
        SendOutcome::Refused { reason, kind } => refused(tx, now, claimed, &row, reason, kind, policy),
    }
}

fn facts(tx: &Transaction<'_>, id: OutboundId) -> Result<RowFacts, StoreError> {
    Ok(tx
        .prepare_cached(
            "SELECT kind, mode, attempts, turn_id, turn_epoch, sequence_in_turn, ordinal IS ?2 FROM outbound WHERE id = ?1",
        )?
        .query_row(params![id, STREAMED], |row| {
            Ok(RowFacts {
                kind: row.get(0)?,
                mode: row.get(1)?,
                attempts: row.get(2)?,
                turn: row.get(3)?,
                epoch: row.get(4)?,
                sequence_in_turn: row.get(5)?,
                streamed: row.get(6)?,
            })
        })?)
}

/// An immediate message of a running turn, of which no part arrived: it can wait for the end of the turn.
fn has_a_batch(tx: &Transaction<'_>, row: &RowFacts, progress: Progress) -> Result<bool, StoreError> {
    match (&row.turn, row.epoch) {
        (Some(turn), Some(epoch)) if row.kind == Kind::Message && row.mode == Mode::Immediate && progress.part == 0 => {
            acting(tx, turn, epoch)
        }
        _ => Ok(false),
    }
}

/// The turn still works, so its batch has not been released.
fn acting(tx: &Transaction<'_>, turn: &TurnId, epoch: i64) -> Result<bool, StoreError> {
    Ok(tx
        .prepare_cached("SELECT 1 FROM turns WHERE id = ?1 AND epoch = ?2 AND state IN ('thinking', 'acting')")?
        .exists(params![turn, epoch])?)
}

fn set_state(tx: &Transaction<'_>, id: OutboundId, state: State, error: Option<&str>) -> Result<(), StoreError> {
    tx.prepare_cached("UPDATE outbound SET state = ?2, error = ?3 WHERE id = ?1")?.execute(params![
        id,
        state,
        error.map(redact)
    ])?;
    Ok(())
}

fn delivered(
    tx: &Transaction<'_>,
    now: Now,
    claimed: &Claimed,
    progress: Progress,
    row: &RowFacts,
    external_id: Option<&str>,
    edit_interval: Duration,
) -> Result<State, StoreError> {
    let done = progress.part + 1;
    let whole = done >= progress.total && !(row.streamed && finished_meanwhile(tx, claimed)?);
    let state = if whole { State::Delivered } else { State::Queued };
    tx.prepare_cached(
        "UPDATE outbound SET state = ?2, parts_done = ?3, parts_total = ?4, attempts = 0, error = NULL,
             external_ids = CASE WHEN ?5 IS NULL THEN external_ids ELSE json_insert(external_ids, '$[#]', ?5) END,
             delivered_at = CASE WHEN ?2 = 'delivered' THEN ?6 ELSE delivered_at END
         WHERE id = ?1",
    )?
    .execute(params![
        claimed.id,
        state,
        i64::try_from(done).unwrap_or(i64::MAX),
        i64::try_from(progress.total).unwrap_or(i64::MAX),
        external_id,
        now.wall
    ])?;
    if row.streamed {
        tx.prepare_cached("UPDATE outbound SET not_before_elapsed = ?2 WHERE id = ?1")?
            .execute(params![claimed.id, now.elapsed.plus(edit_interval)])?;
    }
    // An answer that grew was told of when its message appeared.
    if state == State::Queued || (row.streamed && row.sequence_in_turn.is_some()) {
        return Ok(state);
    }
    let sequence = match (&row.turn, row.sequence_in_turn) {
        (Some(turn), None) => Some(number_in_turn(tx, claimed.id, turn, row.epoch)?),
        (_, sequence) => sequence,
    };
    note(tx, now, claimed.id, claimed.conversation, row, State::Delivered, sequence)?;
    tracing::info!(
        outbound_id = claimed.id.0,
        conversation_id = claimed.conversation.0,
        turn_id = row.turn.as_ref().map(TurnId::as_str),
        delivery_mode = row.mode.as_str(),
        sequence_in_turn = sequence,
        delivered_at = now.wall.timestamp().to_string(),
        kind = row.kind.as_str(),
        parts = progress.total,
        "message delivered"
    );
    Ok(state)
}

/// The answer was finished while its beginning was on its way: its end is still to be shown.
fn finished_meanwhile(tx: &Transaction<'_>, claimed: &Claimed) -> Result<bool, StoreError> {
    Ok(tx
        .prepare_cached(
            "SELECT 1 FROM outbound o JOIN turns t ON t.id = o.turn_id
             WHERE o.id = ?1 AND o.content <> ?2 AND t.state = 'ended'",
        )?
        .exists(params![claimed.id, claimed.content])?)
}

/// Position among the deliveries of its turn, from 1, in the order they arrived.
fn number_in_turn(tx: &Transaction<'_>, id: OutboundId, turn: &TurnId, epoch: Option<i64>) -> Result<i64, StoreError> {
    Ok(tx
        .prepare_cached(
            "UPDATE outbound SET sequence_in_turn =
                 (SELECT COALESCE(MAX(sequence_in_turn), 0) + 1 FROM outbound WHERE turn_id = ?2 AND turn_epoch = ?3)
             WHERE id = ?1 RETURNING sequence_in_turn",
        )?
        .query_row(params![id, turn, epoch], |row| row.get(0))?)
}

/// An immediate message that could not leave joins its turn's batch, or is an error of the call.
fn not_immediate(
    tx: &Transaction<'_>,
    now: Now,
    claimed: &Claimed,
    row: &RowFacts,
    reason: &str,
    fall_back: bool,
) -> Result<State, StoreError> {
    if !fall_back {
        return end(tx, now, claimed, row, State::Failed, reason);
    }
    tx.prepare_cached(
        "UPDATE outbound SET state = 'held', mode = 'batched', fell_back = 1, queued_at = ?2, attempts = 0, error = ?3
         WHERE id = ?1",
    )?
    .execute(params![claimed.id, now.wall, redact(reason)])?;
    tracing::info!(outbound_id = claimed.id.0, reason = redact(reason), "message joins the batch of its turn");
    Ok(State::Held)
}

fn end(
    tx: &Transaction<'_>,
    now: Now,
    claimed: &Claimed,
    row: &RowFacts,
    state: State,
    reason: &str,
) -> Result<State, StoreError> {
    set_state(tx, claimed.id, state, Some(reason))?;
    note(tx, now, claimed.id, claimed.conversation, row, state, row.sequence_in_turn)?;
    tracing::warn!(
        outbound_id = claimed.id.0,
        conversation_id = claimed.conversation.0,
        turn_id = row.turn.as_ref().map(TurnId::as_str),
        state = state.as_str(),
        reason = redact(reason),
        "message not delivered"
    );
    Ok(state)
}

/// The row ends as `state`, for a reason that is no answer to its own request.
pub(super) fn mark(
    tx: &Transaction<'_>,
    now: Now,
    id: OutboundId,
    conversation: ConversationId,
    state: State,
    reason: &str,
) -> Result<(), StoreError> {
    let row = facts(tx, id)?;
    set_state(tx, id, state, Some(reason))?;
    note(tx, now, id, conversation, &row, state, row.sequence_in_turn)
}

fn note(
    tx: &Transaction<'_>,
    now: Now,
    id: OutboundId,
    conversation: ConversationId,
    row: &RowFacts,
    state: State,
    sequence: Option<i64>,
) -> Result<(), StoreError> {
    let mut entry = Entry::new(audit::Kind::MessageDelivered, Actor::System)
        .in_conversation(conversation)
        .detail("outbound_id", id.0)
        .detail("state", state.as_str())
        .detail("kind", row.kind.as_str())
        .detail("delivery_mode", row.mode.as_str())
        .detail("at", now.wall.timestamp().to_string());
    if let Some(turn) = &row.turn {
        entry = entry.in_turn(turn).detail("turn_id", turn.as_str());
    }
    if let Some(sequence) = sequence {
        entry = entry.detail("sequence_in_turn", sequence);
    }
    audit::append(tx, now, entry)?;
    Ok(())
}

fn refused(
    tx: &Transaction<'_>,
    now: Now,
    claimed: &Claimed,
    row: &RowFacts,
    reason: &str,
    kind: &SendRefusal,
    policy: &Policy,
) -> Result<State, StoreError> {
    match kind {
        SendRefusal::NotModified => {
            set_state(tx, claimed.id, State::Delivered, None)?;
            Ok(State::Delivered)
        }
        SendRefusal::Migrated { to } if *to != claimed.address.contact => {
            move_conversation(tx, claimed.conversation, to)?;
            set_state(tx, claimed.id, State::Queued, Some(reason))?;
            Ok(State::Queued)
        }
        SendRefusal::ThreadGone if !claimed.address.thread.is_empty() => {
            tx.execute(
                "UPDATE conversations SET unreachable = ?2 WHERE id = ?1",
                params![claimed.conversation, THREAD_GONE],
            )?;
            set_state(tx, claimed.id, State::Queued, Some(reason))?;
            if claimed.parts_done == 0 {
                let told = policy
                    .language
                    .pick("(The topic is gone, so I answer here.)", "(El tema ya no existe, así que respondo aquí.)");
                tx.execute(
                    "UPDATE outbound SET content = ?2 || char(10) || char(10) || content WHERE id = ?1",
                    params![claimed.id, told],
                )?;
            }
            Ok(State::Queued)
        }
        SendRefusal::Unreachable => {
            let reason = redact(reason);
            tx.execute(
                "UPDATE conversations SET unreachable = ?2 WHERE id = ?1",
                params![claimed.conversation, reason],
            )?;
            // What waits behind it goes nowhere either.
            tx.execute(
                "UPDATE outbound SET state = 'failed', error = ?2 WHERE conversation_id = ?1 AND state IN ('held', 'queued')",
                params![claimed.conversation, reason],
            )?;
            end(tx, now, claimed, row, State::Failed, &reason)
        }
        SendRefusal::Migrated { .. } | SendRefusal::ThreadGone | SendRefusal::Entities | SendRefusal::Other => {
            end(tx, now, claimed, row, State::Failed, reason)
        }
    }
}

/// The channel gave the chat a new id: its conversations go on there, one per topic. Where the new chat has been seen
/// already, what still waits to be sent goes to that conversation.
pub fn move_conversation(tx: &Transaction<'_>, from: ConversationId, to: &str) -> Result<(), StoreError> {
    let (channel, account, contact): (String, String, String) =
        tx.query_row("SELECT channel, account, contact FROM conversations WHERE id = ?1", [from], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?;
    tx.execute(
        "UPDATE OR IGNORE conversations SET contact = ?4, unreachable = NULL
         WHERE channel = ?1 AND account = ?2 AND contact = ?3",
        params![channel, account, contact, to],
    )?;
    let left: Vec<(ConversationId, ConversationId)> = tx
        .prepare(
            "SELECT old.id, new.id FROM conversations old JOIN conversations new
                 ON new.channel = old.channel AND new.account = old.account AND new.thread = old.thread AND new.contact = ?4
             WHERE old.channel = ?1 AND old.account = ?2 AND old.contact = ?3",
        )?
        .query_map(params![channel, account, contact, to], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    for (old, new) in left {
        let open: Vec<OutboundId> = tx
            .prepare(
                "SELECT id FROM outbound WHERE conversation_id = ?1 AND state IN ('held', 'queued', 'sending')
                 ORDER BY sequence",
            )?
            .query_map([old], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        for id in open {
            let sequence = super::enqueue::next_sequence(tx, new)?;
            tx.execute(
                "UPDATE outbound SET conversation_id = ?2, sequence = ?3 WHERE id = ?1",
                params![id, new, sequence],
            )?;
        }
    }
    Ok(())
}

/// At start: a message found `sending` may have arrived.
pub(super) fn recover(tx: &Transaction<'_>, now: Now) -> Result<usize, StoreError> {
    let found: Vec<(OutboundId, ConversationId)> = tx
        .prepare("SELECT id, conversation_id FROM outbound WHERE state = 'sending'")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    for (id, conversation) in &found {
        let row = facts(tx, *id)?;
        set_state(tx, *id, State::Uncertain, Some("the program ended while it was being sent"))?;
        note(tx, now, *id, *conversation, &row, State::Uncertain, row.sequence_in_turn)?;
    }
    Ok(found.len())
}
