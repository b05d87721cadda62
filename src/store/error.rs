//! What can go wrong with the database, by what a caller does about it.

use std::path::PathBuf;

use crate::runtime::failpoint;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process holds the database; the write was not done and may be tried again.
    #[error("the database is locked by another program")]
    Locked,
    #[error("the disk is full: nothing was written")]
    DiskFull,
    #[error("the data folder cannot be written to: {0}")]
    NotWritable(String),
    #[error("the database is damaged: {0}")]
    Damaged(String),
    /// Written by a newer version of the program.
    #[error(
        "the database has version {found}, this program knows {known}: start the newer program, or restore an older backup"
    )]
    Newer { found: i64, known: i64 },
    #[error("migration {version} was changed after it was applied")]
    MigrationChanged { version: i64 },
    #[error("another instance uses the data folder {0}")]
    InUse(PathBuf),
    #[error("the store was stopped")]
    Stopped,
    /// The closure panicked; its transaction was rolled back.
    #[error("a write failed unexpectedly: {0}")]
    Panicked(String),
    #[error("{context}: {source}")]
    Io { context: String, source: std::io::Error },
    #[error("stored {what} cannot be read: {reason}")]
    Unreadable { what: &'static str, reason: String },
    #[error(transparent)]
    Failpoint(#[from] failpoint::Failed),
    #[error("database: {0}")]
    Sqlite(rusqlite::Error),
}

impl StoreError {
    /// The same call may work in a moment.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Locked | Self::DiskFull | Self::Failpoint(_))
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode;
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked,
            Some(ErrorCode::DiskFull) => Self::DiskFull,
            Some(
                ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::SystemIoFailure,
            ) => Self::NotWritable(error.to_string()),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Damaged(error.to_string()),
            _ => Self::Sqlite(error),
        }
    }
}

impl From<serde_json::Error> for StoreError {
    fn from(error: serde_json::Error) -> Self {
        Self::Unreadable { what: "JSON", reason: error.to_string() }
    }
}
