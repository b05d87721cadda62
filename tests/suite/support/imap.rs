//! An IMAP server at the TCP level with a mailbox in memory: special-use folders, substring SEARCH as the standard has it,
//! an index that lags, APPEND, IDLE, and scripted refusals.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::Notify;

use super::smtp::Mode;
use super::socket::{Lines, Socket};
use super::tls::Certificates;

#[derive(Clone)]
pub struct Mail {
    pub uid: u32,
    pub bytes: Vec<u8>,
    pub seen: bool,
}

pub struct Folder {
    pub attributes: &'static str,
    pub validity: u32,
    pub mails: Vec<Mail>,
    next: u32,
}

struct State {
    folders: Vec<(String, Folder)>,
    /// Scripted answers by verb, in turn: `NO …`, `BAD …`, or empty to cut the connection.
    script: HashMap<&'static str, VecDeque<&'static str>>,
    /// This many searches find nothing, as with an index that lags.
    blind_searches: usize,
    commands: Vec<String>,
}

pub struct Server {
    pub address: SocketAddr,
    pub certificates: Certificates,
    state: Arc<Mutex<State>>,
    changed: Arc<Notify>,
}

impl Server {
    pub async fn start(mode: Mode) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let certificates = Certificates::of("localhost");
        let state = Arc::new(Mutex::new(State {
            folders: Vec::new(),
            script: HashMap::new(),
            blind_searches: 0,
            commands: Vec::new(),
        }));
        let changed = Arc::new(Notify::new());
        let server =
            Self { address, certificates: certificates.clone(), state: state.clone(), changed: changed.clone() };
        server.folder("INBOX", "");
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let session = Session {
                    state: state.clone(),
                    changed: changed.clone(),
                    certificates: certificates.clone(),
                    selected: String::new(),
                };
                tokio::spawn(async move {
                    // A client that goes away is part of many scripts.
                    let _ = session.run(Lines::new(Socket::Plain(stream)), mode).await;
                });
            }
        });
        server
    }

    pub fn folder(&self, name: &str, attributes: &'static str) -> &Self {
        let folder = Folder { attributes, validity: 1_700_000_000, mails: Vec::new(), next: 1 };
        self.state.lock().unwrap().folders.push((name.to_owned(), folder));
        self
    }

    /// Stores a mail as if it had arrived.
    pub fn put(&self, folder: &str, bytes: impl Into<Vec<u8>>) -> u32 {
        let uid = put(&mut self.state.lock().unwrap(), folder, bytes.into(), false).unwrap();
        self.changed.notify_waiters();
        uid
    }

    /// Numbers every mail of a folder anew.
    pub fn renumber(&self, folder: &str) {
        find(&mut self.state.lock().unwrap(), folder).unwrap().validity += 1;
    }

    pub fn blind_searches(&self, count: usize) -> &Self {
        self.state.lock().unwrap().blind_searches = count;
        self
    }

    /// The next `verb` is answered so; empty cuts the connection.
    pub fn script(&self, verb: &'static str, answer: &'static str) -> &Self {
        self.state.lock().unwrap().script.entry(verb).or_default().push_back(answer);
        self
    }

    pub fn mails(&self, folder: &str) -> Vec<Mail> {
        find(&mut self.state.lock().unwrap(), folder).unwrap().mails.clone()
    }

    pub fn count(&self, verb: &str) -> usize {
        self.state.lock().unwrap().commands.iter().filter(|line| line.starts_with(verb)).count()
    }

    pub fn commands(&self) -> Vec<String> {
        self.state.lock().unwrap().commands.clone()
    }
}

fn find<'a>(state: &'a mut State, name: &str) -> Option<&'a mut Folder> {
    state.folders.iter_mut().find(|(known, _)| known == name).map(|(_, folder)| folder)
}

fn put(state: &mut State, name: &str, bytes: Vec<u8>, seen: bool) -> Option<u32> {
    let folder = find(state, name)?;
    let uid = folder.next;
    folder.next += 1;
    folder.mails.push(Mail { uid, bytes, seen });
    Some(uid)
}

struct Session {
    state: Arc<Mutex<State>>,
    changed: Arc<Notify>,
    certificates: Certificates,
    selected: String,
}

