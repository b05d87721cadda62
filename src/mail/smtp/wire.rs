//! The connection under lettre's SMTP dialogue: remembers the server's last words, so that a reply code that lettre does
//! not know is still judged by its first digit, and puts the greeting before a connection that STARTTLS has used up.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use lettre::transport::smtp::client::AsyncTokioStream;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, ReadBuf};
use tokio::net::TcpStream;

use super::body::Progress;
use crate::mail::net::Io;
use crate::runtime::failpoint;

/// A reply is kept up to this size; more is not worth showing.
const LONGEST_REPLY: usize = 4_096;

/// What the server said since our last write.
#[derive(Clone, Debug, Default)]
pub struct LastWords(Arc<Mutex<Vec<u8>>>);

impl LastWords {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
    fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
    fn add(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let room = LONGEST_REPLY.saturating_sub(kept.len()).min(bytes.len());
        kept.extend_from_slice(&bytes[..room]);
    }
}

#[derive(Debug)]
pub struct Wire {
    stream: Box<dyn Io>,
    peer: SocketAddr,
    /// Read before the stream.
    before: Vec<u8>,
    last_words: LastWords,
    progress: Arc<Progress>,
    /// The moment between the final dot and its reply was passed.
    dot_passed: bool,
}

impl Wire {
    pub fn new(stream: Box<dyn Io>, peer: SocketAddr, last_words: LastWords, progress: Arc<Progress>) -> Self {
        Self { stream, peer, before: Vec::new(), last_words, progress, dot_passed: false }
    }

    /// The server greeted before TLS and will not greet again.
    pub fn already_greeted(mut self) -> Self {
        self.before = b"220 ready\r\n".to_vec();
        self
    }
}

impl AsyncRead for Wire {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if !self.before.is_empty() {
            let count = buf.remaining().min(self.before.len());
            let head: Vec<u8> = self.before.drain(..count).collect();
            buf.put_slice(&head);
            return Poll::Ready(Ok(()));
        }
        if !self.dot_passed && self.progress.dot_may_have_left() {
            self.dot_passed = true;
            if let Err(failed) = failpoint::hit("smtp.after_dot") {
                return Poll::Ready(Err(io::Error::other(failed)));
            }
        }
        let filled = buf.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buf);
        if matches!(polled, Poll::Ready(Ok(()))) {
            self.last_words.add(&buf.filled()[filled..]);
        }
        polled
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        // lettre says QUIT by itself after a failed greeting or EHLO; the reply before it is the one that counts.
        if bytes != b"QUIT\r\n" {
            self.last_words.clear();
        }
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl AsyncTokioStream for Wire {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.peer)
    }
}

/// Greeting, EHLO and STARTTLS up to the server's go-ahead. `Err(Ok(reply))`: the server said no.
pub async fn ask_for_tls(mut stream: TcpStream, hello: &str) -> Result<TcpStream, Result<String, io::Error>> {
    let mut lines = BufReader::new(&mut stream);
    let greeting = read_reply(&mut lines).await.map_err(Err)?;
    if !greeting.starts_with('2') {
        return Err(Ok(greeting));
    }
    lines.get_mut().write_all(format!("EHLO {hello}\r\n").as_bytes()).await.map_err(Err)?;
    let extensions = read_reply(&mut lines).await.map_err(Err)?;
    if !extensions.starts_with('2') {
        return Err(Ok(extensions));
    }
    let offered =
        extensions.lines().any(|line| line.get(4..).is_some_and(|word| word.trim().eq_ignore_ascii_case("STARTTLS")));
    if !offered {
        return Err(Err(io::Error::other("the server does not offer STARTTLS: nothing was sent unprotected")));
    }
    lines.get_mut().write_all(b"STARTTLS\r\n").await.map_err(Err)?;
    let go = read_reply(&mut lines).await.map_err(Err)?;
    if !go.starts_with('2') {
        return Err(Ok(go));
    }
    // What came with the go-ahead was not protected and could be anybody's (CVE-2011-0411).
    if !lines.buffer().is_empty() {
        return Err(Err(io::Error::other("the server spoke on before TLS began")));
    }
    drop(lines);
    Ok(stream)
}

/// One reply, all its lines.
async fn read_reply<R: AsyncRead + Unpin>(lines: &mut BufReader<R>) -> io::Result<String> {
    let mut reply = String::new();
    loop {
        let start = reply.len();
        // Longer lines than a reply may have are not read to their end.
        let read = (&mut *lines).take(LONGEST_REPLY as u64).read_line(&mut reply).await?;
        let line = &reply[start..];
        if read == 0 || !line.ends_with('\n') || reply.len() > LONGEST_REPLY {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the connection"));
        }
        if line.as_bytes().get(3) != Some(&b'-') {
            return Ok(reply);
        }
    }
}
