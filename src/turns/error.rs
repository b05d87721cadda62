//! What can go wrong in a turn, by what the worker does about it.

use super::machine::IllegalTransition;
use crate::store::StoreError;
use crate::tools::CallError;

#[derive(Debug, thiserror::Error)]
pub enum TurnError {
    /// Stopped, ended or superseded by another transaction: whoever holds it lets go.
    #[error("the turn is no longer running")]
    Gone,
    /// Tried again after a pause; the rows say where to go on.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A fault of the program: the turn ends visibly.
    #[error(transparent)]
    Illegal(#[from] IllegalTransition),
}

impl From<rusqlite::Error> for TurnError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

impl From<serde_json::Error> for TurnError {
    fn from(error: serde_json::Error) -> Self {
        Self::Store(error.into())
    }
}

impl From<CallError> for TurnError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::TurnGone => Self::Gone,
            CallError::Store(error) => Self::Store(error),
        }
    }
}
