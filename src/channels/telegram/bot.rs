//! The connection: one bot per token, with a client for polling and one for everything else.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use secrecy::ExposeSecret;
use serde::Serialize;
use serde_json::Value;
use teloxide::requests::{JsonRequest, Payload, Request};
use teloxide::{Bot, RequestError};
use tokio::sync::Notify;

use crate::domain::ports::{PollError, SecretError};
use crate::runtime::secrets::Secret;

#[derive(Clone)]
pub struct Settings {
    pub token: Secret,
    /// Without a trailing path, e.g. `https://api.telegram.org`.
    pub api_url: String,
    pub poll_timeout: Duration,
}

/// Longest time for a request that is no poll; `teloxide` itself waits 10 s after a 5xx.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// What a poll may take beyond its own time before the client gives it up.
const POLL_SLACK: Duration = Duration::from_secs(20);

/// The channel and the source in one, because they share the connection.
pub struct Telegram {
    pub(super) settings: Settings,
    bots: Mutex<Option<Bots>>,
    pub(super) me: Mutex<Option<Me>>,
    pub(super) renewed: Notify,
}

#[derive(Clone)]
pub(super) struct Bots {
    pub poll: Bot,
    pub send: Bot,
    token: String,
}

/// Who we are there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Me {
    pub id: i64,
    /// Without `@`.
    pub username: String,
}

impl Telegram {
    pub fn new(settings: Settings) -> Self {
        Self { settings, bots: Mutex::default(), me: Mutex::default(), renewed: Notify::new() }
    }

    /// The token was changed: a running poll is given up, and the new one is read.
    pub fn token_changed(&self) {
        *self.bots.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.renewed.notify_one();
    }

    /// The connection for the present token; `fresh` reads the token again.
    pub(super) async fn bots(&self, fresh: bool) -> Result<Bots, PollError> {
        let known = self.bots.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let (Some(bots), false) = (&known, fresh) {
            return Ok(bots.clone());
        }
        let token = match self.settings.token.read().await {
            Ok(Some(token)) => token,
            Ok(None) | Err(SecretError::Missing { .. }) => return Err(PollError::Unauthorized),
            Err(error) => return Err(PollError::Offline { reason: error.to_string() }),
        };
        if let Some(bots) = known.filter(|bots| bots.token == token.expose_secret()) {
            return Ok(bots);
        }
        let bots = self.connect(token.expose_secret())?;
        *self.bots.lock().unwrap_or_else(PoisonError::into_inner) = Some(bots.clone());
        Ok(bots)
    }

    fn connect(&self, token: &str) -> Result<Bots, PollError> {
        let offline = |reason: String| PollError::Offline { reason };
        let url = self.settings.api_url.parse().map_err(|error| offline(format!("telegram.api_url: {error}")))?;
        let bot = |timeout: Duration| {
            teloxide::net::default_reqwest_settings()
                .timeout(timeout)
                .build()
                .map(|client| Bot::with_client(token, client))
                .map_err(|error| offline(error.to_string()))
        };
        let url: reqwest::Url = url;
        // Both address families are tried, the second 300 ms after the first (RFC 8305), so that a network that swallows
        // one costs no more than that; the connection that stands is kept. None within 5 s is `Offline`.
        Ok(Bots {
            poll: bot(self.settings.poll_timeout + POLL_SLACK)?.set_api_url(url.clone()),
            send: bot(REQUEST_TIMEOUT)?.set_api_url(url),
            token: token.to_owned(),
        })
    }
}

/// A call whose answer is taken as it comes.
#[derive(Serialize)]
#[serde(transparent)]
struct Lenient<P>(P);

impl<P: Payload> Payload for Lenient<P> {
    type Output = Value;
    const NAME: &'static str = P::NAME;
}

/// Makes one request.
pub(super) async fn call<P>(bot: &Bot, payload: P) -> Result<Value, RequestError>
where
    P: Payload + Serialize + Send + Sync + 'static,
{
    JsonRequest::new(bot.clone(), Lenient(payload)).send().await
}
