//! HTTP/1.1 by hand, one request per connection, so that a test can cut the line before, between or after.

use std::future::Future;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A request as it arrived.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Asked {
    pub method: String,
    /// With the query.
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Asked {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// What goes back.
pub enum Reply {
    Answer {
        status: u16,
        headers: Vec<(&'static str, String)>,
        body: String,
    },
    /// The line is closed without a byte.
    Cut,
    /// Nothing is said until the client gives up.
    Silence,
}

impl Reply {
    pub fn status(status: u16) -> Self {
        Self::Answer { status, headers: Vec::new(), body: String::new() }
    }

    pub fn with(self, name: &'static str, value: impl Into<String>) -> Self {
        match self {
            Self::Answer { status, mut headers, body } => {
                headers.push((name, value.into()));
                Self::Answer { status, headers, body }
            }
            Self::Cut | Self::Silence => self,
        }
    }

    pub fn body(self, content_type: &str, text: impl Into<String>) -> Self {
        match self.with("content-type", content_type) {
            Self::Answer { status, headers, .. } => Self::Answer { status, headers, body: text.into() },
            cut => cut,
        }
    }
}

/// Serves `answer` on a loopback port until the test's runtime ends; returns `http://127.0.0.1:PORT`.
pub async fn serve<F, Fut>(answer: F) -> String
where
    F: Fn(Asked) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Reply> + Send,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let answer = Arc::new(answer);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let answer = answer.clone();
            tokio::spawn(async move {
                let Some(asked) = read(&mut stream).await else { return };
                match answer(asked).await {
                    Reply::Cut => {}
                    Reply::Silence => {
                        let mut rest = Vec::new();
                        // silent-ok: the client's hanging up is what is waited for.
                        let _ = stream.read_to_end(&mut rest).await;
                    }
                    Reply::Answer { status, headers, body } => {
                        let mut head =
                            format!("HTTP/1.1 {status} .\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
                        for (name, value) in headers {
                            head.push_str(&format!("{name}: {value}\r\n"));
                        }
                        head.push_str("\r\n");
                        // silent-ok: a client that went away gets no answer.
                        let _ = stream.write_all((head + &body).as_bytes()).await;
                        let _ = stream.shutdown().await;
                    }
                }
            });
        }
    });
    address
}

async fn read(stream: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).into_owned();
    let mut lines = head.split("\r\n");
    let mut first = lines.next()?.split(' ');
    let (method, path) = (first.next()?.to_owned(), first.next()?.to_owned());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length =
        headers.iter().find(|(name, _)| name == "content-length").map_or(0, |(_, value)| value.parse().unwrap());
    while bytes.len() < head_end + 4 + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let body = String::from_utf8_lossy(&bytes[head_end + 4..]).into_owned();
    Some(Asked { method, path, headers, body })
}
