//! Signing in at a provider of mail or calendar: a browser shows its page, the answer comes to a port of this computer.

use std::sync::Arc;

use super::edges;
use super::options::AppOptions;
use super::settings;
use crate::config::Config;
use crate::domain::ports::{Clock, Secrets};
use crate::domain::time::Elapsed;
use crate::runtime::clock::{BootReading, SystemClock};
use crate::runtime::oauth::OAuthError;
use crate::runtime::secrets::{ConfiguredSecrets, Keychain, SecretRef};

/// What is signed in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SignInTo {
    /// `[mail.oauth]`, for the backend `gmail` and for `auth = "xoauth2"`.
    Mail,
    /// `[calendar.google]`.
    Calendar,
}

impl SignInTo {
    fn section(self) -> &'static str {
        match self {
            Self::Mail => "mail.oauth",
            Self::Calendar => "calendar.google",
        }
    }

    fn client_id(self, config: &Config) -> &str {
        match self {
            Self::Mail => &config.mail.oauth.client_id,
            Self::Calendar => &config.calendar.google.client_id,
        }
    }

    fn refresh_token(self, config: &Config) -> &SecretRef {
        match self {
            Self::Mail => &config.mail.oauth.refresh_token,
            Self::Calendar => &config.calendar.google.refresh_token,
        }
    }
}

/// Signs in and keeps the lasting token in the keychain, where a running instance finds it at its next call.
/// `show` gets the address of the provider's page.
pub async fn sign_in(options: &AppOptions, to: SignInTo, show: impl FnOnce(&str) + Send) -> Result<(), OAuthError> {
    let config = &options.loaded.config;
    let section = to.section();
    if to.client_id(config).is_empty() {
        let reason = format!("set {section}.client_id: the id that the provider gives your OAuth client");
        return Err(OAuthError::Settings { reason });
    }
    if *to.refresh_token(config) != SecretRef::Keychain {
        let reason = format!("{section}.refresh_token is kept elsewhere: a sign-in writes to the keychain only");
        return Err(OAuthError::Settings { reason });
    }
    let keychain: Arc<dyn Secrets> = options.ports.keychain.clone().unwrap_or_else(|| Arc::new(Keychain::default()));
    let secrets: Arc<dyn Secrets> = Arc::new(ConfiguredSecrets::new(settings::secret_references(config), keychain));
    let clock: Arc<dyn Clock> = match &options.ports.clock {
        Some(clock) => clock.clone(),
        None => Arc::new(SystemClock::starting(Elapsed(0), &BootReading::take())),
    };
    let client = match to {
        SignInTo::Mail => edges::mail_oauth(config, &secrets, &clock)?,
        SignInTo::Calendar => edges::calendar_oauth(config, &secrets, &clock)?,
    };
    client.sign_in(show).await
}
