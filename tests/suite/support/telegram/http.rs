//! Just enough HTTP/1.1 over TCP to be cut, stalled and lied to at any point.

use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::api::{self, Answer};
use super::{Call, Fault, Shared};

pub(super) async fn listen(shared: Arc<Shared>) -> (String, tokio::task::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let task = tokio::spawn(async move {
        loop {
            let Ok((stream, _)) = listener.accept().await else { return };
            tokio::spawn(serve(stream, shared.clone()));
        }
    });
    (url, task)
}

struct Request {
    path: String,
    body: Vec<u8>,
}

async fn serve(mut stream: TcpStream, shared: Arc<Shared>) {
    let mut buffer = Vec::new();
    while let Some(request) = read(&mut stream, &mut buffer).await {
        if !answer(&mut stream, request, &shared).await {
            return;
        }
    }
}

/// Handles one request. False ends the connection.
async fn answer(stream: &mut TcpStream, request: Request, shared: &Arc<Shared>) -> bool {
    let mut segments = request.path.trim_start_matches('/').splitn(3, '/');
    let first = segments.next().unwrap_or_default();
    if first == "file" {
        let path = request.path.rsplit('/').next().unwrap_or_default().to_owned();
        let bytes = shared.state().files.get(&path).cloned();
        return match bytes {
            Some(bytes) => write(stream, 200, "application/octet-stream", &bytes).await,
            None => write(stream, 404, "text/plain", b"no such file").await,
        };
    }
    let token = first.trim_start_matches("bot").to_owned();
    let method = segments.next().unwrap_or_default().to_lowercase();
    let body: Value = serde_json::from_slice(&request.body).unwrap_or(Value::Null);
    let (index, fault) = {
        let mut state = shared.state();
        state.calls.push(Call { method: method.clone(), body: body.clone(), at: Instant::now(), done: false });
        let fault = state.faults.get_mut(&method).and_then(std::collections::VecDeque::pop_front);
        (state.calls.len() - 1, fault.unwrap_or(Fault::Pass))
    };
    shared.changed.notify_waiters();
    if token != shared.state().token {
        let (code, body) = Fault::Unauthorized.answer().unwrap();
        return write_json(stream, code, &body).await;
    }
    if let Some((code, body)) = fault.answer() {
        return match body {
            Value::String(page) => write(stream, code, "text/html", page.as_bytes()).await,
            body => write_json(stream, code, &body).await,
        };
    }
    match &fault {
        Fault::CutBefore => return false,
        Fault::Hang => std::future::pending::<()>().await,
        _ => {}
    }
    let Answer { code, body, done } = api::handle(shared, &method, &body).await;
    shared.state().calls[index].done = done;
    shared.changed.notify_waiters();
    if matches!(fault, Fault::CutAfter) {
        return false;
    }
    write_json(stream, code, &body).await
}

async fn read(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Request> {
    loop {
        if let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
            let path = head.split_whitespace().nth(1)?.to_owned();
            let length: usize = head
                .lines()
                .find_map(|line| line.to_lowercase().strip_prefix("content-length:").map(|n| n.trim().parse().unwrap()))
                .unwrap_or(0);
            let begin = end + 4;
            while buffer.len() < begin + length {
                fill(stream, buffer).await?;
            }
            let body = buffer[begin..begin + length].to_vec();
            buffer.drain(..begin + length);
            return Some(Request { path, body });
        }
        fill(stream, buffer).await?;
    }
}

async fn fill(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<()> {
    let mut block = [0; 16 * 1024];
    match stream.read(&mut block).await {
        Ok(0) | Err(_) => None,
        Ok(count) => {
            buffer.extend_from_slice(&block[..count]);
            Some(())
        }
    }
}

async fn write_json(stream: &mut TcpStream, code: u16, body: &Value) -> bool {
    write(stream, code, "application/json", body.to_string().as_bytes()).await
}

async fn write(stream: &mut TcpStream, code: u16, kind: &str, body: &[u8]) -> bool {
    let head = format!("HTTP/1.1 {code} X\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).await.is_ok() && stream.write_all(body).await.is_ok()
}
