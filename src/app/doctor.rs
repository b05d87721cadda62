//! `doctor`: checks everything an installation needs, and says how to mend what is wrong.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::compose::Stack;
use super::lifecycle::{App, StartError};
use super::options::AppOptions;
use super::running::Running;
use super::settings;
use crate::api::{Line, Request};
use crate::audit;
use crate::config::{CalendarBackend, Config, MailBackend, Places, Provider};
use crate::domain::chat::{ChatMessage, ChatRequest};
use crate::domain::ports::{NoSink, PollError, SecretError, Secrets};
use crate::runtime::redact::redact;
use crate::runtime::secrets::{ConfiguredSecrets, Keychain, SecretRef};
use crate::store::{DataFolder, StoreError};

/// Longest time for one check of a server.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckState {
    Ok,
    /// Works, with something to know.
    Note,
    Bad,
}

/// One line of the answer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Check {
    pub name: &'static str,
    pub state: CheckState,
    pub detail: String,
    /// How to mend it.
    pub mend: Option<String>,
}

impl Check {
    fn ok(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, state: CheckState::Ok, detail: detail.into(), mend: None }
    }
    fn note(name: &'static str, detail: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { name, state: CheckState::Note, detail: redact(&detail.into()), mend: Some(mend.into()) }
    }
    fn bad(name: &'static str, detail: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { name, state: CheckState::Bad, detail: redact(&detail.into()), mend: Some(mend.into()) }
    }

    pub fn is_bad(&self) -> bool {
        self.state == CheckState::Bad
    }

    pub fn in_words(&self) -> String {
        let state = match self.state {
            CheckState::Ok => "ok",
            CheckState::Note => "note",
            CheckState::Bad => "BAD",
        };
        let mend = self.mend.as_ref().map(|mend| format!("\n                      {mend}")).unwrap_or_default();
        format!("{state:<5}{:<15}{}{mend}", self.name, self.detail)
    }
}

/// Checks in the order in which they depend on one another.
pub async fn doctor(options: AppOptions, places: &Places) -> Vec<Check> {
    let config = options.loaded.config.clone();
    let folder = options.folder.clone();
    let keychain: Arc<dyn Secrets> = options.ports.keychain.clone().unwrap_or_else(|| Arc::new(Keychain::default()));
    let mut checks = vec![configuration(places), data_folder(&folder)];
    checks.extend(secrets(&config, &keychain).await);
    match App::open(options).await {
        Ok(app) => {
            checks.extend(on_the_database(&app).await);
            checks.extend(edges(app.stack()).await);
            checks.extend(tool_servers(app.stack()).await);
            app.stop().await;
        }
        Err(StartError::Store(StoreError::InUse(_))) => checks.extend(running(&folder).await),
        Err(error) => checks.push(database_error(&error)),
    }
    checks
}

fn configuration(places: &Places) -> Check {
    let file = places.config.display();
    if places.config.exists() {
        Check::ok("configuration", format!("{file} is valid"))
    } else {
        Check::ok("configuration", format!("{file} is absent: the defaults hold"))
    }
}

fn data_folder(folder: &DataFolder) -> Check {
    let path = folder.path().display().to_string();
    let probe = folder.path().join(".doctor");
    let written = std::fs::write(&probe, b"x").and_then(|()| std::fs::remove_file(&probe));
    match written {
        Ok(()) => Check::ok("data folder", path),
        Err(error) => Check::bad(
            "data folder",
            format!("{path}: {error}"),
            "free some space, or choose another folder with --data",
        ),
    }
}

fn database_error(error: &StartError) -> Check {
    let mend = match error {
        StartError::Store(StoreError::Locked) => "end the other program that has the database open",
        StartError::Store(StoreError::DiskFull) => "free some space: nothing accepted is lost",
        StartError::Store(StoreError::NotWritable(_)) => "make the data folder writable for you",
        StartError::Store(StoreError::Damaged(_)) => "put a backup in place with `restore`",
        StartError::Store(StoreError::Newer { .. }) => "start the newer program",
        _ => "see the log in the data folder",
    };
    Check::bad("database", error.to_string(), mend)
}

/// Every secret that the configuration needs, and the keychain itself.
async fn secrets(config: &Config, keychain: &Arc<dyn Secrets>) -> Vec<Check> {
    let mut checks = vec![match keychain.get("doctor.probe").await {
        Ok(_) | Err(SecretError::Missing { .. } | SecretError::Empty { .. }) => Check::ok("keychain", "answers"),
        Err(error @ SecretError::Locked { .. }) => {
            Check::bad("keychain", error.to_string(), "unlock it; no restart is needed")
        }
        Err(error @ SecretError::Unavailable { .. }) => Check::note(
            "keychain",
            error.to_string(),
            "give secrets as { env = \"NAME\" } or { file = \"PATH\" } in the configuration",
        ),
        Err(error @ SecretError::Invalid { .. }) => Check::bad("keychain", error.to_string(), "remove that entry"),
    }];
    let references = settings::secret_references(config);
    let configured = ConfiguredSecrets::new(references.clone(), keychain.clone());
    for name in needed(config) {
        if references.get(name) == Some(&SecretRef::None) {
            continue;
        }
        if let Err(error) = configured.get(name).await {
            let mend = format!("store {name} in the keychain, or say in the configuration where it is");
            checks.push(Check::bad("secret", format!("{name}: {error}"), mend));
        }
    }
    checks
}

