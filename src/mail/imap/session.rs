//! A signed-in connection, opened for one operation and closed after it.

use async_imap::{Authenticator, Client, Session};
use secrecy::ExposeSecret;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use super::settings::ImapSettings;
use crate::domain::ports::MailReadError;
use crate::mail::credential::{Credential, CredentialError};
use crate::mail::net::{ConnectError, Io, Tls, connect, secure};
use crate::runtime::redact::redact;

pub type Imap = Session<Box<dyn Io>>;

/// Longest line before TLS; more is no IMAP server.
const LONGEST_LINE: u64 = 4_096;

pub async fn open(settings: &ImapSettings, credential: &Credential) -> Result<Imap, MailReadError> {
    let (stream, greeted) = stream(settings).await?;
    let mut client = Client::new(stream);
    if !greeted {
        match client.read_response().await {
            Ok(Some(_)) => {}
            Ok(None) => return Err(unreachable("the server closed the connection")),
            Err(error) => return Err(unreachable(error)),
        }
    }
    let secret = credential.secret().await.map_err(|error| match error {
        CredentialError::SignIn(reason) => MailReadError::Unauthorized { reason },
        CredentialError::Unavailable(reason) => MailReadError::Unreachable { reason },
    })?;
    let secret = secret.as_ref().map(|secret| secret.expose_secret()).unwrap_or_default();
    let signed_in = match credential {
        Credential::Token(_) => {
            let token = Token { first: Some(format!("user={}\x01auth=Bearer {secret}\x01\x01", settings.user)) };
            client.authenticate("XOAUTH2", token).await
        }
        Credential::Password { .. } | Credential::None => client.login(&settings.user, secret).await,
    };
    signed_in.map_err(|(error, _)| match error {
        async_imap::error::Error::No(reason) | async_imap::error::Error::Bad(reason) => {
            MailReadError::Unauthorized { reason: redact(&reason) }
        }
        other => unreachable(other),
    })
}

/// The protected connection, and whether its greeting was read already.
async fn stream(settings: &ImapSettings) -> Result<(Box<dyn Io>, bool), MailReadError> {
    let (host, limit) = (settings.host.as_str(), settings.connect_timeout);
    let stream = connect(host, settings.port, limit).await.map_err(unreachable)?;
    let peer = stream.peer_addr().map_err(unreachable)?;
    Ok(match settings.tls {
        Tls::None if !peer.ip().to_canonical().is_loopback() => {
            return Err(unreachable(ConnectError::NotLoopback { host: host.to_owned() }));
        }
        Tls::None => (Box::new(stream), false),
        Tls::Implicit => (Box::new(secure(stream, host, &settings.roots, limit).await.map_err(unreachable)?), false),
        Tls::StartTls => {
            let stream = ask_for_tls(stream).await.map_err(unreachable)?;
            (Box::new(secure(stream, host, &settings.roots, limit).await.map_err(unreachable)?), true)
        }
    })
}

/// Greeting and STARTTLS up to the server's go-ahead.
async fn ask_for_tls(mut stream: TcpStream) -> std::io::Result<TcpStream> {
    let fail = std::io::Error::other::<String>;
    let mut lines = BufReader::new(&mut stream);
    let mut line = String::new();
    (&mut lines).take(LONGEST_LINE).read_line(&mut line).await?;
    if !line.starts_with("* OK") {
        return Err(fail(format!("the server greeted with {}", line.trim())));
    }
    lines.get_mut().write_all(b"s0 STARTTLS\r\n").await?;
    loop {
        line.clear();
        if (&mut lines).take(LONGEST_LINE).read_line(&mut line).await? == 0 {
            return Err(fail("the server closed the connection".to_owned()));
        }
        if let Some(answer) = line.strip_prefix("s0 ") {
            if !answer.starts_with("OK") {
                return Err(fail(format!("the server refused STARTTLS: {}", answer.trim())));
            }
            break;
        }
    }
    // What came with the go-ahead was not protected and could be anybody's.
    if !lines.buffer().is_empty() {
        return Err(fail("the server spoke on before TLS began".to_owned()));
    }
    drop(lines);
    Ok(stream)
}

/// Gives the token once; an error challenge is answered with nothing, which ends the exchange.
struct Token {
    first: Option<String>,
}

impl Authenticator for Token {
    type Response = String;

    fn process(&mut self, _challenge: &[u8]) -> String {
        self.first.take().unwrap_or_default()
    }
}

pub fn unreachable(error: impl std::fmt::Display) -> MailReadError {
    MailReadError::Unreachable { reason: redact(&error.to_string()) }
}

/// An answer to a command after the sign-in.
pub fn refused(error: async_imap::error::Error) -> MailReadError {
    match error {
        async_imap::error::Error::No(reason) | async_imap::error::Error::Bad(reason) => {
            MailReadError::Refused { reason: redact(&reason) }
        }
        other => unreachable(other),
    }
}
