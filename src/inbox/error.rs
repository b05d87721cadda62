//! What can go wrong when an input is accepted.

use crate::debounce::DebounceError;
use crate::store::StoreError;

#[derive(Debug, thiserror::Error)]
pub enum InboxError {
    /// Nothing was accepted; the same input may be given again.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A later stage refused what a command or a button asked for.
    #[error("{0}")]
    Act(String),
}

impl InboxError {
    /// The input itself is at fault, so that trying it again is of no use.
    pub fn is_poison(&self) -> bool {
        match self {
            Self::Store(StoreError::Sqlite(_) | StoreError::Unreadable { .. }) | Self::Act(_) => true,
            Self::Store(_) => false,
        }
    }
}

impl From<rusqlite::Error> for InboxError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

impl From<DebounceError> for InboxError {
    fn from(error: DebounceError) -> Self {
        match error {
            DebounceError::Store(error) => Self::Store(error),
        }
    }
}