/// Keys of the secrets that this configuration cannot do without.
fn needed(config: &Config) -> Vec<&'static str> {
    let mut names = Vec::new();
    if config.telegram.enabled {
        names.push("telegram.token");
    }
    match config.model.provider {
        Provider::Practice | Provider::Ollama => {}
        Provider::Openai if !config.model.base_url.is_empty() => {}
        Provider::Openai | Provider::Anthropic | Provider::Gemini => names.push("model.api_key"),
    }
    match config.calendar.backend {
        CalendarBackend::Caldav if !config.calendar.caldav.user.is_empty() => names.push("calendar.caldav.password"),
        CalendarBackend::Google => names.push("calendar.google.refresh_token"),
        CalendarBackend::Local | CalendarBackend::Caldav => {}
    }
    match config.mail.backend {
        MailBackend::Smtp if !config.mail.smtp.user.is_empty() => names.push("mail.smtp.password"),
        MailBackend::Gmail => names.push("mail.oauth.refresh_token"),
        MailBackend::Maildir | MailBackend::Smtp => {}
    }
    names
}

async fn on_the_database(app: &App) -> Vec<Check> {
    let mut checks = Vec::new();
    let quick: Result<String, StoreError> =
        app.store().read(|connection| Ok(connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?)).await;
    checks.push(match quick {
        Ok(verdict) if verdict == "ok" => Check::ok("database", "whole"),
        Ok(verdict) => Check::bad("database", verdict, "put a backup in place with `restore`"),
        Err(error) => Check::bad("database", error.to_string(), "put a backup in place with `restore`"),
    });
    checks.push(match app.api().verify().await {
        Ok(verification) => match verification.bad {
            None => Check::ok("audit", format!("{} entries, unbroken", verification.entries)),
            Some(bad) => Check::bad(
                "audit",
                format!("entry {}: {}", bad.seq, bad.reason),
                "keep this folder as it is and compare it with a backup",
            ),
        },
        Err(failure) => Check::bad("audit", failure.message, "see the log in the data folder"),
    });
    let now = app.stack().clock.now();
    let window = app.stack().config.guard.window;
    let broken = app.store().read(move |connection| audit::invariants::check(connection, now, window)).await;
    checks.push(match broken {
        Ok(broken) if broken.is_empty() => Check::ok("invariants", "hold"),
        Ok(broken) => {
            let texts: Vec<String> = broken.iter().map(|one| format!("{}: {}", one.invariant, one.what)).collect();
            Check::bad("invariants", texts.join("; "), "keep this folder as it is and report it")
        }
        Err(error) => Check::bad("invariants", error.to_string(), "see the log in the data folder"),
    });
    let waiting = app.store().read(move |connection| crate::evidence::attention(connection, now)).await;
    match waiting {
        Ok(items) if items.is_empty() => checks.push(Check::ok("attention", "nothing waits for you")),
        Ok(items) => checks.push(Check::note(
            "attention",
            format!("{} actions wait for you", items.len()),
            "see `status`, then `evidence show ID` and `evidence resolve ID`",
        )),
        Err(error) => checks.push(Check::bad("attention", error.to_string(), "see the log in the data folder")),
    }
    checks.push(clock(now.wall.timestamp()));
    checks
}

/// The calendar is of no use with a clock years off.
fn clock(now: jiff::Timestamp) -> Check {
    let year = now.to_zoned_datetime(jiff::tz::TimeZone::UTC).year();
    if (2025..2100).contains(&year) {
        Check::ok("clock", now.to_string())
    } else {
        Check::bad("clock", format!("the computer says it is {now}"), "set the computer's clock")
    }
}

/// One small question to each server.
async fn edges(stack: &Stack) -> Vec<Check> {
    let (telegram, model, calendar, mail) = tokio::join!(telegram(stack), model(stack), calendar(stack), mail(stack));
    vec![telegram, model, calendar, mail]
}

async fn patient<T>(question: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(PATIENCE, question).await.ok()
}

const NO_ANSWER: &str = "no answer in 20 s";

