//! One dialogue with a server, step by step, up to the reply to the final dot.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lettre::Address;
use lettre::transport::smtp::Error;
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::AsyncSmtpConnection;
use lettre::transport::smtp::commands::{Data, Mail, Rcpt};
use lettre::transport::smtp::extension::{ClientId, Extension, MailBodyParameter, MailParameter};
use lettre::transport::smtp::response::Response;
use secrecy::{ExposeSecret, SecretString};

use super::body::{Blocks, Progress, silence};
use super::reply::{Step, clean};
use super::settings::SmtpSettings;
use super::wire::{LastWords, Wire, ask_for_tls};
use crate::mail::net::{ConnectError, Io, Tls, connect, secure};
use crate::runtime::failpoint;

/// QUIT is a courtesy.
const QUIT_TIMEOUT: Duration = Duration::from_secs(5);

/// How the sign-in is done.
pub enum SignIn {
    None,
    Password(String, SecretString),
    Token(String, SecretString),
}

/// An open, signed-in connection.
pub struct Dialogue<'a> {
    settings: &'a SmtpSettings,
    connection: AsyncSmtpConnection,
    heard: LastWords,
    progress: Arc<Progress>,
}

/// A step before the mail that ended the attempt.
#[derive(Debug)]
pub struct Stopped {
    pub phase: &'static str,
    pub step: Step,
}

/// What became of the body.
pub enum Delivered {
    /// The server answered, or the connection broke before the final dot.
    Answered { before_dot: bool, step: Step },
    /// The final dot could have left and no reply came.
    Silence { reason: String },
}

impl<'a> Dialogue<'a> {
    /// Connects, protects and signs in. Nothing of the mail is said.
    pub async fn open(settings: &'a SmtpSettings, sign_in: SignIn) -> Result<Self, Stopped> {
        hit("smtp.before_connect", "connect")?;
        let heard = LastWords::default();
        let progress = Arc::new(Progress::default());
        let (stream, peer, hello) = protected(settings).await?;
        let mut wire = Wire::new(stream, peer, heard.clone(), progress.clone());
        if settings.tls == Tls::StartTls {
            wire = wire.already_greeted();
        }
        hit("smtp.after_connect", "connect")?;
        let greeted = AsyncSmtpConnection::connect_with_transport(Box::new(wire), &hello);
        let connection = match within(settings.step_timeout, greeted).await {
            Ok(connection) => connection,
            Err(fault) => return Err(Stopped { phase: "connect", step: fault.step(&heard) }),
        };
        let mut dialogue = Self { settings, connection, heard, progress };
        dialogue.sign_in(sign_in).await?;
        Ok(dialogue)
    }

    async fn sign_in(&mut self, sign_in: SignIn) -> Result<(), Stopped> {
        let (mechanisms, user, secret): (&[Mechanism], _, _) = match sign_in {
            SignIn::None => return Ok(()),
            SignIn::Password(user, secret) => (&[Mechanism::Plain, Mechanism::Login], user, secret),
            SignIn::Token(user, secret) => (&[Mechanism::Xoauth2], user, secret),
        };
        if self.connection.server_info().get_auth_mechanism(mechanisms).is_none() {
            let names: Vec<String> = mechanisms.iter().map(ToString::to_string).collect();
            let reason = format!("the server does not offer to sign in by {}", names.join(" or "));
            return Err(Stopped { phase: "auth", step: Step::Broken(reason) });
        }
        let credentials = Credentials::new(user, secret.expose_secret().to_owned());
        let attempt = within(self.settings.step_timeout, self.connection.auth(mechanisms, &credentials)).await;
        let step = match attempt {
            // XOAUTH2 answers a bad token with a challenge that holds the error.
            Err(Fault::Smtp(error)) if error.is_client() => {
                token_refused(&self.heard.text()).unwrap_or_else(|| Step::Broken(clean(&error.to_string())))
            }
            other => judged(other, &self.heard),
        };
        match step {
            Step::Yes(_) => hit("smtp.after_auth", "auth"),
            step => Err(Stopped { phase: "auth", step }),
        }
    }

    pub fn supports_smtputf8(&self) -> bool {
        let server = self.connection.server_info();
        server.supports_feature(Extension::SmtpUtfEight) && server.supports_feature(Extension::EightBitMime)
    }

    /// MAIL FROM with what this mail needs.
    pub async fn mail_from(&mut self, from: Address, smtputf8: bool, eight_bit: bool) -> Step {
        let mut options = Vec::new();
        if eight_bit {
            options.push(MailParameter::Body(MailBodyParameter::EightBitMime));
        }
        if smtputf8 {
            options.push(MailParameter::SmtpUtfEight);
        }
        let command = self.connection.command(Mail::new(Some(from), options));
        let step = judged(within(self.settings.step_timeout, command).await, &self.heard);
        expect_after(step, '2', "smtp.after_mail_from")
    }

    pub async fn recipient(&mut self, address: Address) -> Step {
        let command = self.connection.command(Rcpt::new(address, Vec::new()));
        expect_after(judged(within(self.settings.step_timeout, command).await, &self.heard), '2', "smtp.after_rcpt")
    }

    pub async fn data(&mut self) -> Step {
        let command = self.connection.command(Data);
        expect_after(judged(within(self.settings.step_timeout, command).await, &self.heard), '3', "smtp.after_data")
    }

