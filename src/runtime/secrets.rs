//! Secrets in memory, for tests and replays. The OS keychain is added beside it.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use secrecy::{ExposeSecret, SecretString};

use crate::domain::ports::{SecretError, Secrets};

#[derive(Default)]
pub struct MemorySecrets(Mutex<HashMap<String, SecretString>>);

#[async_trait]
impl Secrets for MemorySecrets {
    async fn get(&self, name: &str) -> Result<SecretString, SecretError> {
        let secrets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = secrets.get(name).ok_or_else(|| SecretError::Missing { name: name.to_owned() })?;
        super::redact::remember_secret(found.expose_secret());
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
