//! The two routes and the server that carries them.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::rejection::JsonRejection;
use axum::extract::{DefaultBodyLimit, Path, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use futures::{Stream, StreamExt};
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::channel::HttpChannel;
use super::gate;
use crate::domain::session::{SessionError, Sessions};
use crate::runtime::secrets::Secret;

/// Longest body: a message of a person, with room to spare.
const LONGEST_BODY: usize = 1024 * 1024;
/// Longest session name and idempotency key, in bytes.
const LONGEST_NAME: usize = 200;
/// A silent stream says this often that it is alive, so that proxies and clients keep it.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("the local API cannot listen on {address}: {source}")]
    Bind { address: SocketAddr, source: std::io::Error },
}

/// The API, bound and not yet answering.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    sessions: Arc<dyn Sessions>,
    channel: HttpChannel,
    token: Secret,
    stopping: CancellationToken,
}

impl Server {
    /// `bind` is on the loopback interface (checked with the configuration). Port 0 takes a free one.
    pub async fn bind(
        bind: SocketAddr,
        sessions: Arc<dyn Sessions>,
        channel: HttpChannel,
        token: Secret,
        stopping: CancellationToken,
    ) -> Result<Self, ServeError> {
        let failed = |source| ServeError::Bind { address: bind, source };
        let listener = TcpListener::bind(bind).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address, shared: Arc::new(Shared { sessions, channel, token, stopping }) })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until the program stops.
    pub async fn run(self) {
        let stopping = self.shared.stopping.clone();
        let router = Router::new()
            .route("/api/sessions/{id}/invoke", post(invoke))
            .route("/api/sessions/{id}/events", get(events))
            .fallback(|| async { Failure::new(StatusCode::NOT_FOUND, "not_found", "there is no such address here") })
            .method_not_allowed_fallback(|| async {
                Failure::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "this address takes another method")
            })
            .layer(DefaultBodyLimit::max(LONGEST_BODY))
            .layer(from_fn_with_state(self.shared.clone(), checked))
            .with_state(self.shared);
        let served = axum::serve(self.listener, router).with_graceful_shutdown(stopping.cancelled_owned());
        if let Err(error) = served.await {
            tracing::error!(%error, "the local API ended");
        }
    }
}

async fn checked(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    match gate::check(request.headers(), &shared.token).await {
        Ok(()) => next.run(request).await,
        Err(failure) => failure.into_response(),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InvokeBody {
    message: String,
}

async fn invoke(
    State(shared): State<Arc<Shared>>,
    Path(session): Path<String>,
    headers: HeaderMap,
    body: Result<Json<InvokeBody>, JsonRejection>,
) -> Result<Response, Failure> {
    check_name("session", &session)?;
    let Json(body) = body.map_err(|error| {
        let message = format!("the body is {{\"message\": \"…\"}} as application/json: {}", error.body_text());
        Failure::new(error.status(), "bad_request", message)
    })?;
    if body.message.trim().is_empty() {
        return Err(Failure::new(StatusCode::BAD_REQUEST, "bad_request", "the message is empty"));
    }
    let key = match headers.get("idempotency-key") {
        None => None,
        Some(value) => {
            let key = value.to_str().unwrap_or_default();
            check_name("Idempotency-Key", key)?;
            Some(key.to_owned())
        }
    };
    let invoked = tokio::select! {
        invoked = shared.sessions.invoke(&session, &body.message, key.as_deref()) => invoked,
        () = shared.stopping.cancelled() => Err(SessionError::Stopping),
    };
    Ok(Json(invoked?).into_response())
}

async fn events(
    State(shared): State<Arc<Shared>>,
    Path(session): Path<String>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Failure> {
    check_name("session", &session)?;
    let after = headers.get("last-event-id").and_then(|value| value.to_str().ok()).and_then(|id| id.parse().ok());
    let listening = shared.channel.listen(&session);
    let deliveries = shared.sessions.events(&session, after).await?.map(move |event| {
        // The listener counts for as long as the stream lives.
        let _listening = &listening;
        let data = serde_json::to_string(&event).unwrap_or_default();
        Ok(Event::default().event("delivery").id(event.delivery.id.to_string()).data(data))
    });
    let opening = futures::stream::once(async { Ok(Event::default().comment("listening")) });
    let stream = opening.chain(deliveries).take_until(shared.stopping.clone().cancelled_owned());
    Ok(Sse::new(stream).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

fn check_name(what: &str, name: &str) -> Result<(), Failure> {
    if name.is_empty() || name.len() > LONGEST_NAME || name.chars().any(char::is_control) {
        let message = format!("the {what} has 1 to {LONGEST_NAME} printable characters");
        return Err(Failure::new(StatusCode::BAD_REQUEST, "bad_request", message));
    }
    Ok(())
}

/// An error as the caller sees it.
pub(super) struct Failure {
    status: StatusCode,
    code: &'static str,
    message: String,
}

impl Failure {
    pub(super) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into() }
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        let code = match error {
            SessionError::NotAccepted { .. } => "not_accepted",
            SessionError::NoAnswer { .. } => "no_answer",
            SessionError::Stopping => "stopping",
        };
        Self::new(StatusCode::SERVICE_UNAVAILABLE, code, error.to_string())
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let body = Json(json!({ "error": { "code": self.code, "message": self.message } }));
        let mut response = (self.status, body).into_response();
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(http::header::WWW_AUTHENTICATE, http::HeaderValue::from_static("Bearer"));
        }
        response
    }
}