pub(super) async fn telegram(stack: &Stack) -> Check {
    let Some(source) = &stack.source else {
        return Check::ok("telegram", "off");
    };
    let network = "check the network and telegram.api_url";
    match patient(source.account()).await {
        Some(Ok(account)) => Check::ok("telegram", format!("the bot is {account}")),
        Some(Err(error @ PollError::Unauthorized)) => {
            Check::bad("telegram", error.to_string(), "ask @BotFather for the token and store it as telegram.token")
        }
        Some(Err(error @ PollError::Conflict)) => {
            Check::bad("telegram", error.to_string(), "stop the other program, or make a bot of your own")
        }
        Some(Err(error)) => Check::bad("telegram", error.to_string(), network),
        None => Check::bad("telegram", NO_ANSWER, network),
    }
}

pub(super) async fn model(stack: &Stack) -> Check {
    if stack.is_practice() {
        return Check::note("model", "practice mode, no AI", "set model.provider to use one");
    }
    let request = ChatRequest {
        system: "Answer with the single word OK.".to_owned(),
        messages: vec![ChatMessage::User { text: "Are you there?".to_owned(), images: Vec::new() }],
        tools: Vec::new(),
    };
    let mend = "check model.base_url, model.model and the key";
    match patient(stack.model.reply(&request, &NoSink)).await {
        Some(Ok(reply)) => Check::ok("model", format!("{} answers", reply.model)),
        Some(Err(error)) => Check::bad("model", error.to_string(), mend),
        None => Check::bad("model", NO_ANSWER, mend),
    }
}

pub(super) async fn calendar(stack: &Stack) -> Check {
    let account = stack.calendar.account();
    let mend = "check the [calendar] section and its password";
    match patient(stack.calendar.calendars()).await {
        Some(Ok(calendars)) => {
            let names: Vec<String> = calendars.into_iter().map(|calendar| calendar.name).collect();
            Check::ok("calendar", format!("{account}: {}", names.join(", ")))
        }
        Some(Err(error)) => Check::bad("calendar", format!("{account}: {error}"), mend),
        None => Check::bad("calendar", format!("{account}: {NO_ANSWER}"), mend),
    }
}

pub(super) async fn mail(stack: &Stack) -> Check {
    let account = stack.sender.account();
    let mend = "check the [mail] section and its password";
    for check in &stack.mail_checks {
        match patient(check.check()).await {
            Some(Ok(())) => {}
            Some(Err(reason)) => return Check::bad("mail", format!("{account}: {reason}"), mend),
            None => return Check::bad("mail", format!("{account}: {NO_ANSWER}"), mend),
        }
    }
    if stack.sender.saves_only() {
        let folder = stack.folder.maildir().display().to_string();
        return Check::note("mail", format!("saved as files in {folder}, not sent"), "set mail.backend to send");
    }
    Check::ok("mail", format!("{account} signs in"))
}

/// Each server is started once, asked for its tools, and ended.
async fn tool_servers(stack: &Stack) -> Vec<Check> {
    let mend = "check the server's section in [mcp.servers] and run its command by hand";
    let found = stack.tool_servers.check().await;
    found
        .into_iter()
        .map(|(server, found)| match found {
            Ok(tools) => Check::ok("mcp", format!("{server}: {tools} tools")),
            Err(reason) => Check::bad("mcp", format!("{server}: {reason}"), mend),
        })
        .collect()
}

/// What a running instance says of itself: its edges are in use, so their last calls are the best check.
async fn running(folder: &DataFolder) -> Vec<Check> {
    let asked = async {
        let mut running = Running::connect(folder, &Request::Status).await?;
        running.next().await
    };
    let status = match asked.await {
        Ok(Line::Row(status)) => status,
        Ok(other) => return vec![Check::bad("instance", format!("it answers {other:?}"), "restart it")],
        Err(error) => {
            return vec![Check::bad(
                "instance",
                format!("it holds the folder and does not answer: {error}"),
                "restart it",
            )];
        }
    };
    let mut checks = vec![Check::ok("instance", "running")];
    let single = ["database", "telegram", "model", "mail", "calendar", "http"];
    let single = single.into_iter().filter_map(|name| Some((name, status.get(name)?)));
    let servers = status.get("mcp").and_then(serde_json::Value::as_array).into_iter().flatten();
    for (name, edge) in single.chain(servers.map(|server| ("mcp", server))) {
        let text = |field: &str| edge.get(field).and_then(|value| value.as_str()).unwrap_or_default().to_owned();
        let (mut state, reason) = (text("state"), text("reason"));
        let fine = matches!(state.as_str(), "ok" | "receiving" | "listening" | "off" | "not_used_yet" | "starting");
        if name == "mcp" {
            state = format!("{}: {state}", text("name"));
        }
        checks.push(if fine {
            Check::ok(name, state)
        } else {
            Check::bad(name, format!("{state}: {reason}"), "see `status`; stop the instance to check it live")
        });
    }
    checks
}
