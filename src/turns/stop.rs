//! Stop: a person's act, in the transaction of the inbox that received it.

use rusqlite::{Transaction, params};

use super::close;
use super::ending::{Closing, Ending, Reason};
use super::error::TurnError;
use super::prompt::describe;
use super::{store, words};
use crate::audit::{self, Actor, Entry};
use crate::domain::action::Action;
use crate::domain::ids::{ConversationId, TurnId};
use crate::domain::time::Now;
use crate::store::StoreError;

/// What a stop found, for the one line that answers it. Actions in short words.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct StopReport {
    /// The turn that was stopped.
    pub turn: Option<TurnId>,
    /// Queued requests that were discarded.
    pub discarded: usize,
    /// What that turn had already done.
    pub done: Vec<String>,
    /// What is on its way or in doubt in this conversation and cannot be called back.
    pub sending: Vec<String>,
    /// What waits for an OK in this conversation.
    pub waiting: Vec<String>,
}

/// Ends the running turn before its next effect and discards queued bursts. Undoes nothing.
/// The caller cancels `ready` and `retryable` effects and answers the person.
pub fn stop(
    tx: &Transaction<'_>,
    now: Now,
    conversation: ConversationId,
    actor: &Actor,
) -> Result<StopReport, StoreError> {
    let mut report = StopReport::default();
    for burst in store::queued_in(tx, conversation)? {
        store::discard_burst(tx, burst, "stopped")?;
        report.discarded += 1;
    }
    if let Some(turn) = store::running_in(tx, conversation)? {
        tx.prepare_cached("UPDATE turns SET stop_requested = 1 WHERE id = ?1")?.execute([&turn.id])?;
        let closing = Closing { ending: Ending::Stopped, text: String::new(), reason: Some(Reason::StoppedByPerson) };
        match close::close(tx, now, &turn, closing) {
            Ok(_) | Err(TurnError::Gone) => {}
            Err(TurnError::Store(error)) => return Err(error),
            // `close` runs no machine; were it to, an ended turn would be the right result too.
            Err(TurnError::Illegal(error)) => tracing::warn!(%error, turn_id = %turn.id, "stop met a fault"),
        }
        report.done = words::effects(tx, &turn.id, "state = 'accepted'")?;
        report.turn = Some(turn.id);
    }
    report.sending = open(tx, conversation, "state IN ('dispatching', 'unknown')")?;
    report.waiting = open(tx, conversation, "state = 'awaiting_approval'")?;
    let mut entry = Entry::new(audit::Kind::Stopped, actor.clone())
        .in_conversation(conversation)
        .detail("discarded", report.discarded);
    if let Some(turn) = &report.turn {
        entry = entry.in_turn(turn);
    }
    audit::append(tx, now, entry)?;
    Ok(report)
}

fn open(tx: &Transaction<'_>, conversation: ConversationId, condition: &str) -> Result<Vec<String>, StoreError> {
    let mut statement = tx.prepare_cached(&format!(
        "SELECT action FROM effects WHERE conversation_id = ?1 AND {condition} ORDER BY created_at, id"
    ))?;
    let actions = statement.query_map(params![conversation], |row| row.get::<_, String>(0))?;
    let actions = actions.collect::<Result<Vec<_>, _>>()?;
    actions.iter().map(|action| Ok(describe(&serde_json::from_str::<Action>(action)?))).collect()
}
