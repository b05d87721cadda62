//! Signed requests, and whether they may have reached Google.

use std::sync::Arc;

use secrecy::ExposeSecret;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::errors::Refusal;
use super::settings::Settings;
use crate::domain::ports::CalendarError;
use crate::runtime::oauth::{OAuthClient, OAuthError};
use crate::runtime::{failpoint, redact, tls};

pub struct Transport {
    client: reqwest::Client,
    oauth: Arc<OAuthClient>,
    /// Up to and including `/calendar/v3`.
    base: reqwest::Url,
}

/// One request, before it is signed.
pub struct Call<'a> {
    pub method: reqwest::Method,
    /// Below `/calendar/v3`; each is one segment.
    pub path: &'a [&'a str],
    pub query: Vec<(&'static str, String)>,
    pub body: Option<Value>,
    pub if_match: Option<String>,
}

impl<'a> Call<'a> {
    pub fn get(path: &'a [&'a str]) -> Self {
        Self { method: reqwest::Method::GET, path, query: Vec::new(), body: None, if_match: None }
    }

    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.query.push((name, value.into()));
        self
    }

    fn writes(&self) -> bool {
        self.method != reqwest::Method::GET
    }
}

/// Why there is no value.
pub enum Failure {
    Refused(Refusal),
    Other(CalendarError),
}

impl Failure {
    pub fn error(self, writes: bool, id: &str) -> CalendarError {
        match self {
            Self::Refused(refusal) => refusal.error(writes, id),
            Self::Other(error) => error,
        }
    }
}

impl Transport {
    pub fn new(settings: &Settings, oauth: Arc<OAuthClient>) -> Result<Self, CalendarError> {
        let refused = |reason: String| CalendarError::Refused { reason };
        let base = format!("{}/calendar/v3", settings.api_url.trim_end_matches('/'));
        let base =
            reqwest::Url::parse(&base).map_err(|error| refused(format!("api_url is not an address: {error}")))?;
        let loopback = matches!(base.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"));
        if base.cannot_be_a_base() || !(base.scheme() == "https" || base.scheme() == "http" && loopback) {
            return Err(refused("api_url must begin with https".into()));
        }
        tls::install_provider();
        let client = reqwest::Client::builder()
            .connect_timeout(settings.connect_timeout)
            .timeout(settings.timeout)
            .redirect(reqwest::redirect::Policy::none())
            // What is sent again is decided by the evidence queue alone.
            .retry(reqwest::retry::never())
            .user_agent("Unavez (gzip)")
            .build()
            .map_err(|error| refused(format!("cannot set up HTTP: {error}")))?;
        Ok(Self { client, oauth, base })
    }

    /// Sends `call`. A token that Google no longer takes is renewed once: an unsigned request changes nothing.
    pub async fn call<T: DeserializeOwned>(&self, call: Call<'_>) -> Result<T, Failure> {
        match self.once(&call).await {
            Err(Failure::Refused(refusal)) if refusal.status == 401 => {
                self.oauth.forget().await;
                self.once(&call).await
            }
            other => other,
        }
    }

    async fn once<T: DeserializeOwned>(&self, call: &Call<'_>) -> Result<T, Failure> {
        let token = self.oauth.access_token().await.map_err(|error| Failure::Other(sign_in(error)))?;
        let unavailable = |reason: String| Failure::Other(CalendarError::Unavailable { reason, retry_after: None });
        let lost = |reason: String| {
            Failure::Other(if call.writes() {
                CalendarError::NoAnswer { reason }
            } else {
                CalendarError::Unavailable { reason, retry_after: None }
            })
        };
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.extend(call.path);
        }
        let mut request = self.client.request(call.method.clone(), url).query(&call.query);
        request = request.bearer_auth(token.expose_secret());
        if let Some(body) = &call.body {
            request = request.json(body);
        }
        if let Some(etag) = &call.if_match {
            request = request.header(reqwest::header::IF_MATCH, etag);
        }
        failpoint::hit("google.before_request").map_err(|failed| unavailable(failed.to_string()))?;
        let answer = request.send().await.map_err(|error| {
            let reason = plain(&error);
            if error.is_connect() || error.is_builder() { unavailable(reason) } else { lost(reason) }
        })?;
        failpoint::hit("google.after_request").map_err(|failed| lost(failed.to_string()))?;
        let status = answer.status();
        let retry_after = answer.headers().get(reqwest::header::RETRY_AFTER).and_then(|value| value.to_str().ok());
        let retry_after = retry_after.map(str::to_owned);
        let body = answer.text().await.map_err(|error| lost(plain(&error)))?;
        if !status.is_success() {
            return Err(Failure::Refused(Refusal::read(status.as_u16(), retry_after.as_deref(), &body)));
        }
        let text = if body.trim().is_empty() { "null" } else { &body };
        serde_json::from_str(text).map_err(|error| lost(format!("Google's answer cannot be read: {error}")))
    }
}

fn sign_in(error: OAuthError) -> CalendarError {
    let reason = error.to_string();
    match error {
        OAuthError::NotSignedIn | OAuthError::Refused { .. } => CalendarError::Unauthorized { reason },
        OAuthError::Unavailable { .. } => CalendarError::Unavailable { reason, retry_after: None },
        OAuthError::Settings { .. } => CalendarError::Refused { reason },
    }
}

/// The innermost cause, without URL.
fn plain(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    redact::redact(&cause.to_string())
}
