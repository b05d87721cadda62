//! What a mail account signs in with.

use std::sync::Arc;

use async_trait::async_trait;
use secrecy::{ExposeSecret, SecretString};

use crate::domain::ports::{SecretError, Secrets};
use crate::runtime::oauth::{OAuthClient, OAuthError};
use crate::runtime::redact::{redact, remember_secret};

/// Why there is nothing to sign in with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CredentialError {
    /// A person has to do something first.
    #[error("{0}")]
    SignIn(String),
    /// It may work in a moment: a locked keychain, a sign-in server that does not answer.
    #[error("{0}")]
    Unavailable(String),
}

/// Gives short-lived access tokens, renewing them when they have run out.
#[async_trait]
pub trait TokenSource: Send + Sync + 'static {
    async fn access_token(&self) -> Result<SecretString, CredentialError>;
    /// The provider refused the current token before its time.
    async fn forget(&self) {}
}

#[async_trait]
impl TokenSource for OAuthClient {
    async fn access_token(&self) -> Result<SecretString, CredentialError> {
        Self::access_token(self).await.map_err(|error| match error {
            OAuthError::NotSignedIn | OAuthError::Refused { .. } => CredentialError::SignIn(error.to_string()),
            OAuthError::Unavailable { .. } | OAuthError::Settings { .. } => {
                CredentialError::Unavailable(error.to_string())
            }
        })
    }

    async fn forget(&self) {
        Self::forget(self).await;
    }
}

/// How to sign in.
#[derive(Clone)]
pub enum Credential {
    None,
    /// A password under this name in the keychain, or what stands for it.
    Password {
        secrets: Arc<dyn Secrets>,
        name: String,
    },
    /// OAuth: `XOAUTH2` with an access token.
    Token(Arc<dyn TokenSource>),
}

impl Credential {
    /// The password or token, from now on masked in logs and stored errors.
    pub async fn secret(&self) -> Result<Option<SecretString>, CredentialError> {
        let secret = match self {
            Self::None => return Ok(None),
            Self::Password { secrets, name } => secrets.get(name).await.map_err(|error| match error {
                SecretError::Missing { .. } | SecretError::Empty { .. } | SecretError::Invalid { .. } => {
                    CredentialError::SignIn(redact(&error.to_string()))
                }
                SecretError::Unavailable { .. } | SecretError::Locked { .. } => {
                    CredentialError::Unavailable(redact(&error.to_string()))
                }
            })?,
            Self::Token(source) => source.access_token().await?,
        };
        remember_secret(secret.expose_secret());
        Ok(Some(secret))
    }
}

impl std::fmt::Debug for Credential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::Password { name, .. } => write!(f, "Password({name})"),
            Self::Token(_) => f.write_str("Token"),
        }
    }
}
