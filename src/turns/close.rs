//! The end of a turn in one transaction: open calls get their result, the answer goes to the outbox, bursts are answered.

use rusqlite::{Connection, Transaction, params};
use serde_json::json;

use super::ending::{Closing, Ending};
use super::error::TurnError;
use super::steps::{CorrectionReason, Step, ToolAnswer};
use super::store::{self, Turn};
use super::words;
use crate::audit::{self, Actor, Entry};
use crate::domain::chat::ToolCall;
use crate::domain::language::Language;
use crate::domain::time::Now;
use crate::outbox::{self, Kind, New};
use crate::store::StoreError;

/// Ends `turn` with `closing`, visibly. [`TurnError::Gone`] if another transaction ended or superseded it.
pub fn close(tx: &Transaction<'_>, now: Now, turn: &Turn, mut closing: Closing) -> Result<Closing, TurnError> {
    let steps = store::steps(tx, &turn.id, turn.epoch)?;
    let language = language(&steps);
    for call in open_calls(&steps) {
        let content = json!({ "status": "not_done", "message": "the turn ended before this call was answered; the recent actions say what was done" });
        let answer = Step::ToolResult(ToolAnswer { call_id: call.id, name: call.name, content, spoke: false });
        store::append_step(tx, now, &turn.id, turn.epoch, &answer, 0)?;
    }
    if let Some(reason) = &closing.reason
        && closing.text.is_empty()
        && matches!(closing.ending, Ending::Failed | Ending::Limited)
    {
        closing.text = words::ending(tx, &turn.id, reason, language)?;
    }
    match closing.ending {
        Ending::Answered | Ending::Failed | Ending::Limited => {
            outbox::release_batch(tx, &turn.id, turn.epoch)?;
            reply(tx, now, turn, &steps, &closing.text)?;
        }
        Ending::Stopped | Ending::Interrupted => {
            outbox::cancel_turn(tx, &turn.id, turn.epoch)?;
        }
    }
    store::append_step(tx, now, &turn.id, turn.epoch, &Step::Final(closing.clone()), 0)?;
    if !store::end(tx, now, &turn.id, closing.ending, closing.reason.as_ref())? {
        return Err(TurnError::Gone);
    }
    store::answer_bursts(tx, &turn.id)?;
    tx.prepare_cached("UPDATE conversations SET last_at = MAX(last_at, ?2) WHERE id = ?1")?
        .execute(params![turn.conversation, now.wall])?;
    let counts = deliveries(tx, turn)?;
    let mut entry = Entry::new(audit::Kind::TurnEnded, Actor::System)
        .in_conversation(turn.conversation)
        .in_turn(&turn.id)
        .detail("ending", closing.ending.as_str())
        .detail("epoch", turn.epoch)
        .detail("immediate", counts.0)
        .detail("batched", counts.1);
    if steps.iter().any(claimed_without_proof) {
        entry = entry.detail("unproven_claim", true);
    }
    audit::append(tx, now, entry)?;
    tracing::info!(
        turn_id = %turn.id, ending = closing.ending.as_str(), immediate = counts.0, batched = counts.1, "turn ended"
    );
    Ok(closing)
}

/// Hands over the final text, unless the same went to this conversation in this turn already.
fn reply(tx: &Transaction<'_>, now: Now, turn: &Turn, steps: &[Step], text: &str) -> Result<(), StoreError> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(());
    }
    let this = outbox::Turn { id: turn.id.clone(), epoch: turn.epoch };
    if outbox::finish(tx, now, &this, text)? {
        return Ok(());
    }
    let sent = outbox::delivered_texts(tx, &this, turn.conversation)?;
    if sent.iter().any(|earlier| earlier.trim() == text) {
        return Ok(());
    }
    let calls = steps.iter().filter(|step| matches!(step, Step::ToolResult(_))).count();
    let ordinal = i64::try_from(calls).unwrap_or(i64::MAX);
    let new = New::text(turn.conversation, Kind::Reply, text).in_turn(turn.id.clone(), turn.epoch, ordinal);
    outbox::enqueue(tx, now, new)?;
    Ok(())
}

/// The model was told that a claim of its answer has no record.
fn claimed_without_proof(step: &Step) -> bool {
    matches!(step, Step::Correction(correction) if correction.reason == CorrectionReason::UnprovenClaim)
}

/// Calls of the last reply that have no result.
pub fn open_calls(steps: &[Step]) -> Vec<ToolCall> {
    let mut open: Vec<ToolCall> = Vec::new();
    for step in steps {
        match step {
            Step::ModelReply(reply) => open.clone_from(&reply.calls),
            Step::ToolResult(answer) => open.retain(|call| call.id != answer.call_id),
            Step::Input(_) | Step::Summary(_) | Step::Correction(_) | Step::Final(_) => {}
        }
    }
    open
}

/// Of the request.
pub fn language(steps: &[Step]) -> Language {
    steps
        .iter()
        .rev()
        .find_map(|step| match step {
            Step::Input(input) => Some(input.language),
            Step::ModelReply(_) | Step::ToolResult(_) | Step::Summary(_) | Step::Correction(_) | Step::Final(_) => None,
        })
        .unwrap_or_default()
}

/// Messages of the turn by mode: (immediate, batched), the final reply not counted.
fn deliveries(connection: &Connection, turn: &Turn) -> Result<(i64, i64), StoreError> {
    Ok(connection
        .prepare_cached(
            "SELECT COALESCE(SUM(mode = 'immediate'), 0), COALESCE(SUM(mode = 'batched'), 0) FROM outbound
             WHERE turn_id = ?1 AND kind = 'message' AND state NOT IN ('failed', 'cancelled')",
        )?
        .query_row([&turn.id], |row| Ok((row.get(0)?, row.get(1)?)))?)
}