    /// Sends the body and the final dot and waits for the reply.
    pub async fn body(&mut self, bytes: &[u8]) -> Delivered {
        // The line end before the final dot is the body's own last one.
        let body = bytes.strip_suffix(b"\r\n").unwrap_or(bytes);
        let blocks = Blocks::new(body, self.progress.clone());
        let progress = self.progress.clone();
        let step = tokio::select! {
            result = self.connection.message_iter(blocks) => Step::of(result, &self.heard),
            reason = silence(&progress, self.settings) => Step::Broken(reason),
        };
        let step = expect_after(step, '2', "smtp.after_reply");
        match step {
            Step::Broken(reason) if progress.dot_may_have_left() => Delivered::Silence { reason },
            step => Delivered::Answered { before_dot: !progress.dot_may_have_left(), step },
        }
    }

    /// Says goodbye without being waited for; what comes of it changes nothing.
    pub fn quit(mut self) {
        tokio::spawn(async move {
            if failpoint::hit("smtp.before_quit").is_err() {
                return;
            }
            // silent-ok: the outcome stands already.
            let _ = tokio::time::timeout(QUIT_TIMEOUT, self.connection.quit()).await;
        });
    }
}

enum Fault {
    Timeout(Duration),
    Smtp(Error),
}

impl Fault {
    fn step(self, heard: &LastWords) -> Step {
        match self {
            Self::Timeout(after) => Step::Broken(format!("the server did not answer within {} s", after.as_secs())),
            Self::Smtp(error) => Step::of(Err(error), heard),
        }
    }
}

async fn within<T>(limit: Duration, step: impl Future<Output = Result<T, Error>>) -> Result<T, Fault> {
    match tokio::time::timeout(limit, step).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(Fault::Smtp(error)),
        Err(_) => Err(Fault::Timeout(limit)),
    }
}

fn judged(result: Result<Response, Fault>, heard: &LastWords) -> Step {
    match result {
        Ok(response) => Step::of(Ok(response), heard),
        Err(fault) => fault.step(heard),
    }
}

/// A positive reply of the wrong kind says nothing about the step.
fn expect_after(step: Step, digit: char, point: &'static str) -> Step {
    match step {
        Step::Yes(reply) if !reply.starts_with(digit) => Step::Broken(format!("unexpected reply {reply}")),
        Step::Yes(reply) => match failpoint::hit(point) {
            Ok(()) => Step::Yes(reply),
            Err(failed) => Step::Broken(failed.to_string()),
        },
        other => other,
    }
}

fn hit(point: &'static str, phase: &'static str) -> Result<(), Stopped> {
    failpoint::hit(point).map_err(|failed| Stopped { phase, step: Step::Broken(failed.to_string()) })
}

/// Opens the protected connection, and says by what name we greet: our address there, never the host's name.
async fn protected(settings: &SmtpSettings) -> Result<(Box<dyn Io>, SocketAddr, ClientId), Stopped> {
    let unreachable = |error: ConnectError| Stopped {
        phase: if matches!(error, ConnectError::Tls { .. }) { "tls" } else { "connect" },
        step: match error {
            // A setting, not a passing state: trying again would not help.
            ConnectError::NotLoopback { .. } => Step::No(error.to_string()),
            other => Step::Broken(clean(&other.to_string())),
        },
    };
    let (host, limit) = (settings.host.as_str(), settings.connect_timeout);
    let stream = connect(host, settings.port, limit).await.map_err(unreachable)?;
    let io = |error: std::io::Error| Stopped { phase: "connect", step: Step::Broken(error.to_string()) };
    let peer = stream.peer_addr().map_err(io)?;
    let hello = match stream.local_addr().map_err(io)?.ip().to_canonical() {
        IpAddr::V4(address) => ClientId::Ipv4(address),
        IpAddr::V6(address) => ClientId::Ipv6(address),
    };
    let boxed: Box<dyn Io> = match settings.tls {
        Tls::None if !peer.ip().to_canonical().is_loopback() => {
            return Err(unreachable(ConnectError::NotLoopback { host: host.to_owned() }));
        }
        Tls::None => Box::new(stream),
        Tls::Implicit => Box::new(secure(stream, host, &settings.roots, limit).await.map_err(unreachable)?),
        Tls::StartTls => {
            let asked = tokio::time::timeout(settings.step_timeout, ask_for_tls(stream, &hello.to_string())).await;
            let stream = match asked {
                Ok(Ok(stream)) => stream,
                Ok(Err(Ok(reply))) if reply.starts_with('5') => {
                    return Err(Stopped { phase: "tls", step: Step::No(clean(&reply)) });
                }
                Ok(Err(Ok(reply))) => return Err(Stopped { phase: "tls", step: Step::NotNow(clean(&reply)) }),
                Ok(Err(Err(error))) => {
                    return Err(Stopped { phase: "tls", step: Step::Broken(clean(&error.to_string())) });
                }
                Err(_) => {
                    let reason = "the server did not answer to STARTTLS".to_owned();
                    return Err(Stopped { phase: "tls", step: Step::Broken(reason) });
                }
            };
            Box::new(secure(stream, host, &settings.roots, limit).await.map_err(unreachable)?)
        }
    };
    Ok((boxed, peer, hello))
}

/// The JSON in a `334` challenge to XOAUTH2, e.g. `{"status":"401","schemes":"Bearer"}`.
fn token_refused(heard: &str) -> Option<Step> {
    let challenge = heard.trim().strip_prefix("334")?.trim();
    let text = String::from_utf8(STANDARD.decode(challenge).ok()?).ok()?;
    Some(Step::No(clean(&format!("535 the access token was refused: {text}"))))
}