impl Session {
    async fn run(mut self, lines: Lines, mode: Mode) -> std::io::Result<()> {
        let mut lines = if mode == Mode::Implicit { lines.secured(&self.certificates).await? } else { lines };
        lines.write(b"* OK fake ready\r\n").await?;
        while let Some(line) = lines.line().await? {
            let line = String::from_utf8_lossy(&line).trim_end().to_owned();
            let Some((tag, command)) = line.split_once(' ') else { continue };
            let (verb, rest) = split_verb(command);
            let scripted = {
                let mut state = self.state.lock().unwrap();
                state.commands.push(format!("{verb} {rest}").trim_end().to_owned());
                state.script.iter_mut().find(|(key, _)| **key == verb).and_then(|(_, answers)| answers.pop_front())
            };
            match scripted {
                Some("") => return Ok(()),
                Some(answer) => {
                    lines.write(format!("{tag} {answer}\r\n").as_bytes()).await?;
                    continue;
                }
                None => {}
            }
            let answer = match verb.as_str() {
                "STARTTLS" => {
                    lines.write(format!("{tag} OK go\r\n").as_bytes()).await?;
                    lines = lines.secured(&self.certificates).await?;
                    continue;
                }
                "AUTHENTICATE" => {
                    lines.write(b"+ \r\n").await?;
                    let Some(token) = lines.line().await? else { return Ok(()) };
                    let token = String::from_utf8_lossy(&token).trim_end().to_owned();
                    self.state.lock().unwrap().commands.push(format!("TOKEN {token}"));
                    "OK signed in".to_owned()
                }
                "LIST" => {
                    let folders: Vec<String> = {
                        let state = self.state.lock().unwrap();
                        let line = |(name, folder): &(String, Folder)| {
                            format!("* LIST ({}) \"/\" \"{name}\"\r\n", folder.attributes)
                        };
                        state.folders.iter().map(line).collect()
                    };
                    lines.write(folders.concat().as_bytes()).await?;
                    "OK listed".to_owned()
                }
                "EXAMINE" | "SELECT" => {
                    self.selected = rest.trim_matches('"').to_owned();
                    let found = find(&mut self.state.lock().unwrap(), &self.selected)
                        .map(|folder| (folder.mails.len(), folder.validity, folder.next));
                    match found {
                        Some((count, validity, next)) => {
                            let text = format!(
                                "* FLAGS (\\Seen)\r\n* {count} EXISTS\r\n* 0 RECENT\r\n\
                                 * OK [UIDVALIDITY {validity}] v\r\n* OK [UIDNEXT {next}] n\r\n"
                            );
                            lines.write(text.as_bytes()).await?;
                            "OK [READ-ONLY] examined".to_owned()
                        }
                        None => "NO no such folder".to_owned(),
                    }
                }
                "UID SEARCH" => {
                    let hits = self.search(&rest);
                    lines.write(format!("* SEARCH{hits}\r\n").as_bytes()).await?;
                    "OK searched".to_owned()
                }
                "UID FETCH" | "FETCH" => {
                    let answer = self.fetch(&rest, verb == "UID FETCH");
                    lines.write(&answer).await?;
                    "OK fetched".to_owned()
                }
                "APPEND" => {
                    let folder = rest.split('"').nth(1).unwrap_or_default().to_owned();
                    let length: usize = rest.rsplit('{').next().unwrap().trim_end_matches('}').parse().unwrap();
                    lines.write(b"+ go on\r\n").await?;
                    let Some(bytes) = lines.exact(length).await? else { return Ok(()) };
                    lines.line().await?;
                    let stored = put(&mut self.state.lock().unwrap(), &folder, bytes, rest.contains("\\Seen"));
                    if stored.is_some() { "OK appended".to_owned() } else { "NO [TRYCREATE] no such folder".to_owned() }
                }
                "IDLE" => {
                    lines.write(b"+ idling\r\n").await?;
                    let count =
                        |state: &mut State, name: &str| find(state, name).map_or(0, |folder| folder.mails.len());
                    tokio::select! {
                        () = self.changed.notified() => {
                            let exists = count(&mut self.state.lock().unwrap(), &self.selected);
                            lines.write(format!("* {exists} EXISTS\r\n").as_bytes()).await?;
                            lines.line().await?;
                        }
                        done = lines.line() => { done?; }
                    }
                    "OK idled".to_owned()
                }
                "LOGOUT" => {
                    lines.write(format!("* BYE bye\r\n{tag} OK bye\r\n").as_bytes()).await?;
                    return Ok(());
                }
                "CAPABILITY" => {
                    lines.write(b"* CAPABILITY IMAP4rev1 IDLE SPECIAL-USE AUTH=XOAUTH2\r\n").await?;
                    "OK".to_owned()
                }
                "LOGIN" | "NOOP" => "OK done".to_owned(),
                other => format!("BAD what is {other}"),
            };
            lines.write(format!("{tag} {answer}\r\n").as_bytes()).await?;
        }
        Ok(())
    }

    fn search(&self, keys: &str) -> String {
        let mut state = self.state.lock().unwrap();
        if state.blind_searches > 0 {
            state.blind_searches -= 1;
            return String::new();
        }
        let keys = tokens(keys);
        let folder = find(&mut state, &self.selected).unwrap();
        let hit = |mail: &&Mail| {
            let mut at = keys.iter().map(String::as_str);
            let mut all = true;
            while let Some(key) = at.next() {
                all &= matches(mail, key, &mut at);
            }
            all
        };
        folder.mails.iter().filter(hit).map(|mail| format!(" {}", mail.uid)).collect()
    }

