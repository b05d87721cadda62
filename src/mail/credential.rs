//! What a mail account signs in with.

use std::sync::Arc;

use async_trait::async_trait;
use secrecy::{ExposeSecret, SecretString};

use crate::domain::ports::Secrets;
use crate::runtime::oauth::OAuthClient;
use crate::runtime::redact::{redact, remember_secret};

/// Gives short-lived access tokens, renewing them when they have run out.
#[async_trait]
pub trait TokenSource: Send + Sync + 'static {
    /// The error is for a person.
    async fn access_token(&self) -> Result<SecretString, String>;
}

#[async_trait]
impl TokenSource for OAuthClient {
    async fn access_token(&self) -> Result<SecretString, String> {
        Self::access_token(self).await.map_err(|error| error.to_string())
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
    /// The password or token, from now on masked in logs and stored errors. The error is for a person.
    pub async fn secret(&self) -> Result<Option<SecretString>, String> {
        let secret = match self {
            Self::None => return Ok(None),
            Self::Password { secrets, name } => secrets.get(name).await.map_err(|error| redact(&error.to_string()))?,
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
