//! A proxy that stands between `unavezd` and an HTTP server: scripted faults, and updates that the server cannot inject.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::Value;

/// What happens to a request.
#[derive(Clone, Debug)]
pub enum Fault {
    /// Answered by the proxy; the server never sees it.
    Status(u16, Value),
    /// The connection ends; the server never sees it.
    CutBefore,
    /// The server does it; its answer is lost.
    CutAfter,
}

#[derive(Clone)]
struct Shared {
    upstream: String,
    client: reqwest::Client,
    /// (lower-case part of the path, fault), each used once.
    faults: Arc<Mutex<Vec<(String, Fault)>>>,
    seen: Arc<Mutex<Vec<String>>>,
}

pub struct Proxy {
    pub url: String,
    shared: Shared,
}

/// Text of this form stands for a whole update: the emulator carries plain messages only.
const RAW: &str = "@@raw:";

impl Proxy {
    pub async fn start(upstream: &str) -> Self {
        let client = reqwest::Client::builder().retry(reqwest::retry::never()).build().unwrap();
        let shared = Shared { upstream: upstream.to_owned(), client, faults: Arc::default(), seen: Arc::default() };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(pass).with_state(shared.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, shared }
    }

    /// The next request whose path contains `path` meets `fault`.
    pub fn next(&self, path: &str, fault: Fault) {
        self.shared.faults.lock().unwrap().push((path.to_lowercase(), fault));
    }

    /// Requests that reached the server and contain `path`.
    pub fn passed(&self, path: &str) -> usize {
        let path = path.to_lowercase();
        self.shared.seen.lock().unwrap().iter().filter(|seen| seen.contains(&path)).count()
    }
}

/// A message text that the proxy turns into `update`, given without its `update_id`.
pub fn raw_update(update: &Value) -> String {
    format!("{RAW}{update}")
}

async fn pass(State(shared): State<Shared>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().map_or_else(String::new, ToString::to_string);
    let lower = path.to_lowercase();
    let fault = {
        let mut faults = shared.faults.lock().unwrap();
        faults.iter().position(|(part, _)| lower.contains(part)).map(|at| faults.remove(at).1)
    };
    match &fault {
        Some(Fault::Status(status, answer)) => {
            return Response::builder()
                .status(*status)
                .header("content-type", "application/json")
                .body(Body::from(answer.to_string()))
                .unwrap();
        }
        Some(Fault::CutBefore) => return cut(),
        Some(Fault::CutAfter) | None => {}
    }
    let body = axum::body::to_bytes(body, 64 * 1024 * 1024).await.unwrap();
    shared.seen.lock().unwrap().push(lower.clone());
    let mut forwarded = shared.client.request(parts.method, format!("{}{path}", shared.upstream)).body(body);
    for (name, value) in &parts.headers {
        if name != "host" && name != "content-length" {
            forwarded = forwarded.header(name, value);
        }
    }
    let Ok(answer) = forwarded.send().await else { return cut() };
    let status = answer.status();
    let kind = answer.headers().get("content-type").cloned();
    let Ok(bytes) = answer.bytes().await else { return cut() };
    if matches!(fault, Some(Fault::CutAfter)) {
        return cut();
    }
    let mut response = Response::builder().status(StatusCode::from_u16(status.as_u16()).unwrap());
    if let Some(kind) = kind {
        response = response.header("content-type", kind);
    }
    response.body(Body::from(unwrapped(&lower, bytes))).unwrap()
}

/// An answer that breaks off: its promised body never comes.
fn cut() -> Response {
    let broken =
        futures::stream::once(async { Err::<Bytes, std::io::Error>(std::io::Error::other("cut by the test")) });
    Response::builder().header("content-length", "1000").body(Body::from_stream(broken)).unwrap()
}

fn unwrapped(path: &str, bytes: Bytes) -> Bytes {
    if !path.contains("/getupdates") || !bytes.windows(RAW.len()).any(|window| window == RAW.as_bytes()) {
        return bytes;
    }
    let mut answer: Value = serde_json::from_slice(&bytes).unwrap();
    for update in answer["result"].as_array_mut().unwrap() {
        let raw = update["message"]["text"].as_str().and_then(|text| text.strip_prefix(RAW));
        if let Some(mut whole) = raw.map(|raw| serde_json::from_str::<Value>(raw).unwrap()) {
            whole["update_id"] = update["update_id"].clone();
            *update = whole;
        }
    }
    answer.to_string().into()
}
