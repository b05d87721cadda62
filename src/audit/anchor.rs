//! Anchored heads: where the log stood, kept outside the database, so that a cut tail shows.
//!
//! In the keychain where there is one, else in a file of mode 0600 in the data folder. Only synced entries are anchored:
//! a power cut must not look like a cut tail.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use secrecy::ExposeSecret;

use super::query::head;
use super::verify::Anchor;
use crate::domain::ports::{Clock, SecretError, Secrets};
use crate::store::{Durability, Store, StoreError, Table, meta, secure_file};

const NAME: &str = "audit.anchor";

/// After a change the log is anchored this much later, so that a busy minute costs one write outside.
const SETTLE: std::time::Duration = std::time::Duration::from_secs(60);

/// Keeps and gives back the anchored head.
#[derive(Clone)]
pub struct Anchors {
    file: PathBuf,
    keychain: Option<Arc<dyn Secrets>>,
}

#[derive(Debug, thiserror::Error)]
pub enum AnchorError {
    #[error("the anchored head cannot be read: {0}")]
    Unreadable(String),
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the anchored head cannot be written: {0}")]
    Io(#[from] std::io::Error),
}

impl Anchors {
    /// `keychain`: `None` keeps the head in `file` only.
    pub fn new(file: PathBuf, keychain: Option<Arc<dyn Secrets>>) -> Self {
        Self { file, keychain }
    }

    /// The newest head that was kept, if any.
    pub async fn load(&self) -> Result<Option<Anchor>, AnchorError> {
        let in_file = read_file(&self.file)?;
        let Some(keychain) = &self.keychain else { return Ok(in_file) };
        match keychain.get(NAME).await {
            Ok(text) => {
                let kept: Anchor = serde_json::from_str(text.expose_secret())
                    .map_err(|error| AnchorError::Unreadable(error.to_string()))?;
                // The file serves while the keychain is away, so the later of the two counts.
                Ok(Some(match in_file {
                    Some(file) if file.seq > kept.seq => file,
                    Some(_) | None => kept,
                }))
            }
            Err(SecretError::Missing { .. } | SecretError::Unavailable { .. } | SecretError::Locked { .. }) => {
                Ok(in_file)
            }
            Err(error @ (SecretError::Empty { .. } | SecretError::Invalid { .. })) => Err(error.into()),
        }
    }

    pub async fn keep(&self, anchor: &Anchor) -> Result<(), AnchorError> {
        let text = serde_json::to_string(anchor).map_err(|error| AnchorError::Unreadable(error.to_string()))?;
        if let Some(keychain) = &self.keychain {
            match keychain.set(NAME, text.clone().into()).await {
                Ok(()) => return Ok(()),
                Err(SecretError::Unavailable { .. } | SecretError::Locked { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        write_file(&self.file, &text)?;
        Ok(())
    }

    /// Keeps the present head in the place of whatever was kept: after a restore, which is an act of a person.
    pub async fn reset(&self, store: &Store, clock: &dyn Clock) -> Result<Option<Anchor>, AnchorError> {
        match std::fs::remove_file(&self.file) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error.into()),
        }
        self.anchor(store, clock).await
    }

    /// Syncs the log and keeps its head. Returns it.
    pub async fn anchor(&self, store: &Store, clock: &dyn Clock) -> Result<Option<Anchor>, AnchorError> {
        let at = clock.now().wall.0;
        // The full commit puts every entry up to this one on disk.
        let kept = store
            .write("audit.anchor", Durability::Full, move |transaction| {
                let Some((seq, hash)) = head(transaction)? else { return Ok(None) };
                let anchor = Anchor { seq, hash, at };
                meta::set(transaction, "audit_anchored", &anchor)?;
                Ok::<_, StoreError>(Some(anchor))
            })
            .await?;
        if let Some(anchor) = &kept {
            self.keep(anchor).await?;
        }
        Ok(kept)
    }
}

fn read_file(path: &Path) -> Result<Option<Anchor>, AnchorError> {
    match std::fs::read_to_string(path) {
        Ok(text) => serde_json::from_str(&text).map(Some).map_err(|error| AnchorError::Unreadable(error.to_string())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn write_file(path: &Path, text: &str) -> Result<(), AnchorError> {
    let beside = path.with_extension("new");
    secure_file(&beside)?;
    let mut file = std::fs::File::options().write(true).truncate(true).open(&beside)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&beside, path)?;
    Ok(())
}

/// Anchors the log some time after it grew.
pub struct AnchorWorker {
    pub anchors: Anchors,
    pub store: Store,
    pub clock: Arc<dyn Clock>,
}

impl AnchorWorker {
    pub async fn run(self) {
        let watch = self.store.watch(&[Table::Audit]);
        loop {
            watch.changed().await;
            self.clock.sleep(SETTLE).await;
            if let Err(error) = self.anchors.anchor(&self.store, &*self.clock).await {
                tracing::warn!(%error, "the audit log could not be anchored");
            }
        }
    }
}
