//! The messaging half of the program on a real Telegram wire: inbox, debounce, turns with a scripted model, outbox, typing.
//!
//! Sockets are real, so time cannot be paused; the program's clock runs ten times as fast instead, with the settings of
//! the product. What a test waits for by the machine's clock is therefore ten times as long for the program.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use unavez::approvals::{self, Rules};
use unavez::channels::telegram::{Settings as TelegramSettings, Telegram};
use unavez::domain::conversation::ChannelKind;
use unavez::domain::ids::{ConversationId, OutboundId};
use unavez::domain::ports::{Channel, Clock, IdSource, Transcriber};
use unavez::domain::time::Now;
use unavez::evidence::{self, Targets};
use unavez::inbox::{self, Acts, Health, Stages};
use unavez::model::scripted::{Line, ScriptedModel};
use unavez::outbox::{self, Channels, Delivery, New, Typing};
use unavez::runtime::ids::SeededIds;
use unavez::runtime::secrets::Secret;
use unavez::runtime::shutdown::Shutdown;
use unavez::store::{DataFolder, Durability, Store, StoreError, StoreMode};
use unavez::tools::Registry;
use unavez::{debounce, turns};

use super::telegram::{TOKEN, TelegramServer};

pub const OWNER: i64 = 1001;
pub const GUEST: i64 = 1002;
pub const GROUP: i64 = -2001;

/// What a test changes before the start.
pub struct Options {
    pub inbox: inbox::Settings,
    pub debounce: debounce::Settings,
    pub outbox: outbox::Settings,
    pub turns: turns::Settings,
    pub poll: Duration,
    pub token: &'static str,
    pub model_takes: Duration,
    /// What the model says first, before it falls back to "done".
    pub script: Vec<Line>,
    /// Without it, bursts stay queued.
    pub turns_run: bool,
    pub outbox_runs: bool,
    /// Hears every voice note as this, after so long.
    pub hears: Option<(&'static str, Duration)>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            inbox: inbox::Settings {
                owners: [(ChannelKind::Telegram, OWNER.to_string())].into(),
                ..inbox::Settings::default()
            },
            debounce: debounce::Settings::default(),
            outbox: outbox::Settings::default(),
            turns: turns::Settings { double_texting: turns::DoubleTexting::Enqueue, ..turns::Settings::default() },
            poll: Duration::from_secs(2),
            token: TOKEN,
            model_takes: Duration::ZERO,
            script: Vec::new(),
            turns_run: true,
            outbox_runs: true,
            hears: None,
        }
    }
}

/// How many times as fast the program's time passes.
pub const SPEED: u32 = 10;

/// Elapsed time at [`SPEED`]; the wall clock is the machine's, because dates of messages are.
struct FastClock {
    start: Instant,
    first: Now,
}

#[async_trait::async_trait]
impl Clock for FastClock {
    fn now(&self) -> Now {
        let passed = self.start.elapsed();
        Now { wall: self.first.wall.plus(passed), elapsed: self.first.elapsed.plus(passed * SPEED) }
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration / SPEED).await;
    }
}

struct Hears {
    text: &'static str,
    takes: Duration,
    clock: Arc<dyn Clock>,
}

#[async_trait::async_trait]
impl Transcriber for Hears {
    async fn transcribe(&self, audio: Vec<u8>, _mime: &str) -> Result<String, String> {
        self.clock.sleep(self.takes).await;
        if audio.is_empty() { Err("silence".to_owned()) } else { Ok(self.text.to_owned()) }
    }
}

/// A running half of the program.
pub struct Chat {
    pub store: Store,
    pub health: Health,
    pub model: ScriptedModel,
    pub telegram: Arc<Telegram>,
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<dyn IdSource>,
    shutdown: Shutdown,
}

impl Chat {
    /// Starts on a data folder of its own, kept alive by the returned guard.
    pub async fn start(server: &TelegramServer, options: Options) -> (Self, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let chat = Self::open(&folder, server, options).await;
        (chat, folder)
    }

