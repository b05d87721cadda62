//! The assistant as a window hosts it: it is composed again when its configuration changes, the window stays.
//!
//! In: calls that concern the program itself (settings, secrets, live tests, pairing, backup, the story).
//! Out: their answers; [`Desktop::desk`] for everything that lives in the database.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use secrecy::SecretString;
use tokio::sync::{RwLock, RwLockReadGuard, watch};
use toml_edit::Value;

use super::doctor::{self, Check, CheckState};
use super::lifecycle::{App, StartError};
use super::options::{AppOptions, Without};
use super::replay::{Options, Scenario, play};
use super::settings;
use crate::api::window::wire::*;
use crate::api::window::{Desk, DeskParts};
use crate::config::{self, Change, Loaded};
use crate::domain::conversation::ChannelKind;
use crate::domain::ports::{SecretError, Secrets};
use crate::inbox;
use crate::runtime::secrets::Keychain;
use crate::store::{DataFolder, Durability};

type Answer<T> = Result<T, Failure>;

/// Model servers that people run on their own computer, with the ports they are documented to use.
const LOCAL_SERVERS: [(&str, &str); 3] = [
    ("ollama", "http://127.0.0.1:11434/v1/"),
    ("openai", "http://127.0.0.1:1234/v1/"),
    ("openai", "http://127.0.0.1:8080/v1/"),
];

/// A server on this computer answers at once or is not there.
const LOCAL_PATIENCE: Duration = Duration::from_millis(900);

struct Live {
    app: App,
    desk: Desk,
    loaded: Loaded,
    paused: bool,
}

/// The hosted assistant.
pub struct Desktop {
    template: AppOptions,
    live: RwLock<Option<Live>>,
    /// Raised by each composition: watchers take the new desk.
    generation: watch::Sender<u64>,
}

impl Desktop {
    /// Opens and starts it.
    pub async fn start(options: AppOptions) -> Result<Self, StartError> {
        let live = compose(options.again(options.loaded.clone()), false).await?;
        Ok(Self { template: options, live: RwLock::new(Some(live)), generation: watch::channel(1).0 })
    }

    pub fn generation(&self) -> watch::Receiver<u64> {
        self.generation.subscribe()
    }

