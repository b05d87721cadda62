//! Calls of the API (<https://developers.google.com/workspace/gmail/api/reference/rest>) and what their answers mean.

use std::sync::Arc;
use std::time::Duration;

use reqwest::{Method, StatusCode};
use secrecy::ExposeSecret;
use serde_json::Value;

use crate::mail::credential::{CredentialError, TokenSource};
use crate::runtime::redact::redact;

const TIMEOUT: Duration = Duration::from_secs(120);

/// One account at the API.
pub struct GmailClient {
    base: String,
    http: reqwest::Client,
    tokens: Arc<dyn TokenSource>,
}

/// Why a call brought no result, by what is known of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GmailError {
    /// The request did not leave, or was turned away unread.
    #[error("{reason}")]
    NotNow { reason: String, retry_after: Option<Duration> },
    /// It left, and nothing says what became of it.
    #[error("{reason}")]
    NoAnswer { reason: String },
    #[error("Gmail does not accept the sign-in ({reason}): sign in again (`unavezd sign-in`)")]
    SignIn { reason: String },
    #[error("Gmail has no such thing: {reason}")]
    NotFound { reason: String },
    #[error("Gmail refused: {reason}")]
    Refused { reason: String },
}

impl GmailClient {
    /// `api_url` without a path, e.g. `https://gmail.googleapis.com`.
    pub fn new(api_url: &str, tokens: Arc<dyn TokenSource>) -> Result<Self, reqwest::Error> {
        crate::runtime::tls::install_provider();
        let http = reqwest::Client::builder()
            // The library must not send anything a second time.
            .retry(reqwest::retry::never())
            .redirect(reqwest::redirect::Policy::none())
            .timeout(TIMEOUT)
            .build()?;
        Ok(Self { base: format!("{}/gmail/v1/users/me", api_url.trim_end_matches('/')), http, tokens })
    }

    pub async fn get(&self, path: &str, query: &[(&str, &str)]) -> Result<Value, GmailError> {
        self.call(Method::GET, path, query, None).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Result<Value, GmailError> {
        self.call(Method::POST, path, &[], Some(body)).await
    }

    /// A refused token is renewed once: a 401 says that the request was not looked at.
    async fn call(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Result<Value, GmailError> {
        match self.once(method.clone(), path, query, body).await {
            Err(GmailError::SignIn { .. }) => {
                self.tokens.forget().await;
                self.once(method, path, query, body).await
            }
            other => other,
        }
    }

    async fn once(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Result<Value, GmailError> {
        let token = self.tokens.access_token().await.map_err(|error| match error {
            CredentialError::SignIn(reason) => GmailError::SignIn { reason },
            CredentialError::Unavailable(reason) => GmailError::NotNow { reason, retry_after: None },
        })?;
        let mut request =
            self.http.request(method, format!("{}{path}", self.base)).query(query).bearer_auth(token.expose_secret());
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().await.map_err(|error| {
            let reason = redact(&describe(&error));
            if error.is_connect() || error.is_builder() {
                GmailError::NotNow { reason, retry_after: None }
            } else {
                GmailError::NoAnswer { reason }
            }
        })?;
        let status = response.status();
        let retry_after = response
            .headers()
            .get(reqwest::header::RETRY_AFTER)
            .and_then(|value| value.to_str().ok()?.trim().parse().ok())
            .map(Duration::from_secs);
        let text = response.text().await;
        if status.is_success() {
            // The status says it was done; an answer that broke off only lacks the details.
            return Ok(text.ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or(Value::Null));
        }
        Err(judge(status, &text.unwrap_or_default(), retry_after))
    }
}

fn describe(error: &reqwest::Error) -> String {
    let mut words = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        words = format!("{words}: {inner}");
        source = inner.source();
    }
    words
}

/// Reasons of a 403 that pass by themselves
/// (<https://developers.google.com/workspace/gmail/api/guides/handle-errors>).
const QUOTA_REASONS: [&str; 5] =
    ["rateLimitExceeded", "userRateLimitExceeded", "quotaExceeded", "dailyLimitExceeded", "limitExceeded"];

fn judge(status: StatusCode, text: &str, retry_after: Option<Duration>) -> GmailError {
    let body: Value = serde_json::from_str(text).unwrap_or(Value::Null);
    let error = &body["error"];
    let message = error["message"].as_str().unwrap_or_else(|| status.canonical_reason().unwrap_or("no reason given"));
    let reason = redact(&format!("{} {message}", status.as_u16()));
    let reasons = || {
        let listed = error["errors"].as_array().into_iter().flatten();
        let detailed = error["details"].as_array().into_iter().flatten();
        listed.chain(detailed).filter_map(|entry| entry["reason"].as_str())
    };
    match status.as_u16() {
        401 => GmailError::SignIn { reason },
        403 if reasons().any(|given| QUOTA_REASONS.iter().any(|quota| quota.eq_ignore_ascii_case(given))) => {
            GmailError::NotNow { reason, retry_after }
        }
        403 if error["status"] == "RESOURCE_EXHAUSTED" => GmailError::NotNow { reason, retry_after },
        403 => GmailError::SignIn { reason },
        429 => GmailError::NotNow { reason, retry_after },
        404 | 410 => GmailError::NotFound { reason },
        // A server error may come after the work was done.
        500..=599 => GmailError::NoAnswer { reason },
        _ => GmailError::Refused { reason },
    }
}
