//! The part of the Gmail API that sends, over real HTTP: drafts that are consumed, an index, scripted faults.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE;
use serde_json::{Value, json};

/// What happens to the next call of one kind.
#[derive(Clone, Debug)]
pub enum Fault {
    /// Turned away unread.
    Answer(u16, Value, Option<&'static str>),
    /// Done, and then answered so.
    DoneThen(u16),
    /// Done, and the answer is lost.
    DoneThenCut,
    /// Not done, and no answer.
    Cut,
}

#[derive(Default)]
struct Box_ {
    drafts: Vec<(String, Vec<u8>)>,
    sent: Vec<(String, Vec<u8>)>,
    next: u32,
    calls: Vec<String>,
    tokens: Vec<String>,
    faults: VecDeque<(&'static str, Fault)>,
    without_drafts: bool,
}

#[derive(Clone)]
pub struct Server {
    pub address: SocketAddr,
    state: Arc<Mutex<Box_>>,
}

type Shared = Arc<Mutex<Box_>>;

impl Server {
    pub async fn start() -> Self {
        let state = Shared::default();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new()
            .route("/gmail/v1/users/me/profile", get(profile))
            .route("/gmail/v1/users/me/drafts", post(create_draft))
            .route("/gmail/v1/users/me/drafts/send", post(send_draft))
            .route("/gmail/v1/users/me/messages/send", post(send))
            .route("/gmail/v1/users/me/messages", get(list))
            .route("/gmail/v1/users/me/messages/{id}", get(message))
            .with_state(state.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, state }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The next call whose path ends so.
    pub fn fault(&self, call: &'static str, fault: Fault) -> &Self {
        self.state.lock().unwrap().faults.push_back((call, fault));
        self
    }

    pub fn without_drafts(&self) -> &Self {
        self.state.lock().unwrap().without_drafts = true;
        self
    }

    pub fn sent(&self) -> Vec<Vec<u8>> {
        self.state.lock().unwrap().sent.iter().map(|(_, bytes)| bytes.clone()).collect()
    }

    pub fn drafts(&self) -> usize {
        self.state.lock().unwrap().drafts.len()
    }

    pub fn count(&self, call: &str) -> usize {
        self.state.lock().unwrap().calls.iter().filter(|known| *known == call).count()
    }

    pub fn tokens(&self) -> Vec<String> {
        self.state.lock().unwrap().tokens.clone()
    }
}

/// Notes the call and plays its fault around `act`.
fn play(state: &Shared, call: &'static str, headers: &HeaderMap, act: impl FnOnce(&mut Box_) -> Response) -> Response {
    let mut state = state.lock().unwrap();
    state.calls.push(call.to_owned());
    let token = headers.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    state.tokens.push(token);
    let at = state.faults.iter().position(|(known, _)| *known == call);
    match at.and_then(|at| state.faults.remove(at)).map(|(_, fault)| fault) {
        None => act(&mut state),
        Some(Fault::Answer(status, body, retry_after)) => {
            let mut response = (StatusCode::from_u16(status).unwrap(), axum::Json(body)).into_response();
            if let Some(wait) = retry_after {
                response.headers_mut().insert("retry-after", wait.parse().unwrap());
            }
            response
        }
        Some(Fault::DoneThen(status)) => {
            act(&mut state);
            StatusCode::from_u16(status).unwrap().into_response()
        }
        Some(Fault::DoneThenCut) => {
            act(&mut state);
            drop(state);
            cut()
        }
        Some(Fault::Cut) => {
            drop(state);
            cut()
        }
    }
}

fn parameter(query: Option<&str>, name: &str) -> String {
    let url = reqwest::Url::parse(&format!("http://localhost/?{}", query.unwrap_or_default())).unwrap();
    url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned()).unwrap_or_default()
}

/// The handler panics, so that the connection closes without an answer.
fn cut() -> Response {
    std::panic::resume_unwind(Box::new("the connection is cut"))
}

async fn profile(State(state): State<Shared>, headers: HeaderMap) -> Response {
    play(&state, "profile", &headers, |_| axum::Json(json!({ "emailAddress": "ana@example.test" })).into_response())
}

fn raw(body: &Value) -> Vec<u8> {
    URL_SAFE.decode(body.as_str().unwrap()).unwrap()
}

async fn create_draft(State(state): State<Shared>, headers: HeaderMap, body: axum::Json<Value>) -> Response {
    play(&state, "drafts", &headers, |state| {
        if state.without_drafts {
            return StatusCode::NOT_FOUND.into_response();
        }
        state.next += 1;
        let id = format!("r-{}", state.next);
        state.drafts.push((id.clone(), raw(&body["message"]["raw"])));
        axum::Json(json!({ "id": id, "message": { "id": format!("d{}", state.next) } })).into_response()
    })
}

fn deliver(state: &mut Box_, bytes: Vec<u8>) -> Response {
    state.next += 1;
    let id = format!("m{}", state.next);
    state.sent.push((id.clone(), bytes));
    axum::Json(json!({ "id": id, "threadId": id, "labelIds": ["SENT"] })).into_response()
}

async fn send_draft(State(state): State<Shared>, headers: HeaderMap, body: axum::Json<Value>) -> Response {
    play(&state, "drafts/send", &headers, |state| {
        let Some(at) = state.drafts.iter().position(|(id, _)| *id == body["id"].as_str().unwrap()) else {
            return (
                StatusCode::NOT_FOUND,
                axum::Json(json!({ "error": { "message": "Requested entity was not found." } })),
            )
                .into_response();
        };
        let (_, bytes) = state.drafts.remove(at);
        deliver(state, bytes)
    })
}

async fn send(State(state): State<Shared>, headers: HeaderMap, body: axum::Json<Value>) -> Response {
    play(&state, "messages/send", &headers, |state| deliver(state, raw(&body["raw"])))
}

fn header<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.split("\r\n").find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

async fn list(State(state): State<Shared>, headers: HeaderMap, RawQuery(query): RawQuery) -> Response {
    play(&state, "messages", &headers, |state| {
        let wanted = parameter(query.as_deref(), "q").split("rfc822msgid:").nth(1).unwrap_or_default().to_owned();
        // Gmail's search is by words: part of an id is enough for a hit.
        let hit =
            |bytes: &[u8]| header(&String::from_utf8_lossy(bytes), "Message-ID").is_some_and(|id| id.contains(&wanted));
        let found: Vec<Value> =
            state.sent.iter().filter(|(_, bytes)| hit(bytes)).map(|(id, _)| json!({ "id": id })).collect();
        axum::Json(json!({ "messages": found })).into_response()
    })
}

async fn message(
    State(state): State<Shared>,
    headers: HeaderMap,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Response {
    play(&state, "message", &headers, |state| {
        let Some((_, bytes)) = state.sent.iter().find(|(known, _)| *known == id) else {
            return StatusCode::NOT_FOUND.into_response();
        };
        let text = String::from_utf8_lossy(bytes).into_owned();
        if parameter(query.as_deref(), "format") == "raw" {
            return axum::Json(json!({ "id": id, "raw": URL_SAFE.encode(bytes) })).into_response();
        }
        let id = header(&text, "Message-ID").unwrap();
        axum::Json(json!({ "payload": { "headers": [{ "name": "Message-ID", "value": id }] } })).into_response()
    })
}