    fn fetch(&self, rest: &str, uids: bool) -> Vec<u8> {
        let (set, items) = rest.split_once(' ').unwrap();
        let mut state = self.state.lock().unwrap();
        let folder = find(&mut state, &self.selected).unwrap();
        let mut out = Vec::new();
        for (n, mail) in folder.mails.iter().enumerate() {
            let number = if uids { mail.uid } else { u32::try_from(n).unwrap() + 1 };
            if !in_set(set, number) {
                continue;
            }
            let (name, bytes) = if let Some(limit) = items.split("BODY.PEEK[]<0.").nth(1) {
                let limit: usize = limit.split('>').next().unwrap().parse().unwrap();
                ("BODY[]<0>".to_owned(), mail.bytes[..mail.bytes.len().min(limit)].to_vec())
            } else {
                let names = items.split("HEADER.FIELDS (").nth(1).unwrap().split(')').next().unwrap();
                (format!("BODY[HEADER.FIELDS ({names})]"), headers(&mail.bytes, names))
            };
            out.extend_from_slice(
                format!("* {} FETCH (UID {} {name} {{{}}}\r\n", n + 1, mail.uid, bytes.len()).as_bytes(),
            );
            out.extend_from_slice(&bytes);
            out.extend_from_slice(b")\r\n");
        }
        out
    }
}

fn split_verb(command: &str) -> (String, String) {
    let (first, rest) = command.split_once(' ').unwrap_or((command, ""));
    let first = first.to_ascii_uppercase();
    if first == "UID" {
        let (second, rest) = rest.split_once(' ').unwrap();
        return (format!("UID {}", second.to_ascii_uppercase()), rest.to_owned());
    }
    (first, rest.to_owned())
}

/// One search key on one mail. Texts match as substrings, without case.
fn matches<'a>(mail: &Mail, key: &str, rest: &mut impl Iterator<Item = &'a str>) -> bool {
    let text = String::from_utf8_lossy(&mail.bytes).to_lowercase();
    let header = |name: &str, value: &str| {
        String::from_utf8_lossy(&headers(&mail.bytes, name)).to_lowercase().contains(&value.to_lowercase())
    };
    match key {
        "ALL" => true,
        "UNSEEN" => !mail.seen,
        "HEADER" => {
            let name = rest.next().unwrap();
            header(name, rest.next().unwrap())
        }
        "FROM" | "TO" | "SUBJECT" => header(key, rest.next().unwrap()),
        "TEXT" => text.contains(&rest.next().unwrap().to_lowercase()),
        "SINCE" | "BEFORE" => rest.next().is_some(),
        "UID" => in_set(rest.next().unwrap(), mail.uid),
        "OR" => {
            let first = rest.next().unwrap();
            let one = matches(mail, first, rest);
            let second = rest.next().unwrap();
            let other = matches(mail, second, rest);
            one || other
        }
        other => panic!("unknown search key {other}"),
    }
}

fn headers(bytes: &[u8], names: &str) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let head = text.split("\r\n\r\n").next().unwrap().replace("\r\n ", " ").replace("\r\n\t", " ");
    let wanted: Vec<String> = names.split(' ').map(str::to_lowercase).collect();
    let mut out = String::new();
    for line in head.split("\r\n") {
        if line.split(':').next().is_some_and(|name| wanted.contains(&name.to_lowercase())) {
            out.push_str(line);
            out.push_str("\r\n");
        }
    }
    out.push_str("\r\n");
    out.into_bytes()
}

fn in_set(set: &str, number: u32) -> bool {
    set.split(',').any(|part| match part.split_once(':') {
        Some((from, to)) => {
            let to = if to == "*" { u32::MAX } else { to.parse().unwrap() };
            (from.parse::<u32>().unwrap()..=to).contains(&number)
        }
        None => part.parse() == Ok(number),
    })
}

fn tokens(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut token = String::new();
    let (mut quoted, mut escaped, mut some) = (false, false, false);
    for c in text.chars() {
        match (c, quoted, escaped) {
            (c, _, true) => {
                token.push(c);
                escaped = false;
            }
            ('\\', true, false) => escaped = true,
            ('"', _, false) => {
                quoted = !quoted;
                some = true;
            }
            (' ', false, false) => {
                if some || !token.is_empty() {
                    out.push(std::mem::take(&mut token));
                    some = false;
                }
            }
            (c, _, false) => token.push(c),
        }
    }
    if some || !token.is_empty() {
        out.push(token);
    }
    out
}

/// Long enough for a local server under load.
pub const PATIENCE: Duration = Duration::from_secs(20);
