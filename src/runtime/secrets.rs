//! Where secrets come from: the OS keychain, an environment variable, a file of mode 0600, or memory (tests, replays).
//!
//! In: a [`SecretRef`] from the configuration. Out: the value at the moment of use, so that a keychain that is unlocked
//! later works without a restart. Every value read is masked in logs from then on.
//! Invariants: an absent keychain, a locked one and an empty answer are three different errors, and none of them means
//! "no account"; nothing here falls back to plain text by itself.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use secrecy::{ExposeSecret, SecretString};

use super::redact::remember_secret;
use crate::domain::ports::{SecretError, Secrets};

/// Name of this program in the keychain.
pub const KEYCHAIN_SERVICE: &str = "unavez";

/// A locked keychain shows its own window; a person who is away must not hold a worker for ever.
const UNLOCK_WAIT: Duration = Duration::from_secs(30);

/// Where a secret is, never the secret.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SecretRef {
    Keychain,
    /// Name of an environment variable.
    Env(String),
    /// Path of a file with mode 0600.
    File(PathBuf),
    /// There is none and none is needed.
    None,
}

/// A secret that an edge may ask for when it needs it.
#[derive(Clone)]
pub struct Secret {
    name: String,
    source: SecretRef,
    keychain: Arc<dyn Secrets>,
}

impl Secret {
    /// `name` is the dotted configuration key, under which the keychain holds it.
    pub fn new(name: impl Into<String>, source: SecretRef, keychain: Arc<dyn Secrets>) -> Self {
        Self { name: name.into(), source, keychain }
    }

    /// A value given at once, for tests and replays.
    pub fn fixed(name: impl Into<String>, value: &str) -> Self {
        let name = name.into();
        let keychain = MemorySecrets::with([(name.as_str(), value)]);
        Self { name, source: SecretRef::Keychain, keychain: Arc::new(keychain) }
    }

    /// No secret at all.
    pub fn none(name: impl Into<String>) -> Self {
        Self { name: name.into(), source: SecretRef::None, keychain: Arc::new(MemorySecrets::default()) }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn source(&self) -> &SecretRef {
        &self.source
    }

    /// The value now; `None` when the configuration says that there is none.
    pub async fn read(&self) -> Result<Option<SecretString>, SecretError> {
        let value = match &self.source {
            SecretRef::None => return Ok(None),
            SecretRef::Keychain => self.keychain.get(&self.name).await?,
            SecretRef::Env(variable) => from_environment(&self.name, variable)?,
            SecretRef::File(path) => from_file(&self.name, path)?,
        };
        remember_secret(value.expose_secret());
        Ok(Some(value))
    }

    /// The value now; an error when there is none.
    pub async fn require(&self) -> Result<SecretString, SecretError> {
        self.read().await?.ok_or_else(|| SecretError::Missing { name: self.name.clone() })
    }
}

/// Secrets by configuration key, each from where the configuration says; other names are the keychain's.
pub struct ConfiguredSecrets {
    references: HashMap<String, SecretRef>,
    keychain: Arc<dyn Secrets>,
}

impl ConfiguredSecrets {
    pub fn new(references: HashMap<String, SecretRef>, keychain: Arc<dyn Secrets>) -> Self {
        Self { references, keychain }
    }

    fn source(&self, name: &str) -> SecretRef {
        self.references.get(name).cloned().unwrap_or(SecretRef::Keychain)
    }
}

#[async_trait]
impl Secrets for ConfiguredSecrets {
    async fn get(&self, name: &str) -> Result<SecretString, SecretError> {
        Secret::new(name, self.source(name), self.keychain.clone()).require().await
    }

    async fn set(&self, name: &str, value: SecretString) -> Result<(), SecretError> {
        match self.source(name) {
            SecretRef::Keychain => self.keychain.set(name, value).await,
            SecretRef::Env(_) | SecretRef::File(_) | SecretRef::None => Err(elsewhere(name)),
        }
    }

