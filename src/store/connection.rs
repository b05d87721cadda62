//! The data folder and connections to its database. Folder 0700, files 0600.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::error::StoreError;

/// Where everything of one installation lives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataFolder(PathBuf);

impl DataFolder {
    /// Creates the folder (0700) if it is missing.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let folder = Self(path.into());
        folder.private_folder(&folder.0)?;
        for part in ["files", "maildir", "logs"] {
            folder.private_folder(&folder.0.join(part))?;
        }
        Ok(folder)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
    pub fn database(&self) -> PathBuf {
        self.0.join("unavez.db")
    }
    pub fn control_socket(&self) -> PathBuf {
        self.0.join("control.sock")
    }
    pub fn lock_file(&self) -> PathBuf {
        self.0.join("lock")
    }
    /// Attachments by SHA-256.
    pub fn files(&self) -> PathBuf {
        self.0.join("files")
    }
    pub fn maildir(&self) -> PathBuf {
        self.0.join("maildir")
    }
    pub fn logs(&self) -> PathBuf {
        self.0.join("logs")
    }
    /// Anchored head of the audit chain where there is no keychain.
    pub fn audit_anchor(&self) -> PathBuf {
        self.0.join("audit-anchor.json")
    }

    fn private_folder(&self, path: &Path) -> Result<(), StoreError> {
        let io = |source| StoreError::Io { context: format!("cannot use the folder {}", path.display()), source };
        std::fs::create_dir_all(path).map_err(io)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700)).map_err(io)?;
        }
        Ok(())
    }
}

/// Creates `path` with mode 0600 if it is missing, and narrows its mode otherwise. Refuses a symbolic link.
pub fn secure_file(path: &Path) -> Result<(), StoreError> {
    let io = |source| StoreError::Io { context: format!("cannot use the file {}", path.display()), source };
    if path.symlink_metadata().is_ok_and(|meta| meta.file_type().is_symlink()) {
        return Err(io(std::io::Error::other("it is a symbolic link")));
    }
    let mut options = std::fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
        let file = options.mode(0o600).open(path).map_err(io)?;
        file.set_permissions(std::fs::Permissions::from_mode(0o600)).map_err(io)?;
    }
    #[cfg(not(unix))]
    options.open(path).map_err(io)?;
    Ok(())
}

pub(super) fn open_writer(database: &Path) -> Result<Connection, StoreError> {
    secure_file(database)?;
    let connection = Connection::open(database)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    // WAL and its index inherit the database file's mode.
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // 4 MB of pages per connection are plenty for index walks and keep the idle memory small.
    connection.pragma_update(None, "cache_size", -4_000)?;
    connection.pragma_update(None, "journal_size_limit", 16 * 1024 * 1024)?;
    Ok(connection)
}

pub(super) fn open_reader(database: &Path) -> Result<Connection, StoreError> {
    let connection = Connection::open_with_flags(
        database,
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI,
    )?;
    connection.busy_timeout(Duration::from_secs(5))?;
    connection.pragma_update(None, "cache_size", -2_000)?;
    Ok(connection)
}
