//! Connections to mail servers: TCP, and TLS whose certificate is checked against the computer's own trust store.

use std::fmt::Debug;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// How a connection is protected. Names as in the configuration.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Tls {
    /// TLS from the first byte.
    #[default]
    Implicit,
    /// Plain, then required to change over before anything personal is said.
    StartTls,
    /// Unprotected; only to this computer itself.
    None,
}

/// Certificate authorities trusted beside the computer's own.
pub type ExtraRoots = Vec<CertificateDer<'static>>;

/// Why there is no connection. Nothing was said yet.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("{host} cannot be found: {source}")]
    Resolve { host: String, source: io::Error },
    #[error("{host}:{port} does not answer: {source}")]
    Refused { host: String, port: u16, source: io::Error },
    #[error("{host}:{port} does not answer within {} s", .after.as_secs())]
    Timeout { host: String, port: u16, after: Duration },
    #[error("no protected connection to {host}: {reason}")]
    Tls { host: String, reason: String },
    #[error("{host} is another computer: without TLS, mail goes to this computer only")]
    NotLoopback { host: String },
}

/// Either kind of connection.
pub trait Io: AsyncRead + AsyncWrite + Send + Sync + Unpin + Debug {}
impl<T: AsyncRead + AsyncWrite + Send + Sync + Unpin + Debug> Io for T {}

/// An open connection and whom it reaches.
#[derive(Debug)]
pub struct Connection {
    pub stream: Box<dyn Io>,
    pub peer: SocketAddr,
    pub local: SocketAddr,
}

/// Connects by TCP, each address of the host in turn, within `within` in all.
pub async fn connect(host: &str, port: u16, within: Duration) -> Result<TcpStream, ConnectError> {
    let attempt = async {
        let addresses = tokio::net::lookup_host((host, port))
            .await
            .map_err(|source| ConnectError::Resolve { host: host.to_owned(), source })?;
        let mut last = io::Error::new(io::ErrorKind::NotFound, "it has no address");
        for address in addresses {
            match TcpStream::connect(address).await {
                Ok(stream) => return Ok(stream),
                Err(error) => last = error,
            }
        }
        Err(ConnectError::Refused { host: host.to_owned(), port, source: last })
    };
    let stream = tokio::time::timeout(within, attempt)
        .await
        .unwrap_or_else(|_| Err(ConnectError::Timeout { host: host.to_owned(), port, after: within }))?;
    // silent-ok: without it small commands are only slower.
    let _ = stream.set_nodelay(true);
    Ok(stream)
}

/// Changes a connection over to TLS and checks the certificate for `host`.
pub async fn secure(
    stream: TcpStream,
    host: &str,
    roots: &ExtraRoots,
    within: Duration,
) -> Result<TlsStream<TcpStream>, ConnectError> {
    let failed = |reason: String| ConnectError::Tls { host: host.to_owned(), reason };
    let name = ServerName::try_from(host.to_owned()).map_err(|error| failed(error.to_string()))?;
    let config = client_config(roots).map_err(|error| failed(error.to_string()))?;
    let handshake = TlsConnector::from(Arc::new(config)).connect(name, stream);
    match tokio::time::timeout(within, handshake).await {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(error)) => Err(failed(error.to_string())),
        Err(_) => Err(failed(format!("no answer to the handshake within {} s", within.as_secs()))),
    }
}

fn client_config(roots: &ExtraRoots) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = rustls_platform_verifier::Verifier::new_with_extra_roots(roots.iter().cloned(), provider.clone())?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(config)
}
