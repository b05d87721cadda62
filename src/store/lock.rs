//! One instance per data folder. The kernel drops the lock with the process, so none goes stale.

use std::fs::{File, TryLockError};

use super::connection::{DataFolder, secure_file};
use super::error::StoreError;

/// Held for as long as it lives.
#[derive(Debug)]
pub struct InstanceLock(#[allow(dead_code, reason = "dropping the file drops the lock")] File);

impl InstanceLock {
    pub fn take(folder: &DataFolder) -> Result<Self, StoreError> {
        let path = folder.lock_file();
        secure_file(&path)?;
        let io = |source| StoreError::Io { context: format!("cannot lock {}", path.display()), source };
        let file = File::options().write(true).open(&path).map_err(io)?;
        match file.try_lock() {
            Ok(()) => Ok(Self(file)),
            Err(TryLockError::WouldBlock) => Err(StoreError::InUse(folder.path().to_owned())),
            Err(TryLockError::Error(error)) => Err(io(error)),
        }
    }
}
