//! An SMTP server at the TCP level, scripted per step and recipient: it answers, waits, cuts, resets or falls silent.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::net::TcpListener;

use super::socket::{Lines, Socket};
use super::tls::Certificates;

/// Where a script acts.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum At {
    Greeting,
    Ehlo,
    StartTls,
    Auth,
    MailFrom,
    /// One recipient, by address.
    Rcpt(String),
    /// Any recipient without a script of its own.
    AnyRcpt,
    Data,
    /// When this many bytes of the body have arrived.
    Body(usize),
    /// After the final dot; the mail is stored before an action that keeps it.
    FinalDot,
    Quit,
}

/// What happens there.
#[derive(Clone, Debug)]
pub enum Act {
    Reply(&'static str),
    /// Waits, then goes on with the ordinary reply.
    Delay(Duration),
    /// Waits, then replies.
    DelayReply(Duration, &'static str),
    /// Closes the connection.
    Cut,
    /// Resets the connection.
    Reset,
    /// Says nothing more, connection open.
    Silence,
    /// Final dot only: stores the mail first.
    Store(Box<Act>),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stored {
    pub from: String,
    /// Parameters of MAIL FROM.
    pub parameters: String,
    pub recipients: Vec<String>,
    /// As the recipient gets it: dots unstuffed, final dot gone.
    pub data: Vec<u8>,
    /// As it came over the wire, the final dot with it.
    pub wire: Vec<u8>,
}

#[derive(Default)]
struct State {
    script: HashMap<At, VecDeque<Act>>,
    commands: Vec<String>,
    connections: usize,
    stored: Vec<Stored>,
    /// DATA sections that ended with their final dot, stored or not.
    complete: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    Plain,
    StartTls,
    Implicit,
}

pub struct Server {
    pub address: SocketAddr,
    pub certificates: Certificates,
    state: Arc<Mutex<State>>,
}

impl Server {
    pub async fn start(mode: Mode, extensions: &[&'static str]) -> Self {
        Self::start_as("localhost", mode, extensions).await
    }

    /// With a certificate for `name`.
    pub async fn start_as(name: &str, mode: Mode, extensions: &[&'static str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let certificates = Certificates::of(name);
        let state = Arc::new(Mutex::new(State::default()));
        let server = Self { address, certificates: certificates.clone(), state: state.clone() };
        let extensions = extensions.to_vec();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                state.lock().unwrap().connections += 1;
                let session = Session {
                    state: state.clone(),
                    extensions: extensions.clone(),
                    certificates: certificates.clone(),
                    secure: mode == Mode::Implicit,
                    mode,
                };
                let lines = Lines::new(Socket::Plain(stream));
                tokio::spawn(async move {
                    // A client that goes away is part of many scripts.
                    let _ = session.run(lines).await;
                });
            }
        });
        server
    }

    /// Queues an act for the next pass of `at`; without one the step succeeds.
    pub fn script(&self, at: At, act: Act) -> &Self {
        self.state.lock().unwrap().script.entry(at).or_default().push_back(act);
        self
    }

    pub fn rcpt(&self, address: &str, reply: &'static str) -> &Self {
        self.script(At::Rcpt(address.to_owned()), Act::Reply(reply))
    }

    pub fn stored(&self) -> Vec<Stored> {
        self.state.lock().unwrap().stored.clone()
    }

    /// Bodies that arrived with their final dot.
    pub fn complete(&self) -> usize {
        self.state.lock().unwrap().complete
    }

    pub fn commands(&self) -> Vec<String> {
        self.state.lock().unwrap().commands.clone()
    }

    pub fn count(&self, verb: &str) -> usize {
        self.commands().iter().filter(|line| line.to_ascii_uppercase().starts_with(verb)).count()
    }

    pub fn connections(&self) -> usize {
        self.state.lock().unwrap().connections
    }
}

struct Session {
    state: Arc<Mutex<State>>,
    extensions: Vec<&'static str>,
    certificates: Certificates,
    secure: bool,
    mode: Mode,
}

type Ended = std::io::Result<()>;

/// What a step leaves behind.
enum Next {
    Go(Lines, String),
    Over,
}

impl Session {
    fn act(&self, at: &At) -> Option<Act> {
        self.state.lock().unwrap().script.get_mut(at).and_then(VecDeque::pop_front)
    }

    /// Plays the script of a step, or gives the ordinary reply. Returns the reply that was given.
    async fn answer(&self, mut lines: Lines, at: &At, ordinary: &str) -> std::io::Result<Next> {
        let act = self.act(at).or_else(|| if matches!(at, At::Rcpt(_)) { self.act(&At::AnyRcpt) } else { None });
        let (wait, reply) = match act {
            None => (Duration::ZERO, ordinary.to_owned()),
            Some(Act::Reply(reply)) => (Duration::ZERO, reply.to_owned()),
            Some(Act::Delay(wait)) => (wait, ordinary.to_owned()),
            Some(Act::DelayReply(wait, reply)) => (wait, reply.to_owned()),
            Some(Act::Cut) => return Ok(Next::Over),
            Some(Act::Reset) => {
                lines.reset();
                return Ok(Next::Over);
            }
            Some(Act::Silence) => {
                while lines.line().await?.is_some() {}
                return Ok(Next::Over);
            }
            Some(Act::Store(_)) => panic!("Store belongs to the final dot"),
        };
        tokio::time::sleep(wait).await;
        lines.write(format!("{reply}\r\n").as_bytes()).await?;
        Ok(Next::Go(lines, reply))
    }

    async fn run(mut self, lines: Lines) -> Ended {
        let lines = if self.secure { lines.secured(&self.certificates).await? } else { lines };
        let Next::Go(mut lines, reply) = self.answer(lines, &At::Greeting, "220 fake ready").await? else {
            return Ok(());
        };
        if !reply.starts_with('2') {
            return Ok(());
        }
        let mut envelope: Option<(String, String)> = None;
        let mut recipients = Vec::new();
        while let Some(line) = lines.line().await? {
            let line = String::from_utf8_lossy(&line).trim_end().to_owned();
            self.state.lock().unwrap().commands.push(line.clone());
            let upper = line.to_ascii_uppercase();
            let next = if upper.starts_with("EHLO") {
                let mut reply = vec!["fake".to_owned()];
                reply.extend(self.extensions.iter().map(|name| (*name).to_owned()));
                if self.mode == Mode::StartTls && !self.secure {
                    reply.push("STARTTLS".to_owned());
                }
                let last = reply.len() - 1;
                let reply: Vec<String> = reply
                    .iter()
                    .enumerate()
                    .map(|(n, word)| format!("250{}{word}", if n == last { ' ' } else { '-' }))
                    .collect();
                self.answer(lines, &At::Ehlo, &reply.join("\r\n")).await?
            } else if upper == "STARTTLS" {
                match self.answer(lines, &At::StartTls, "220 go ahead").await? {
                    Next::Go(plain, reply) if reply.starts_with('2') => {
                        self.secure = true;
                        Next::Go(plain.secured(&self.certificates).await?, reply)
                    }
                    other => other,
                }
            } else if upper.starts_with("AUTH LOGIN") {
                lines.write(b"334 VXNlcm5hbWU6\r\n").await?;
                let user = lines.line().await?;
                lines.write(b"334 UGFzc3dvcmQ6\r\n").await?;
                let secret = lines.line().await?;
                for part in [user, secret].into_iter().flatten() {
                    self.state.lock().unwrap().commands.push(String::from_utf8_lossy(&part).trim_end().to_owned());
                }
                self.answer(lines, &At::Auth, "235 signed in").await?
            } else if upper.starts_with("AUTH") {
                self.answer(lines, &At::Auth, "235 signed in").await?
            } else if upper.starts_with("MAIL FROM:") {
                let (from, parameters) = path(&line);
                recipients.clear();
                match self.answer(lines, &At::MailFrom, "250 sender ok").await? {
                    Next::Go(lines, reply) => {
                        envelope = reply.starts_with('2').then_some((from, parameters));
                        Next::Go(lines, reply)
                    }
                    Next::Over => Next::Over,
                }
            } else if upper.starts_with("RCPT TO:") {
                let (to, _) = path(&line);
                match self.answer(lines, &At::Rcpt(to.clone()), "250 recipient ok").await? {
                    Next::Go(lines, reply) => {
                        if reply.starts_with('2') {
                            recipients.push(to);
                        }
                        Next::Go(lines, reply)
                    }
                    Next::Over => Next::Over,
                }
            } else if upper == "DATA" {
                match self.answer(lines, &At::Data, "354 go on").await? {
                    Next::Go(lines, reply) if reply.starts_with('3') => {
                        let (from, parameters) = envelope.take().expect("DATA without MAIL FROM");
                        let mail = Stored {
                            from,
                            parameters,
                            recipients: std::mem::take(&mut recipients),
                            data: Vec::new(),
                            wire: Vec::new(),
                        };
                        self.body(lines, mail).await?
                    }
                    other => other,
                }
            } else if upper == "QUIT" {
                self.answer(lines, &At::Quit, "221 bye").await?;
                return Ok(());
            } else {
                lines.write(b"502 what?\r\n").await?;
                Next::Go(lines, String::new())
            };
            match next {
                Next::Go(open, reply) => {
                    lines = open;
                    if reply.starts_with("421") {
                        return Ok(());
                    }
                }
                Next::Over => return Ok(()),
            }
        }
        Ok(())
    }

    async fn body(&self, mut lines: Lines, mut mail: Stored) -> std::io::Result<Next> {
        let cut = {
            let state = self.state.lock().unwrap();
            let at = state.script.iter().filter(|(_, acts)| !acts.is_empty()).filter_map(|(at, _)| match at {
                At::Body(bytes) => Some(*bytes),
                _ => None,
            });
            at.min()
        };
        loop {
            if let Some(bytes) = cut
                && mail.wire.len() >= bytes
            {
                match self.act(&At::Body(bytes)) {
                    Some(Act::Reset) => lines.reset(),
                    // Nothing more is taken either.
                    Some(Act::Silence) => std::future::pending().await,
                    _ => {}
                }
                return Ok(Next::Over);
            }
            let Some(line) = lines.line().await? else { return Ok(Next::Over) };
            mail.wire.extend_from_slice(&line);
            if line == b".\r\n" {
                break;
            }
            mail.data.extend_from_slice(line.strip_prefix(b".").unwrap_or(&line));
        }
        self.state.lock().unwrap().complete += 1;
        let act = self.act(&At::FinalDot);
        let store = |mail: Stored| {
            let mut state = self.state.lock().unwrap();
            state.stored.push(mail);
            format!("250 2.0.0 queued as Q{}", state.stored.len())
        };
        match act {
            Some(Act::Store(act)) => {
                let reply = store(mail);
                self.state.lock().unwrap().script.entry(At::FinalDot).or_default().push_front(*act);
                self.answer(lines, &At::FinalDot, &reply).await
            }
            Some(act) => {
                let accepts = match &act {
                    Act::Reply(reply) | Act::DelayReply(_, reply) => reply.starts_with('2'),
                    Act::Delay(_) => true,
                    Act::Cut | Act::Reset | Act::Silence | Act::Store(_) => false,
                };
                let reply = if accepts { store(mail) } else { String::new() };
                self.state.lock().unwrap().script.entry(At::FinalDot).or_default().push_front(act);
                self.answer(lines, &At::FinalDot, &reply).await
            }
            None => {
                let reply = store(mail);
                lines.write(format!("{reply}\r\n").as_bytes()).await?;
                Ok(Next::Go(lines, reply))
            }
        }
    }
}

/// `MAIL FROM:<a@b> PARAMETERS` apart.
fn path(line: &str) -> (String, String) {
    let open = line.find('<').unwrap();
    let close = line.find('>').unwrap();
    (line[open + 1..close].to_owned(), line[close + 1..].trim().to_owned())
}