    async fn delete(&self, name: &str) -> Result<(), SecretError> {
        match self.source(name) {
            SecretRef::Keychain => self.keychain.delete(name).await,
            SecretRef::Env(_) | SecretRef::File(_) | SecretRef::None => Err(elsewhere(name)),
        }
    }
}

fn elsewhere(name: &str) -> SecretError {
    SecretError::Invalid { reason: format!("the configuration says that {name} is not in the keychain") }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secret").field("name", &self.name).field("source", &self.source).finish_non_exhaustive()
    }
}

fn from_environment(name: &str, variable: &str) -> Result<SecretString, SecretError> {
    match std::env::var(variable) {
        Ok(value) if value.is_empty() => Err(SecretError::Empty { name: name.to_owned() }),
        Ok(value) => Ok(value.into()),
        Err(std::env::VarError::NotPresent) => Err(SecretError::Missing { name: format!("{name} (${variable})") }),
        Err(std::env::VarError::NotUnicode(_)) => {
            Err(SecretError::Invalid { reason: format!("${variable} is not text") })
        }
    }
}

fn from_file(name: &str, path: &Path) -> Result<SecretString, SecretError> {
    let shown = path.display();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(path).map(|meta| meta.permissions().mode() & 0o777);
        if let Ok(mode) = mode
            && mode & 0o077 != 0
        {
            let reason = format!("{shown} can be read by others (mode {mode:04o}): chmod 600 {shown}");
            return Err(SecretError::Invalid { reason });
        }
    }
    match std::fs::read_to_string(path) {
        Ok(text) if text.trim().is_empty() => Err(SecretError::Empty { name: name.to_owned() }),
        Ok(text) => Ok(text.trim().into()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(SecretError::Missing { name: format!("{name} ({shown})") })
        }
        Err(error) => Err(SecretError::Invalid { reason: format!("{shown} cannot be read: {error}") }),
    }
}

/// The operating system's keychain. It is asked anew each time, so unlocking it later is enough.
#[derive(Default)]
pub struct Keychain {
    /// One question at a time: an unlock window left open blocks further ones instead of piling them up.
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl Keychain {
    async fn ask<T: Send + 'static>(
        &self,
        name: &str,
        question: impl FnOnce(&keyring_core::Entry) -> keyring_core::Result<T> + Send + 'static,
    ) -> Result<T, SecretError> {
        let name = name.to_owned();
        let turn = self.turn.clone();
        let asked = async move {
            let held = turn.lock_owned().await;
            let answer = tokio::task::spawn_blocking(move || {
                let _held = held;
                let store = platform_store().map_err(|error| store_error(&name, error))?;
                keyring_core::Entry::new_in_store(&store, KEYCHAIN_SERVICE, &name)
                    .and_then(|entry| question(&entry))
                    .map_err(|error| entry_error(&name, error))
            });
            answer.await.unwrap_or_else(|error| Err(SecretError::Unavailable { reason: error.to_string() }))
        };
        match tokio::time::timeout(UNLOCK_WAIT, asked).await {
            Ok(answer) => answer,
            Err(_) => Err(SecretError::Locked { reason: "it is waiting to be unlocked".to_owned() }),
        }
    }
}

#[async_trait]
impl Secrets for Keychain {
    async fn get(&self, name: &str) -> Result<SecretString, SecretError> {
        let value = self.ask(name, keyring_core::Entry::get_password).await?;
        if value.is_empty() {
            return Err(SecretError::Empty { name: name.to_owned() });
        }
        remember_secret(&value);
        Ok(value.into())
    }

    async fn set(&self, name: &str, value: SecretString) -> Result<(), SecretError> {
        remember_secret(value.expose_secret());
        self.ask(name, move |entry| entry.set_password(value.expose_secret())).await
    }

    async fn delete(&self, name: &str) -> Result<(), SecretError> {
        self.ask(name, keyring_core::Entry::delete_credential).await
    }
}

