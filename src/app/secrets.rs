//! Every secret in use goes through here: its first use is audited by name, and what the keychain says is remembered.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use secrecy::SecretString;

use super::health::Observed;
use crate::audit::{self, Actor, Entry, Kind};
use crate::domain::ports::{Clock, SecretError, Secrets};
use crate::runtime::secrets::{Secret, SecretRef};
use crate::store::{Durability, Store, StoreError};

/// Secrets by their dotted key, watched.
pub(super) struct WatchedSecrets {
    inner: Arc<dyn Secrets>,
    observed: Observed,
    store: Store,
    clock: Arc<dyn Clock>,
    /// Names that this run has used already.
    used: Mutex<HashSet<String>>,
}

impl WatchedSecrets {
    pub(super) fn new(inner: Arc<dyn Secrets>, observed: Observed, store: Store, clock: Arc<dyn Clock>) -> Self {
        Self { inner, observed, store, clock, used: Mutex::default() }
    }

    fn seen<T>(&self, result: Result<T, SecretError>) -> Result<T, SecretError> {
        match &result {
            Err(error @ (SecretError::Unavailable { .. } | SecretError::Locked { .. })) => self.observed.failed(error),
            Ok(_) => self.observed.ok(),
            // An answer about one entry.
            Err(SecretError::Missing { .. } | SecretError::Empty { .. } | SecretError::Invalid { .. }) => {}
        }
        result
    }

    async fn tell(&self, name: &str) {
        let first = self.used.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
        if !first {
            return;
        }
        let (now, entry) = (self.clock.now(), Entry::new(Kind::SecretUsed, Actor::System).detail("name", name));
        let written: Result<(), StoreError> = self
            .store
            .write("secrets.used", Durability::Normal, move |tx| audit::append(tx, now, entry).map(|_| ()))
            .await;
        if let Err(error) = written {
            tracing::warn!(%error, name, "the use of a secret could not be written down");
            self.used.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
        }
    }
}

#[async_trait]
impl Secrets for WatchedSecrets {
    async fn get(&self, name: &str) -> Result<SecretString, SecretError> {
        let value = self.seen(self.inner.get(name).await)?;
        self.tell(name).await;
        Ok(value)
    }

    async fn set(&self, name: &str, value: SecretString) -> Result<(), SecretError> {
        self.seen(self.inner.set(name, value).await)
    }

    async fn delete(&self, name: &str) -> Result<(), SecretError> {
        self.seen(self.inner.delete(name).await)
    }
}

/// The secret under `name`, read from where the configuration says (`reference`) through the watched store of all.
pub(super) fn secret(name: &str, reference: &SecretRef, watched: &Arc<dyn Secrets>) -> Secret {
    let source = match reference {
        SecretRef::None => SecretRef::None,
        // The watched store knows the way.
        SecretRef::Keychain | SecretRef::Env(_) | SecretRef::File(_) => SecretRef::Keychain,
    };
    Secret::new(name, source, watched.clone())
}
