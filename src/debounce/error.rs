//! What can go wrong when a buffer is flushed.

use crate::store::StoreError;

#[derive(Debug, thiserror::Error)]
pub enum DebounceError {
    /// Nothing was merged; the flush is tried again.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<rusqlite::Error> for DebounceError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}
