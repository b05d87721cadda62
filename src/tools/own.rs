//! Tools that keep something of the program's own: under the turn's fence, because a rollback would do it twice.

use rusqlite::{Transaction, params};

use super::context::{CallContext, CallError};
use crate::store::StoreError;

/// Fences the turn; [`CallError::TurnGone`] if it was stopped, superseded or has ended.
pub fn fence(tx: &Transaction<'_>, context: &CallContext) -> Result<(), CallError> {
    let changed = tx
        .prepare_cached(
            "UPDATE turns SET fenced = 1 WHERE id = ?1 AND epoch = ?2 AND stop_requested = 0 AND state <> 'ended'",
        )
        .and_then(|mut statement| statement.execute(params![context.turn, context.epoch]))
        .map_err(StoreError::from)?;
    if changed == 0 { Err(CallError::TurnGone) } else { Ok(()) }
}
