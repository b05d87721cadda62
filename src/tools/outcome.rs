//! Waiting for an admitted effect, and its outcome as the model reads it.

use std::time::Duration;

use serde_json::{Value, json};

use super::context::CallContext;
use crate::domain::effect::EffectState;
use crate::domain::ids::EffectId;
use crate::domain::ports::Clock;
use crate::evidence::{self, EffectRow, EvidenceError};
use crate::guard;
use crate::store::{Durability, Store, StoreError, Table};

/// How long a call waits for its effect (SPEC §4).
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits until the effect has an outcome. What has none in time is told later, by a line of its own.
pub async fn wait(
    store: &Store,
    clock: &dyn Clock,
    effect: &EffectId,
    context: &CallContext,
) -> Result<Value, StoreError> {
    let watch = store.watch(&[Table::Effects]);
    let until = clock.now().elapsed.plus(PATIENCE);
    loop {
        let row = load(store, effect).await?;
        let left = until.since(clock.now().elapsed);
        if is_settled(&row) || left.is_zero() {
            return told(store, effect, context).await;
        }
        tokio::select! {
            _ = watch.changed() => {}
            () = clock.sleep(left) => {}
        }
    }
}

/// Nothing more will happen soon: backing off and in doubt count, for both take longer than a call may.
fn is_settled(row: &EffectRow) -> bool {
    match row.state {
        EffectState::Ready | EffectState::Dispatching => false,
        EffectState::AwaitingApproval
        | EffectState::Retryable
        | EffectState::Unknown
        | EffectState::Accepted
        | EffectState::Rejected
        | EffectState::Denied
        | EffectState::Expired
        | EffectState::Cancelled
        | EffectState::Reverted => true,
    }
}

async fn load(store: &Store, effect: &EffectId) -> Result<EffectRow, StoreError> {
    let id = effect.clone();
    store.read(move |connection| read(connection, &id)).await
}

fn read(connection: &rusqlite::Connection, id: &EffectId) -> Result<EffectRow, StoreError> {
    match evidence::load(connection, id) {
        Ok(row) => Ok(row),
        Err(EvidenceError::Store(error)) => Err(error),
        Err(error) => Err(StoreError::Unreadable { what: "effect", reason: error.to_string() }),
    }
}

/// `waiting` for an effect that does wait; this conversation gets its outcome line. The outcome itself,
/// if it was decided and done meanwhile.
pub async fn waiting(
    store: &Store,
    effect: &EffectId,
    context: &CallContext,
    waiting: Value,
) -> Result<Value, StoreError> {
    let (id, zone) = (effect.clone(), context.zone.clone());
    store
        .write("effects.tell", Durability::Normal, move |tx| {
            let row = read(tx, &id)?;
            if row.state.is_live() {
                evidence::tell(tx, &id)?;
                return Ok(waiting);
            }
            Ok(words(&row, &zone))
        })
        .await
}

/// The result by the row as it stands now; whoever is told to wait is noted in the same transaction.
async fn told(store: &Store, effect: &EffectId, context: &CallContext) -> Result<Value, StoreError> {
    let (id, zone) = (effect.clone(), context.zone.clone());
    store
        .write("effects.outcome", Durability::Normal, move |tx| {
            let row = read(tx, &id)?;
            if row.state.is_live() {
                evidence::tell(tx, &id)?;
            }
            Ok(words(&row, &zone))
        })
        .await
}

fn words(row: &EffectRow, zone: &jiff::tz::TimeZone) -> Value {
    let reason = row.last_error.clone().unwrap_or_else(|| "no reason given".to_owned());
    match row.state {
        EffectState::Accepted | EffectState::Reverted => {
            let mut content = json!({
                "status": "done",
                "effect": row.id,
                "summary": row.summary,
                "done_at": row.accepted_at.map(|at| at.rfc3339(zone)),
                "receipt": row.receipt.as_ref().map(guard::words::receipt_words),
            });
            if let Some(id) = &row.provider_id {
                content["event_id"] = json!(id);
            }
            if row.partial {
                content["partial"] = json!(true);
            }
            content
        }
        EffectState::Rejected => json!({
            "status": "failed", "effect": row.id, "reason": reason,
            "note": "It was not done. Tell the user; try again only with something changed.",
        }),
        EffectState::Ready | EffectState::Dispatching => json!({
            "status": "in_progress", "effect": row.id,
            "note": "It is under way and not confirmed yet. Do not call again: the user gets one line with the outcome.",
        }),
        EffectState::Retryable => json!({
            "status": "queued", "effect": row.id, "reason": reason,
            "note": "It did not work yet and is tried again by itself. Do not call again: the user gets one line with the outcome.",
        }),
        EffectState::Unknown => json!({
            "status": "unknown", "effect": row.id, "reason": reason,
            "note": "It may or may not have happened; this is being checked. Do not call again: the user gets one line with the outcome.",
        }),
        EffectState::AwaitingApproval => json!({
            "status": "queued_for_approval", "effect": row.id,
            "note": "It waits for the user's OK. Do not call again.",
        }),
        EffectState::Denied | EffectState::Expired | EffectState::Cancelled => json!({
            "status": "cancelled", "effect": row.id,
            "note": "It was cancelled before anything was done.",
        }),
    }
}