    async fn live(&self) -> Answer<RwLockReadGuard<'_, Live>> {
        RwLockReadGuard::try_map(self.live.read().await, Option::as_ref)
            .map_err(|_| Failure::new(FailureCode::Internal, "the assistant is stopped"))
    }

    pub async fn desk(&self) -> Answer<Desk> {
        Ok(self.live().await?.desk.clone())
    }

    /// Close to tray, notifications, start at login: what the shell itself acts on.
    pub async fn window(&self) -> Answer<config::Window> {
        Ok(self.live().await?.loaded.config.window.clone())
    }

    pub fn folder(&self) -> &DataFolder {
        &self.template.folder
    }

    /// Ends it in order.
    pub async fn stop(&self) {
        if let Some(live) = self.live.write().await.take() {
            live.app.stop().await;
        }
    }

    /// With the configuration as it is now. A failing start leaves the earlier one running again.
    async fn again(&self, loaded: Loaded) -> Answer<()> {
        let paused = self.live().await?.paused;
        self.compose_again(loaded, paused).await
    }

    /// Paused, nothing runs: what arrives is stored and waits. Nothing of it is lost, nothing is sent.
    pub async fn set_paused(&self, paused: bool) -> Answer<()> {
        let loaded = self.live().await?.loaded.clone();
        self.compose_again(loaded, paused).await
    }

    async fn compose_again(&self, loaded: Loaded, paused: bool) -> Answer<()> {
        let mut place = self.live.write().await;
        let before = place.as_ref().map(|live| live.loaded.clone());
        if let Some(live) = place.take() {
            live.app.stop().await;
        }
        let live = match compose(self.template.again(loaded), paused).await {
            Ok(live) => live,
            Err(error) => {
                let failure = Failure::new(FailureCode::Invalid, error.to_string());
                let Some(before) = before else { return Err(failure) };
                *place = Some(compose(self.template.again(before), paused).await.map_err(internal)?);
                self.generation.send_modify(|count| *count += 1);
                return Err(failure);
            }
        };
        *place = Some(live);
        self.generation.send_modify(|count| *count += 1);
        Ok(())
    }

    /// `start_at_login` and `tray` come from the desktop, which the core does not know.
    pub async fn settings(&self, start_at_login: bool, tray: bool) -> Answer<Settings> {
        let live = self.live().await?;
        let values =
            live.loaded.effective.iter().map(|(path, value)| (path.join("."), config::as_json(value))).collect();
        let stack = live.app.stack();
        let mut secrets_set = Vec::new();
        let mut keychain = true;
        for name in settings::secret_references(&live.loaded.config).into_keys() {
            match stack.secrets.get(&name).await {
                Ok(_) => secrets_set.push(name),
                Err(SecretError::Unavailable { .. } | SecretError::Locked { .. }) => keychain = false,
                Err(SecretError::Missing { .. } | SecretError::Empty { .. } | SecretError::Invalid { .. }) => {}
            }
        }
        let tools = stack.registry.declarations();
        Ok(Settings {
            values,
            secrets_set,
            config_path: self.template.config_path.display().to_string(),
            data_path: self.template.folder.path().display().to_string(),
            keychain,
            zones: jiff::tz::db().available().map(|name| name.to_string()).collect(),
            start_at_login,
            tray,
            servers: live.loaded.config.mcp.servers.iter().map(tool_server(&tools)).collect(),
            tools: tools.iter().map(tool_row(&live.loaded)).collect(),
        })
    }

    /// Writes the file and composes again, unless only the window itself is concerned by what changed.
    pub async fn change_settings(&self, change: SettingsChange) -> Answer<()> {
        let changes = change
            .values
            .into_iter()
            .map(|(key, value)| {
                let path: Vec<String> = key.split('.').map(str::to_owned).collect();
                Ok(match toml_value(value)? {
                    Some(value) => Change::Set { path, value },
                    None => Change::Remove { path },
                })
            })
            .collect::<Answer<Vec<_>>>()?;
        let file = self.template.config_path.clone();
        let loaded = tokio::task::spawn_blocking(move || config::apply(&file, &changes))
            .await
            .map_err(internal)?
            .map_err(|error| Failure::new(FailureCode::Invalid, error.to_string()))?;
        self.again(loaded).await
    }

    /// Into the keychain, or out of it.
    pub async fn set_secret(&self, key: String, value: Option<String>) -> Answer<()> {
        let keychain: Arc<dyn Secrets> =
            self.template.ports.keychain.clone().unwrap_or_else(|| Arc::new(Keychain::default()));
        let done = match value {
            Some(value) => keychain.set(&key, SecretString::from(value)).await,
            None => keychain.delete(&key).await,
        };
        done.map_err(|error| Failure::new(FailureCode::Unreachable, error.to_string()))?;
        let loaded = self.live().await?.loaded.clone();
        self.again(loaded).await
    }

    pub async fn find_models(&self) -> Answer<Vec<FoundModel>> {
        let client = reqwest::Client::builder()
            .timeout(LOCAL_PATIENCE)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(internal)?;
        let asked = LOCAL_SERVERS.map(|(provider, base_url)| {
            let client = client.clone();
            async move {
                let answer = client.get(format!("{base_url}models")).send().await.ok()?;
                let body: serde_json::Value = answer.error_for_status().ok()?.json().await.ok()?;
                let models: Vec<String> = body["data"]
                    .as_array()?
                    .iter()
                    .filter_map(|model| Some(model["id"].as_str()?.to_owned()))
                    .collect();
                (!models.is_empty()).then(|| FoundModel {
                    provider: provider.to_owned(),
                    base_url: base_url.to_owned(),
                    models,
                })
            }
        });
        Ok(futures::future::join_all(asked).await.into_iter().flatten().collect())
    }

    pub async fn test_model(&self) -> Answer<TestResult> {
        let (live, start) = (self.live().await?, Instant::now());
        Ok(result(doctor::model(live.app.stack()).await, start))
    }

    pub async fn test_telegram(&self) -> Answer<TestResult> {
        let (live, start) = (self.live().await?, Instant::now());
        Ok(result(doctor::telegram(live.app.stack()).await, start))
    }

    pub async fn test_mail(&self) -> Answer<TestResult> {
        let (live, start) = (self.live().await?, Instant::now());
        Ok(result(doctor::mail(live.app.stack()).await, start))
    }

    pub async fn test_calendar(&self) -> Answer<TestResult> {
        let (live, start) = (self.live().await?, Instant::now());
        Ok(result(doctor::calendar(live.app.stack()).await, start))
    }

    /// The open pairing code, a new one when none is open, and who is paired.
    pub async fn pairing(&self) -> Answer<Pairing> {
        let live = self.live().await?;
        let stack = live.app.stack();
        let (now, ids) = (stack.clock.now(), stack.ids.clone());
        let open = stack
            .store
            .write("inbox.pairing", Durability::Normal, move |tx| {
                match inbox::open_pairing(tx, now, ChannelKind::Telegram)? {
                    Some(open) => Ok(open),
                    None => inbox::begin_pairing(tx, now, &*ids, ChannelKind::Telegram),
                }
            })
            .await
            .map_err(|error: inbox::InboxError| Failure::new(FailureCode::Storage, error.to_string()))?;
        let owners = stack
            .store
            .read(|connection| {
                let mut statement = connection.prepare_cached(
                    "SELECT sender_id, name FROM owners WHERE channel = 'telegram' ORDER BY paired_at",
                )?;
                let rows = statement.query_map([], |row| Ok(Owner { id: row.get(0)?, name: row.get(1)? }))?;
                Ok::<_, crate::store::StoreError>(rows.collect::<Result<Vec<_>, _>>()?)
            })
            .await?;
        let bot = stack.source.as_ref().and_then(|source| source.public_name());
        Ok(Pairing {
            until: now.wall.0 + open.expires.0 - now.elapsed.0,
            link: bot.map(|bot| pairing_link(&bot, &open.code)),
            code: open.code,
            owners,
        })
    }

    /// The story in a scratch folder on a virtual clock, with the timeline it left.
    pub async fn replay_story(&self, without_guard: bool) -> Answer<Replayed> {
        let outcome = tokio::task::spawn_blocking(move || {
            let scenario = Scenario::incident().map_err(internal)?;
            let without = Without { guard: without_guard, ..Without::default() };
            play(&scenario, Options { real_time: false, without }).map_err(internal)
        })
        .await
        .map_err(internal)??;
        let totals = outcome.totals;
        Ok(Replayed {
            totals: ReplayTotals {
                turns: totals.turns,
                tool_calls: totals.tool_calls,
                effects_accepted: totals.effects_accepted,
                duplicates_prevented: totals.duplicates_prevented,
                bursts_merged: totals.bursts_merged,
            },
            entries: outcome.entries,
        })
    }

    pub async fn backup(&self, file: PathBuf) -> Answer<Exported> {
        let live = self.live().await?;
        live.app.api().parts().host.backup(file.clone()).await?;
        Ok(Exported { path: file.display().to_string(), entries: 1 })
    }

    /// Files dropped on the window, copied in by content.
    pub async fn attach(&self, paths: Vec<String>) -> Answer<Vec<crate::domain::message::Media>> {
        let files = self.template.folder.files();
        tokio::task::spawn_blocking(move || paths.iter().map(|path| copied(Path::new(path), &files)).collect())
            .await
            .map_err(internal)?
    }
}

