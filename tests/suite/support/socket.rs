//! A line-speaking server connection, plain or TLS, that can end in every way a network ends.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::tls::Certificates;

pub enum Socket {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// Reads lines and exact counts of bytes.
pub struct Lines {
    socket: Socket,
    buffer: Vec<u8>,
}

impl Lines {
    pub fn new(socket: Socket) -> Self {
        Self { socket, buffer: Vec::new() }
    }

    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.socket {
            Socket::Plain(stream) => stream.write_all(bytes).await,
            Socket::Tls(stream) => {
                stream.write_all(bytes).await?;
                stream.flush().await
            }
        }
    }

    async fn fill(&mut self) -> io::Result<usize> {
        let mut block = [0; 16 * 1024];
        let count = match &mut self.socket {
            Socket::Plain(stream) => read(stream, &mut block).await?,
            Socket::Tls(stream) => read(stream, &mut block).await?,
        };
        self.buffer.extend_from_slice(&block[..count]);
        Ok(count)
    }

    /// With its line end; `None` at the end of the connection.
    pub async fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            if let Some(at) = self.buffer.windows(2).position(|pair| pair == b"\r\n") {
                return Ok(Some(self.buffer.drain(..at + 2).collect()));
            }
            if self.fill().await? == 0 {
                return Ok(None);
            }
        }
    }

    /// Exactly `count` bytes; `None` at the end of the connection.
    pub async fn exact(&mut self, count: usize) -> io::Result<Option<Vec<u8>>> {
        while self.buffer.len() < count {
            if self.fill().await? == 0 {
                return Ok(None);
            }
        }
        Ok(Some(self.buffer.drain(..count).collect()))
    }

    /// Changes a plain connection over to TLS.
    pub async fn secured(self, certificates: &Certificates) -> io::Result<Self> {
        match self.socket {
            Socket::Plain(stream) => {
                let stream = TlsAcceptor::from(certificates.server.clone()).accept(stream).await?;
                Ok(Self::new(Socket::Tls(Box::new(stream))))
            }
            Socket::Tls(_) => Err(io::Error::other("TLS already")),
        }
    }

    /// Ends with a TCP reset: what was not read yet is lost.
    pub fn reset(self) {
        let stream = match self.socket {
            Socket::Plain(stream) => stream,
            Socket::Tls(stream) => stream.into_inner().0,
        };
        stream.set_zero_linger().unwrap();
    }
}

async fn read(stream: &mut (impl AsyncRead + Unpin), block: &mut [u8]) -> io::Result<usize> {
    match stream.read(block).await {
        // A client that ends TLS by closing TCP.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
        other => other,
    }
}
