//! Backup and restore.
//!
//! A backup is one file: a consistent copy of the database, made by SQLite while the program runs, with everything that
//! is needed to verify it. A restore replaces the database only when the program is stopped, and nothing that was under
//! way when the backup was made is done again by itself.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use crate::store::{DataFolder, StoreError};

#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("{} exists already: nothing was written", .0.display())]
    Exists(PathBuf),
    #[error("{} is not a backup of this program: {reason}", file.display())]
    NotABackup { file: PathBuf, reason: String },
    #[error("{context}: {source}")]
    Io { context: String, source: std::io::Error },
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn io(context: impl Into<String>) -> impl FnOnce(std::io::Error) -> BackupError {
    let context = context.into();
    move |source| BackupError::Io { context, source }
}

/// Copies the database into `target` (0600), whole or not at all. Works beside a running instance.
pub fn write_backup(folder: &DataFolder, target: &Path) -> Result<(), BackupError> {
    if target.symlink_metadata().is_ok() {
        return Err(BackupError::Exists(target.to_owned()));
    }
    let beside = target.with_extension("part");
    crate::store::secure_file(&beside)?;
    let copied = copy(&folder.database(), &beside);
    if copied.is_err() {
        // silent-ok: the copy failed; what is left of it is of no use.
        let _ = std::fs::remove_file(&beside);
    }
    copied?;
    std::fs::rename(&beside, target).map_err(io(format!("cannot name the backup {}", target.display())))?;
    Ok(())
}

/// Through SQLite's own backup, page by page in one snapshot, into an empty file of mode 0600.
fn copy(database: &Path, target: &Path) -> Result<(), BackupError> {
    let source = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(StoreError::from)?;
    source.busy_timeout(std::time::Duration::from_secs(5)).map_err(StoreError::from)?;
    let mut copy = Connection::open(target).map_err(StoreError::from)?;
    {
        // One step copies everything under one read lock: a writer meanwhile goes on in the WAL.
        let backup = rusqlite::backup::Backup::new(&source, &mut copy).map_err(StoreError::from)?;
        backup.run_to_completion(i32::MAX, std::time::Duration::from_millis(50), None).map_err(StoreError::from)?;
    }
    // A single file: no WAL beside a backup.
    copy.pragma_update(None, "journal_mode", "delete").map_err(StoreError::from)?;
    check(&copy, target)?;
    drop(copy);
    std::fs::File::open(target)
        .and_then(|file| file.sync_all())
        .map_err(io(format!("cannot sync {}", target.display())))?;
    Ok(())
}

/// The file is a whole database with our tables.
fn check(connection: &Connection, file: &Path) -> Result<(), BackupError> {
    let not_a_backup = |reason: String| BackupError::NotABackup { file: file.to_owned(), reason };
    let verdict: String = connection
        .query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))
        .map_err(|error| not_a_backup(error.to_string()))?;
    if verdict != "ok" {
        return Err(not_a_backup(verdict));
    }
    let ours: i64 = connection
        .query_row(
            "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ('effects', 'audit')",
            [],
            |row| row.get(0),
        )
        .map_err(|error| not_a_backup(error.to_string()))?;
    if ours == 2 { Ok(()) } else { Err(not_a_backup("its tables are missing".to_owned())) }
}

/// Puts the backup in the place of the database. The caller holds the instance lock and runs the restore rules next.
/// The database that was there is kept beside it as `unavez.db.before-restore`.
pub fn put_in_place(folder: &DataFolder, backup: &Path) -> Result<(), BackupError> {
    let source = Connection::open_with_flags(backup, OpenFlags::SQLITE_OPEN_READ_ONLY)
        .map_err(|error| BackupError::NotABackup { file: backup.to_owned(), reason: error.to_string() })?;
    check(&source, backup)?;
    drop(source);
    let database = folder.database();
    let beside = database.with_extension("db.restoring");
    // silent-ok: a copy that an earlier, broken restore left.
    let _ = std::fs::remove_file(&beside);
    crate::store::secure_file(&beside)?;
    copy(backup, &beside)?;
    if database.exists() {
        // What is only in the WAL belongs to the old database: bring it in before that is put aside.
        let old = Connection::open(&database).map_err(StoreError::from)?;
        let moved: Result<i64, rusqlite::Error> =
            old.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0));
        if let Err(error) = moved {
            tracing::warn!(%error, "the old database could not be tidied before it was put aside");
        }
        drop(old);
        let kept = database.with_extension("db.before-restore");
        std::fs::rename(&database, &kept).map_err(io("cannot put the old database aside"))?;
    }
    for part in ["db-wal", "db-shm"] {
        match std::fs::remove_file(database.with_extension(part)) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(io("cannot remove the old write-ahead log")(error)),
        }
    }
    std::fs::rename(&beside, &database).map_err(io("cannot put the backup in place"))?;
    Ok(())
}