fn copied(path: &Path, files: &Path) -> Answer<crate::domain::message::Media> {
    let unreadable = |error: std::io::Error| Failure::new(FailureCode::Invalid, format!("{}: {error}", path.display()));
    let bytes = std::fs::read(path).map_err(unreadable)?;
    let sha256 = crate::runtime::hash::sha256_hex(&bytes);
    std::fs::create_dir_all(files).map_err(unreadable)?;
    let place = files.join(&sha256);
    std::fs::write(&place, &bytes).map_err(unreadable)?;
    crate::store::secure_file(&place)?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    Ok(crate::domain::message::Media {
        kind: "document".to_owned(),
        file: sha256.clone(),
        text: crate::domain::document::excerpt(name.as_deref(), None, &bytes),
        name,
        mime: None,
        bytes: i64::try_from(bytes.len()).ok(),
        attachment: Some(sha256),
        transcript: None,
        problem: None,
    })
}

async fn compose(options: AppOptions, paused: bool) -> Result<Live, StartError> {
    let loaded = options.loaded.clone();
    let mut app = App::open(options).await?;
    if !paused {
        app.start().await?;
    }
    let stack = app.stack();
    let config = &loaded.config;
    let desk = Desk::new(DeskParts {
        api: app.api().clone(),
        guard: stack.guard.clone(),
        ingress: app.ingress().clone(),
        debounce: Arc::new(settings::debounce(config)),
        zone_name: stack.locale.zone_name.clone(),
        language: stack.locale.language,
        theme: match config.window.theme {
            config::Theme::System => Theme::System,
            config::Theme::Light => Theme::Light,
            config::Theme::Dark => Theme::Dark,
        },
        practice: stack.is_practice(),
        hold_seconds: i64::try_from(config.evidence.hold.as_secs()).unwrap_or(i64::MAX),
        paused,
    });
    if let Err(failure) = desk.ready().await {
        tracing::warn!(message = failure.message, "the window's conversation could not be prepared");
    }
    Ok(Live { app, desk, loaded, paused })
}

