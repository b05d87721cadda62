//! What can be wrong with a schedule.

use crate::domain::when::WhenError;
use crate::store::StoreError;

#[derive(Debug, thiserror::Error)]
pub enum ScheduleError {
    /// For whoever wrote the rule.
    #[error("{rule:?} cannot be used: {reason}")]
    Rule { rule: String, reason: String },
    #[error(transparent)]
    Zone(#[from] WhenError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<rusqlite::Error> for ScheduleError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}