    /// Starts on an existing data folder: a restart.
    pub async fn open(folder: &tempfile::TempDir, server: &TelegramServer, options: Options) -> Self {
        let data = DataFolder::open(folder.path().join("data")).unwrap();
        let store = Store::open(&data, StoreMode::Threaded).unwrap();
        let clock: Arc<dyn Clock> = Arc::new(FastClock { start: Instant::now(), first: store.system_clock().now() });
        let ids: Arc<dyn IdSource> = Arc::new(SeededIds::new(7));
        let telegram = Arc::new(Telegram::new(TelegramSettings {
            token: Secret::fixed("telegram.token", options.token),
            api_url: server.url.clone(),
            poll_timeout: options.poll,
        }));
        let channels = Channels::new([telegram.clone() as Arc<dyn Channel>]);
        let rules = Rules {
            ids: ids.clone(),
            targets: Targets::new(Default::default()),
            settings: approvals::Settings {
                telegram_owners: vec![OWNER.to_string()],
                ..approvals::Settings::default()
            },
            evidence: evidence::Settings::default(),
        };
        let acts: Arc<dyn Acts> = Arc::new(Stages::new(rules));
        let health = Health::default();
        let mut options = options;
        options.inbox.hear_voice = options.hears.is_some();
        let answer = Line::say("done").after(options.model_takes).again();
        let model = ScriptedModel::new(clock.clone(), std::mem::take(&mut options.script).into_iter().chain([answer]));
        let shutdown = Shutdown::new();

        let inbox = inbox::Deps {
            store: store.clone(),
            clock: clock.clone(),
            ids: ids.clone(),
            settings: Arc::new(options.inbox),
            acts,
            source: telegram.clone(),
            channel: telegram.clone(),
            health: health.clone(),
        };
        shutdown.spawn("inbox", inbox::Worker::new(inbox).run());
        let debounce = debounce::Deps {
            store: store.clone(),
            clock: clock.clone(),
            ids: ids.clone(),
            settings: Arc::new(options.debounce),
        };
        shutdown.spawn("debounce", debounce::Worker::new(debounce).run());
        if options.turns_run {
            let turns = turns::TurnsDeps {
                store: store.clone(),
                clock: clock.clone(),
                ids: ids.clone(),
                model: Arc::new(model.clone()),
                fallback: None,
                tools: Arc::new(Registry::new(Vec::new())),
                channels: channels.clone(),
                settings: Arc::new(options.turns),
            };
            shutdown.spawn("turns", turns::Worker::new(turns).run());
        }
        if options.outbox_runs {
            let outbox = outbox::Deps {
                store: store.clone(),
                clock: clock.clone(),
                ids: ids.clone(),
                channels: channels.clone(),
                settings: Arc::new(options.outbox),
            };
            shutdown.spawn("outbox", outbox::Worker::new(outbox).run());
        }
        let transcriber = options
            .hears
            .map(|(text, takes)| Arc::new(Hears { text, takes, clock: clock.clone() }) as Arc<dyn Transcriber>);
        let media = inbox::MediaDeps {
            store: store.clone(),
            clock: clock.clone(),
            source: telegram.clone(),
            folder: data,
            transcriber,
        };
        shutdown.spawn("media", inbox::MediaWorker::new(media).run());
        let typing = Typing::new(store.clone(), clock.clone(), channels, Duration::from_secs(600));
        shutdown.spawn("typing", typing.run());
        Self { store, health, model, telegram, clock, ids, shutdown }
    }

    /// A conversation with somebody who has not written yet.
    pub async fn conversation(&self, contact: i64, thread: &'static str) -> ConversationId {
        let kind = if contact > 0 { "private" } else { "group" };
        self.store
            .write("test", Durability::Normal, move |tx| {
                tx.execute(
                    "INSERT INTO conversations (channel, account, contact, thread, kind, created_at)
                     VALUES ('telegram', '4242', ?1, ?2, ?3, 0)",
                    rusqlite::params![contact.to_string(), thread, kind],
                )?;
                Ok::<_, StoreError>(ConversationId(tx.last_insert_rowid()))
            })
            .await
            .unwrap()
    }

    pub async fn enqueue(&self, new: New) -> OutboundId {
        let now = self.clock.now();
        self.store.write("test", Durability::Full, move |tx| outbox::enqueue(tx, now, new)).await.unwrap()
    }

    /// Waits until the message is settled.
    pub async fn settled(&self, id: OutboundId) -> Delivery {
        let patience = Duration::from_secs(20) * SPEED;
        let row = outbox::wait_settled(&self.store, self.clock.as_ref(), id, patience).await.unwrap().unwrap();
        assert!(row.state.is_settled(), "{row:?}");
        row
    }

    /// Stops as a killed process would: nothing is flushed, rows stay as they are.
    pub async fn stop(self) {
        self.shutdown.stop().await;
    }

    pub async fn count(&self, sql: &'static str) -> i64 {
        self.store
            .read(move |connection| connection.query_row(sql, [], |row| row.get(0)).map_err(StoreError::from))
            .await
            .unwrap()
    }

    /// One text column, in the order of the query.
    pub async fn texts(&self, sql: &'static str) -> Vec<String> {
        self.store
            .read(move |connection| {
                let mut statement = connection.prepare(sql)?;
                let rows = statement.query_map([], |row| row.get::<_, String>(0))?;
                Ok::<_, StoreError>(rows.collect::<Result<_, _>>()?)
            })
            .await
            .unwrap()
    }

    /// Waits until the query gives `expected`.
    pub async fn until(&self, sql: &'static str, expected: i64) {
        let patience = tokio::time::Instant::now() + Duration::from_secs(20);
        loop {
            let found = self.count(sql).await;
            if found == expected {
                return;
            }
            assert!(tokio::time::Instant::now() < patience, "{sql} gives {found}, not {expected}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// What the model was asked, one text per turn: the last thing a person said in each request.
    pub fn asked(&self) -> Vec<String> {
        self.model
            .requests()
            .iter()
            .filter_map(|request| {
                request.messages.iter().rev().find_map(|message| match message {
                    unavez::domain::chat::ChatMessage::User { text, .. } => Some(text.clone()),
                    _ => None,
                })
            })
            .collect()
    }

    /// Every inbound row ended somewhere, with a reason where it did not run.
    pub async fn assert_nothing_lost(&self) {
        let open = self
            .texts(
                "SELECT 'row ' || i.id || ': ' || i.state FROM inbound i LEFT JOIN bursts b ON b.id = i.burst_id
                 WHERE (i.state = 'merged' AND (b.state <> 'answered' OR b.turn_id IS NULL))
                    OR i.state = 'buffered' OR (i.state IN ('control', 'discarded', 'failed') AND i.reason IS NULL)",
            )
            .await;
        assert!(open.is_empty(), "{open:?}");
    }
}

pub fn photo(file: &str) -> serde_json::Value {
    json!([{ "file_id": file, "file_unique_id": file, "width": 90, "height": 90, "file_size": 100 }])
}