#[cfg(target_os = "linux")]
fn platform_store() -> keyring_core::Result<Arc<keyring_core::CredentialStore>> {
    Ok(zbus_secret_service_keyring_store::Store::new()?)
}

#[cfg(target_os = "macos")]
fn platform_store() -> keyring_core::Result<Arc<keyring_core::CredentialStore>> {
    Ok(apple_native_keyring_store::keychain::Store::new()?)
}

#[cfg(windows)]
fn platform_store() -> keyring_core::Result<Arc<keyring_core::CredentialStore>> {
    Ok(windows_native_keyring_store::Store::new()?)
}

#[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
fn platform_store() -> keyring_core::Result<Arc<keyring_core::CredentialStore>> {
    Err(keyring_core::Error::NoDefaultStore)
}

/// The store itself could not be opened: no service answers, or it is locked.
fn store_error(name: &str, error: keyring_core::Error) -> SecretError {
    match error {
        keyring_core::Error::NoEntry => {
            SecretError::Unavailable { reason: "no keychain service answers in this session".to_owned() }
        }
        other => entry_error(name, other),
    }
}

fn entry_error(name: &str, error: keyring_core::Error) -> SecretError {
    use keyring_core::Error;
    match error {
        Error::NoEntry => SecretError::Missing { name: name.to_owned() },
        Error::NoStorageAccess(reason) => SecretError::Locked { reason: reason.to_string() },
        Error::BadEncoding(_) | Error::BadDataFormat(..) | Error::BadStoreFormat(_) => {
            SecretError::Invalid { reason: format!("what the keychain holds under {name} is not text") }
        }
        Error::Ambiguous(entries) => {
            SecretError::Invalid { reason: format!("the keychain holds {} entries for {name}", entries.len()) }
        }
        other => SecretError::Unavailable { reason: other.to_string() },
    }
}

/// Secrets in memory, for tests and replays.
#[derive(Default)]
pub struct MemorySecrets(Mutex<HashMap<String, SecretString>>);

impl MemorySecrets {
    /// Holds these (name, value) pairs from the start.
    pub fn with<'a>(entries: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        Self(Mutex::new(entries.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect()))
    }
}

#[async_trait]
impl Secrets for MemorySecrets {
    async fn get(&self, name: &str) -> Result<SecretString, SecretError> {
        let secrets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = secrets.get(name).ok_or_else(|| SecretError::Missing { name: name.to_owned() })?;
        remember_secret(found.expose_secret());
        Ok(found.clone())
    }
    async fn set(&self, name: &str, value: SecretString) -> Result<(), SecretError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), value);
        Ok(())
    }
    async fn delete(&self, name: &str) -> Result<(), SecretError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;

    #[tokio::test]
    async fn a_file_that_others_can_read_is_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        std::fs::write(&path, "abcdef123\n").unwrap();
        let secret = Secret::new("telegram.token", SecretRef::File(path.clone()), Arc::new(MemorySecrets::default()));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
            let error = secret.read().await.unwrap_err();
            assert!(error.to_string().contains("chmod 600"), "{error}");
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        }
        assert_eq!(secret.require().await.unwrap().expose_secret(), "abcdef123");
        assert!(!format!("{secret:?}").contains("abcdef123"));
        std::fs::write(&path, "\n").unwrap();
        assert!(matches!(secret.read().await, Err(SecretError::Empty { .. })));
    }

    #[test]
    fn the_keychains_errors_stay_apart() {
        use keyring_core::Error;
        let boxed = || Box::<dyn std::error::Error + Send + Sync>::from("dismissed");
        assert!(matches!(store_error("a", Error::PlatformFailure(boxed())), SecretError::Unavailable { .. }));
        assert!(matches!(entry_error("a", Error::NoStorageAccess(boxed())), SecretError::Locked { .. }));
        assert!(matches!(entry_error("a", Error::NoEntry), SecretError::Missing { .. }));
        assert!(matches!(entry_error("a", Error::BadEncoding(vec![255])), SecretError::Invalid { .. }));
    }
}
