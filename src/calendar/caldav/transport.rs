//! One HTTP exchange, and whether it may have reached the server.

use std::pin::Pin;
use std::task::{Context, Poll};

use secrecy::{ExposeSecret, SecretString};

use super::settings::Settings;
use crate::domain::ports::CalendarError;
use crate::runtime::{failpoint, redact, tls};

/// What went wrong before there was an answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TransportError {
    /// Nothing left this machine.
    #[error("{0}")]
    NotSent(String),
    /// The request, or a part of it, left.
    #[error("{0}")]
    NoAnswer(String),
}

/// Signs requests in and sends them; redirects are answers like any other.
#[derive(Clone)]
pub struct Transport {
    client: reqwest::Client,
    user: String,
    password: Option<SecretString>,
}

impl Transport {
    pub fn new(settings: &Settings) -> Result<Self, CalendarError> {
        tls::install_provider();
        let client = reqwest::Client::builder()
            .connect_timeout(settings.connect_timeout)
            .timeout(settings.timeout)
            // A redirect of reqwest's would turn a PROPFIND or PUT into a GET and carry the password along.
            .redirect(reqwest::redirect::Policy::none())
            // What is sent again is decided by the evidence queue alone.
            .retry(reqwest::retry::never())
            .user_agent("Unavez")
            .build()
            .map_err(|error| CalendarError::Refused { reason: format!("cannot set up HTTP: {error}") })?;
        Ok(Self { client, user: settings.user.clone(), password: settings.password.clone() })
    }

    async fn exchange(self, request: http::Request<String>) -> Result<http::Response<String>, TransportError> {
        failpoint::hit("caldav.before_request").map_err(|failed| TransportError::NotSent(failed.to_string()))?;
        let mut request =
            reqwest::Request::try_from(request).map_err(|error| TransportError::NotSent(error.to_string()))?;
        if let Some(password) = &self.password {
            let signed = self
                .client
                .request(request.method().clone(), request.url().clone())
                .basic_auth(&self.user, Some(password.expose_secret()))
                .build()
                .map_err(|error| TransportError::NotSent(error.to_string()))?;
            request.headers_mut().extend(signed.headers().clone());
        }
        let answer = self.client.execute(request).await.map_err(|error| {
            let reason = plain(&error);
            // A refused or timed-out connection is the one failure that proves that nothing left.
            if error.is_connect() || error.is_builder() {
                TransportError::NotSent(reason)
            } else {
                TransportError::NoAnswer(reason)
            }
        })?;
        failpoint::hit("caldav.after_request").map_err(|failed| TransportError::NoAnswer(failed.to_string()))?;
        let mut response = http::Response::new(());
        *response.status_mut() = answer.status();
        *response.headers_mut() = answer.headers().clone();
        let body = answer.text().await.map_err(|error| TransportError::NoAnswer(plain(&error)))?;
        Ok(response.map(|()| body))
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

impl tower_service::Service<http::Request<String>> for Transport {
    type Response = http::Response<String>;
    type Error = TransportError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<String>) -> Self::Future {
        Box::pin(self.clone().exchange(request))
    }
}