fn tool_row(loaded: &Loaded) -> impl Fn(&crate::domain::tool::ToolDeclaration) -> ToolRow {
    use crate::domain::tool::{Policy, ToolKind};
    let policies = settings::approvals(&loaded.config).policies;
    move |declaration| ToolRow {
        name: declaration.name.clone(),
        effect: declaration.kind == ToolKind::Effect,
        policy: match (declaration.kind, policies.of(declaration.policy)) {
            (ToolKind::Read | ToolKind::Message, _) => "",
            (ToolKind::Effect, Policy::Auto) => "auto",
            (ToolKind::Effect, Policy::Ask) => "ask",
            (ToolKind::Effect, Policy::Deny) => "deny",
        }
        .to_owned(),
    }
}

/// A server of the configuration; it runs when its tools (`SERVER__TOOL`) are there.
fn tool_server(
    tools: &[crate::domain::tool::ToolDeclaration],
) -> impl Fn((&String, &config::McpServer)) -> ToolServer + '_ {
    move |(name, server)| {
        let prefix = format!("{name}__");
        let count = tools.iter().filter(|tool| tool.name.starts_with(&prefix)).count();
        ToolServer {
            name: name.clone(),
            command: match &server.transport {
                config::McpTransport::Command(command) => command.join(" "),
                config::McpTransport::Url(url) => url.clone(),
            },
            state: if count > 0 { "running" } else { "stopped" }.to_owned(),
            tools: i64::try_from(count).unwrap_or(i64::MAX),
        }
    }
}

/// Opens the chat with the bot and says the code to it (<https://core.telegram.org/bots/features#deep-linking>).
fn pairing_link(bot: &str, code: &str) -> String {
    let code: String = code.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')).collect();
    format!("https://t.me/{bot}?start={code}")
}

fn result(check: Check, start: Instant) -> TestResult {
    TestResult {
        ok: check.state != CheckState::Bad,
        name: String::new(),
        detail: check.detail,
        millis: i64::try_from(start.elapsed().as_millis()).unwrap_or(i64::MAX),
    }
}

/// `null` means back to the default.
fn toml_value(value: serde_json::Value) -> Answer<Option<Value>> {
    Ok(Some(match value {
        serde_json::Value::Null => return Ok(None),
        serde_json::Value::Bool(flag) => flag.into(),
        serde_json::Value::String(text) => text.into(),
        serde_json::Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => whole.into(),
            (None, Some(real)) => real.into(),
            (None, None) => return Err(Failure::new(FailureCode::Invalid, number.to_string())),
        },
        serde_json::Value::Array(items) => {
            let items: Vec<Value> =
                items.into_iter().map(toml_value).collect::<Answer<Vec<_>>>()?.into_iter().flatten().collect();
            Value::Array(items.into_iter().collect())
        }
        serde_json::Value::Object(_) => return Err(Failure::new(FailureCode::Invalid, "a table")),
    }))
}

fn internal(error: impl std::fmt::Display) -> Failure {
    Failure::new(FailureCode::Internal, error.to_string())
}
