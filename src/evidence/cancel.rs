//! Undo within the hold, and stop.

use rusqlite::Transaction;

use super::error::EvidenceError;
use super::machine::Event;
use super::row::{load, someone_accepted};
use super::settings::Settings;
use super::step::{Step, take};
use crate::audit::{Actor, Kind};
use crate::domain::effect::EffectState;
use crate::domain::ids::{ConversationId, EffectId};
use crate::domain::time::Now;

/// A person undoes what has not left. Use a durable transaction.
///
/// Errors: [`EvidenceError::Settled`] when it is leaving, gone, or waits for a decision.
pub fn cancel(
    tx: &Transaction<'_>,
    now: Now,
    settings: &Settings,
    id: &EffectId,
    who: &str,
) -> Result<EffectState, EvidenceError> {
    let mut row = load(tx, id)?;
    if !matches!(row.state, EffectState::Ready | EffectState::Retryable) {
        return Err(EvidenceError::Settled { effect: id.clone(), state: row.state });
    }
    let event = Event::Cancel { someone_accepted: someone_accepted(tx, id)? };
    let step = Step::new(event, Kind::EffectOutcome, Actor::Person(who.to_owned())).reason("cancelled by a person");
    take(tx, now, settings, &mut row, step)?;
    Ok(row.state)
}

/// What a stop did and found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StopEffects {
    /// Had not left: will not.
    pub cancelled: Vec<EffectId>,
    /// Leaving at this moment.
    pub sending: Vec<EffectId>,
    /// Wait for a person's OK, and go on waiting.
    pub waiting: Vec<EffectId>,
    /// May or may not have happened.
    pub unknown: Vec<EffectId>,
}

/// Stops what a conversation has not let out yet. Never undoes. Use a durable transaction.
pub fn cancel_conversation(
    tx: &Transaction<'_>,
    now: Now,
    settings: &Settings,
    conversation: ConversationId,
    who: &str,
) -> Result<StopEffects, EvidenceError> {
    let mut stopped = StopEffects::default();
    let live: Vec<EffectId> = {
        let mut statement = tx.prepare_cached(
            "SELECT id FROM effects
             WHERE state IN ('awaiting_approval', 'ready', 'dispatching', 'retryable', 'unknown') AND conversation_id = ?1
             ORDER BY created_at, id",
        )?;
        statement.query_map([conversation], |row| row.get(0))?.collect::<Result<_, _>>()?
    };
    for id in live {
        match load(tx, &id)?.state {
            EffectState::Ready | EffectState::Retryable => {
                // The answer to the stop names it: no outcome line beside it for this conversation.
                tx.prepare_cached("UPDATE effects SET told = 0 WHERE id = ?1")?.execute([&id])?;
                tx.prepare_cached("DELETE FROM effect_listeners WHERE effect_id = ?1 AND conversation_id = ?2")?
                    .execute(rusqlite::params![id, conversation])?;
                cancel(tx, now, settings, &id, who)?;
                stopped.cancelled.push(id);
            }
            EffectState::Dispatching => stopped.sending.push(id),
            EffectState::AwaitingApproval => stopped.waiting.push(id),
            EffectState::Unknown => stopped.unknown.push(id),
            EffectState::Accepted
            | EffectState::Rejected
            | EffectState::Denied
            | EffectState::Expired
            | EffectState::Cancelled
            | EffectState::Reverted => {}
        }
    }
    Ok(stopped)
}
