//! Who is told how it ended: the conversation of the effect and those that asked for the same thing meanwhile.

use rusqlite::{Connection, Transaction, params};

use super::row::EffectRow;
use super::settings::Settings;
use super::words;
use crate::domain::effect::EffectState;
use crate::domain::ids::{ConversationId, EffectId};
use crate::domain::time::Now;
use crate::outbox;
use crate::store::StoreError;

/// The effect's own conversation was told to wait: it wants the outcome line.
pub fn tell(tx: &Transaction<'_>, effect: &EffectId) -> Result<(), StoreError> {
    tx.prepare_cached("UPDATE effects SET told = 1 WHERE id = ?1 AND told = 0")?.execute([effect])?;
    Ok(())
}

/// `conversation` was told that this effect is queued, pending or in progress, and wants the outcome line.
pub fn listen(tx: &Transaction<'_>, effect: &EffectId, conversation: ConversationId) -> Result<(), StoreError> {
    tx.prepare_cached(
        "INSERT INTO effect_listeners (effect_id, conversation_id) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
    )?
    .execute(params![effect, conversation])?;
    Ok(())
}

/// Every conversation that waits for this effect.
pub(super) fn waiting(connection: &Connection, row: &EffectRow) -> Result<Vec<ConversationId>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT conversation_id FROM effect_listeners WHERE effect_id = ?1
         UNION SELECT conversation_id FROM effects WHERE id = ?1 AND told = 1 AND conversation_id IS NOT NULL
         ORDER BY 1",
    )?;
    let found = statement.query_map([&row.id], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(found)
}

/// One line where the new state is an end. `unknown` is told by the reconciliation, when the first look found nothing.
pub(super) fn outcome(tx: &Transaction<'_>, now: Now, settings: &Settings, row: &EffectRow) -> Result<(), StoreError> {
    match row.state {
        EffectState::Accepted
        | EffectState::Rejected
        | EffectState::Denied
        | EffectState::Expired
        | EffectState::Cancelled => line(tx, now, settings, row),
        EffectState::AwaitingApproval
        | EffectState::Ready
        | EffectState::Dispatching
        | EffectState::Retryable
        | EffectState::Unknown
        | EffectState::Reverted => Ok(()),
    }
}

/// The line for the row's state, to everyone who waits.
pub(super) fn line(tx: &Transaction<'_>, now: Now, settings: &Settings, row: &EffectRow) -> Result<(), StoreError> {
    let listeners = waiting(tx, row)?;
    if listeners.is_empty() {
        return Ok(());
    }
    let recipients = super::row::recipients(tx, &row.id)?;
    let text = words::outcome_line(row, &recipients, settings.language, &settings.zone);
    for conversation in listeners {
        outbox::enqueue_notice(tx, now, conversation, text.clone())?;
    }
    Ok(())
}
