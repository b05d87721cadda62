//! One conversation with everything between its bursts and its channel.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use rusqlite::params;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::approvals;
use crate::calendar::local::LocalCalendar;
use crate::domain::action::EventChanges;
use crate::domain::calendar::{CalendarInfo, Event, EventDraft, EventTime};
use crate::domain::chat::ToolSpec;
use crate::domain::conversation::{Address, Capabilities, ChannelKind};
use crate::domain::effect::DedupeClass;
use crate::domain::ids::{AccountId, BurstId, ConversationId, TurnId};
use crate::domain::ports::{Calendar, CalendarError, Channel, Clock, OutboundPart, SendOutcome};
use crate::domain::time::{Elapsed, Wall};
use crate::domain::tool::{PolicyKey, ToolDeclaration, ToolKind, Waiting};
use crate::evidence::{self, Targets};
use crate::guard;
use crate::model::scripted::{Line, ScriptedModel};
use crate::outbox::{self, Channels};
use crate::runtime::clock::VirtualClock;
use crate::runtime::ids::SeededIds;
use crate::store::{DataFolder, Durability, Store, StoreError, StoreMode};
use crate::tools::targets::CalendarTarget;
use crate::tools::{BuiltinDeps, CallContext, CallError, Effects, Registry, Tool, ToolResult, builtin};
use crate::turns::{DoubleTexting, Settings, TurnsDeps, Worker};

/// Monday, 7 December 2026, 09:00 UTC.
pub const START: Wall = Wall(1_796_634_000_000);

pub struct Desk {
    pub store: Store,
    pub clock: VirtualClock,
    pub model: ScriptedModel,
    pub channel: Arc<Recorder>,
    /// Calls of the test tools as (name, arguments).
    pub calls: Arc<Mutex<Vec<(String, Value)>>>,
    /// Creates that reached the calendar, by title.
    pub journal: Arc<Mutex<Vec<String>>>,
    /// How long the next creates take after the calendar has stored them.
    pub delays: Arc<Mutex<Vec<Duration>>>,
    pub rules: Option<approvals::Rules>,
    settings: Settings,
    outbox: outbox::Settings,
    folder: tempfile::TempDir,
    tasks: Vec<JoinHandle<()>>,
}

pub fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

pub fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}

impl Desk {
    pub fn new(lines: impl IntoIterator<Item = Line>) -> Self {
        Self::with(Settings::default(), outbox::Settings::default(), true, lines)
    }

    pub fn texting(strategy: DoubleTexting, lines: impl IntoIterator<Item = Line>) -> Self {
        let settings = Settings { double_texting: strategy, ..Settings::default() };
        Self::with(settings, outbox::Settings::default(), true, lines)
    }

    pub fn with(
        settings: Settings,
        outbox: outbox::Settings,
        immediate: bool,
        lines: impl IntoIterator<Item = Line>,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = VirtualClock::starting(START, Elapsed(0));
        let model = ScriptedModel::new(Arc::new(clock.clone()), lines);
        let channel =
            Arc::new(Recorder { clock: clock.clone(), immediate, sent: Mutex::default(), script: Mutex::default() });
        let store = open(&folder);
        let mut desk = Self {
            store,
            clock,
            model,
            channel,
            calls: Arc::default(),
            journal: Arc::default(),
            delays: Arc::default(),
            rules: None,
            settings,
            outbox,
            folder,
            tasks: Vec::new(),
        };
        desk.start();
        desk
    }

    fn start(&mut self) {
        let clock: Arc<dyn Clock> = Arc::new(self.clock.clone());
        let ids = Arc::new(SeededIds::new(fastrand::u64(..)));
        let channels = Channels::new([self.channel.clone() as Arc<dyn Channel>]);
        let calendar: Arc<dyn Calendar> = Arc::new(SlowCalendar {
            inner: LocalCalendar::new(self.store.clone(), clock.clone(), self.settings.zone.clone()),
            clock: clock.clone(),
            journal: self.journal.clone(),
            delays: self.delays.clone(),
        });
        let targets = Targets::default();
        targets.set("calendar", Arc::new(CalendarTarget::new(calendar.clone())));
        let rules = approvals::Rules {
            ids: ids.clone(),
            targets: targets.clone(),
            settings: approvals::Settings::default(),
            evidence: evidence::Settings::default(),
        };
        self.rules = Some(rules.clone());
        let guard = guard::Deps {
            store: self.store.clone(),
            clock: clock.clone(),
            calendar: Some(calendar.clone()),
            settings: guard::Settings { zone: self.settings.zone.clone(), ..guard::Settings::default() },
            rules,
            mail_saves_only: true,
        };
        let evidence = evidence::Worker::new(evidence::Deps {
            store: self.store.clone(),
            clock: clock.clone(),
            ids: ids.clone(),
            targets,
            settings: evidence::Settings::default(),
        });
        let mut tools = builtin(BuiltinDeps {
            store: self.store.clone(),
            clock: clock.clone(),
            effects: Effects::new(guard, Vec::new()),
            calendar: Some(calendar),
            channels: channels.clone(),
            outbox: self.outbox.clone(),
        });
        for (name, acts) in [("look", false), ("act", true)] {
            tools.push(Arc::new(Probe {
                name,
                acts,
                store: self.store.clone(),
                clock: clock.clone(),
                calls: self.calls.clone(),
            }));
        }
        let worker = Worker::new(TurnsDeps {
            store: self.store.clone(),
            clock: clock.clone(),
            ids: ids.clone(),
            model: Arc::new(self.model.clone()),
            fallback: None,
            tools: Arc::new(Registry::new(tools)),
            channels: channels.clone(),
            settings: Arc::new(self.settings.clone()),
        });
        let deliveries = outbox::Worker::new(outbox::Deps {
            store: self.store.clone(),
            clock,
            ids,
            channels,
            settings: Arc::new(self.outbox.clone()),
        });
        self.tasks = vec![tokio::spawn(worker.run()), tokio::spawn(deliveries.run()), tokio::spawn(evidence.run())];
    }

    /// The process dies and another one starts on the same data folder.
    pub async fn crash(&mut self) {
        for task in self.tasks.drain(..) {
            task.abort();
            // silent-ok: an aborted task ends with an error by design.
            let _ = task.await;
        }
        self.store = open(&self.folder);
        self.start();
    }

    pub async fn wait(&self, time: Duration) {
        self.clock.sleep(time).await;
    }

    /// A burst of `text` from the owner in their private chat.
    pub async fn say(&self, text: &str) -> BurstId {
        self.say_in("1001", "7", text).await
    }

    pub async fn say_in(&self, contact: &str, sender: &str, text: &str) -> BurstId {
        let (contact, sender, text) = (contact.to_owned(), sender.to_owned(), text.to_owned());
        let now = self.clock.now();
        self.store
            .write("test.say", Durability::Normal, move |tx| {
                tx.execute(
                    "INSERT INTO conversations (channel, account, contact, created_at) VALUES ('telegram', '1', ?1, ?2)
                     ON CONFLICT DO NOTHING",
                    params![contact, now.wall],
                )?;
                let conversation: ConversationId =
                    tx.query_row("SELECT id FROM conversations WHERE contact = ?1", [&contact], |row| row.get(0))?;
                tx.execute(
                    "INSERT INTO bursts (conversation_id, sender_id, state, signal, window_ms, flush_reason,
                                         message_count, waited_ms, created_at)
                     VALUES (?1, ?2, 'queued', 'closed', 1200, 'quiet', 1, 1200, ?3)",
                    params![conversation, sender, now.wall],
                )?;
                let burst = BurstId(tx.last_insert_rowid());
                tx.execute(
                    "INSERT INTO inbound (conversation_id, channel, dedupe_key, kind, state, sender_id, sender_name,
                                          owner, text, sent_at, received_at, received_elapsed, burst_id)
                     VALUES (?1, 'telegram', ?2, 'message', 'merged', ?3, 'Ana', 1, ?4, ?5, ?5, ?6, ?7)",
                    params![conversation, format!("test:{}", burst.0), sender, text, now.wall, now.elapsed, burst],
                )?;
                Ok::<_, StoreError>(burst)
            })
            .await
            .unwrap()
    }

    /// One value per row of a query without parameters.
    pub async fn rows(&self, sql: &str) -> Vec<String> {
        let sql = sql.to_owned();
        self.store
            .read(move |connection| {
                let mut statement = connection.prepare(&sql)?;
                let columns = statement.column_count();
                let rows = statement.query_map([], |row| {
                    let cells: Vec<String> = (0..columns)
                        .map(|column| {
                            Ok(match row.get_ref(column)? {
                                rusqlite::types::ValueRef::Null => "-".to_owned(),
                                rusqlite::types::ValueRef::Integer(n) => n.to_string(),
                                rusqlite::types::ValueRef::Real(x) => x.to_string(),
                                rusqlite::types::ValueRef::Text(text) | rusqlite::types::ValueRef::Blob(text) => {
                                    String::from_utf8_lossy(text).into_owned()
                                }
                            })
                        })
                        .collect::<rusqlite::Result<_>>()?;
                    Ok(cells.join(" "))
                })?;
                Ok::<_, StoreError>(rows.collect::<Result<_, _>>()?)
            })
            .await
            .unwrap()
    }

    /// Texts delivered, in order.
    pub fn delivered(&self) -> Vec<String> {
        self.channel.sent.lock().unwrap().iter().map(|(_, text)| text.clone()).collect()
    }

    pub fn called(&self) -> Vec<String> {
        self.calls.lock().unwrap().iter().map(|(name, _)| name.clone()).collect()
    }

    pub async fn turns(&self) -> Vec<TurnId> {
        self.rows("SELECT id FROM turns ORDER BY started_at, number").await.into_iter().map(TurnId).collect()
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

fn open(folder: &tempfile::TempDir) -> Store {
    Store::open(&DataFolder::open(folder.path()).unwrap(), StoreMode::Inline).unwrap()
}

/// A channel that records what it sends, and answers as told.
pub struct Recorder {
    clock: VirtualClock,
    immediate: bool,
    /// (seconds since the start, text)
    pub sent: Mutex<Vec<(u64, String)>>,
    /// Outcomes of the next sends; delivered once it is empty.
    pub script: Mutex<Vec<SendOutcome>>,
}

#[async_trait]
impl Channel for Recorder {
    fn kind(&self) -> ChannelKind {
        ChannelKind::Telegram
    }
    fn capabilities(&self, _to: &Address) -> Capabilities {
        Capabilities { immediate: self.immediate, typing: false, edit: false, buttons: false }
    }
    fn split(&self, markdown: &str) -> Vec<String> {
        vec![markdown.to_owned()]
    }
    async fn send(&self, part: &OutboundPart) -> SendOutcome {
        let scripted = {
            let mut script = self.script.lock().unwrap();
            if script.is_empty() { None } else { Some(script.remove(0)) }
        };
        if let Some(outcome) = scripted {
            return outcome;
        }
        let at = self.clock.now().elapsed.0 / 1000;
        self.sent.lock().unwrap().push((at.unsigned_abs(), part.markdown.clone()));
        SendOutcome::Delivered { external_id: Some(self.sent.lock().unwrap().len().to_string()) }
    }
    async fn edit(&self, _external_id: &str, _part: &OutboundPart) -> SendOutcome {
        SendOutcome::Delivered { external_id: None }
    }
    async fn typing(&self, _to: &Address) {}
    async fn answer_tap(&self, _callback_id: &str, _text: &str) {}
}

/// The local calendar, with a journal and delays of its answers.
struct SlowCalendar {
    inner: LocalCalendar,
    clock: Arc<dyn Clock>,
    journal: Arc<Mutex<Vec<String>>>,
    delays: Arc<Mutex<Vec<Duration>>>,
}

#[async_trait]
impl Calendar for SlowCalendar {
    fn account(&self) -> AccountId {
        self.inner.account()
    }
    fn backend(&self) -> &'static str {
        self.inner.backend()
    }
    async fn calendars(&self) -> Result<Vec<CalendarInfo>, CalendarError> {
        self.inner.calendars().await
    }
    async fn resolve(&self, name: Option<&str>) -> Result<String, CalendarError> {
        self.inner.resolve(name).await
    }
    async fn list(&self, calendar: &str, from: Wall, to: Wall) -> Result<Vec<Event>, CalendarError> {
        self.inner.list(calendar, from, to).await
    }
    async fn get(&self, calendar: &str, id: &str) -> Result<Event, CalendarError> {
        self.inner.get(calendar, id).await
    }
    async fn create(&self, draft: &EventDraft) -> Result<Event, CalendarError> {
        self.journal.lock().unwrap().push(draft.title.clone());
        let delay = {
            let mut delays = self.delays.lock().unwrap();
            if delays.is_empty() { Duration::ZERO } else { delays.remove(0) }
        };
        let event = self.inner.create(draft).await;
        self.clock.sleep(delay).await;
        event
    }
    async fn update(
        &self,
        calendar: &str,
        id: &str,
        occurrence: Option<&EventTime>,
        changes: &EventChanges,
        etag: Option<&str>,
    ) -> Result<Event, CalendarError> {
        self.inner.update(calendar, id, occurrence, changes, etag).await
    }
    async fn delete(
        &self,
        calendar: &str,
        id: &str,
        occurrence: Option<&EventTime>,
        etag: Option<&str>,
    ) -> Result<(), CalendarError> {
        self.inner.delete(calendar, id, occurrence, etag).await
    }
}

/// `look` reads for a second; `act` thinks for a second, commits an effect row as the guard would, and takes one more.
struct Probe {
    name: &'static str,
    acts: bool,
    store: Store,
    clock: Arc<dyn Clock>,
    calls: Arc<Mutex<Vec<(String, Value)>>>,
}

#[async_trait]
impl Tool for Probe {
    fn declaration(&self) -> ToolDeclaration {
        ToolDeclaration {
            name: self.name.to_owned(),
            kind: if self.acts { ToolKind::Effect } else { ToolKind::Read },
            identity: Vec::new(),
            window: None,
            policy: PolicyKey::Other,
            dedupe: DedupeClass::Neither,
            waiting: Waiting::Outcome,
        }
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec { name: self.name.to_owned(), description: String::new(), schema: json!({"type": "object"}) }
    }

    async fn call(&self, context: &CallContext, arguments: &Value) -> Result<ToolResult, CallError> {
        self.clock.sleep(seconds(1)).await;
        if !self.acts {
            self.calls.lock().unwrap().push((self.name.to_owned(), arguments.clone()));
            return Ok(ToolResult::new(json!({"status": "ok", "seen": arguments})));
        }
        let (turn, epoch, ordinal, now) = (context.turn.clone(), context.epoch, context.ordinal, self.clock.now());
        let conversation = context.conversation;
        let what = arguments.to_string();
        let fresh = self
            .store
            .write("test.act", Durability::Normal, move |tx| {
                let fenced = tx
                    .execute(
                        "UPDATE turns SET fenced = 1
                         WHERE id = ?1 AND epoch = ?2 AND stop_requested = 0 AND state <> 'ended'",
                        params![turn, epoch],
                    )
                    .map_err(StoreError::from)?;
                if fenced == 0 {
                    return Err(CallError::TurnGone);
                }
                let action = json!({"kind": "other", "tool": "act", "arguments": {"what": what}, "identity_fields": []});
                let inserted = tx
                    .execute(
                        "INSERT INTO effects (id, tool, target, account, state, idempotency_key, identity, digest,
                             literal_hash, normalisation, intent, action, summary, conversation_id, turn_id, created_at,
                             created_elapsed, updated_at)
                         VALUES (?1, 'act', 'test', 'test', 'accepted', ?1, ?1, '', '', 1, '{}', ?2, 'act', ?3, ?4, ?5, ?6, ?5)
                         ON CONFLICT DO NOTHING",
                        params![
                            format!("{turn}:{ordinal}"),
                            action.to_string(),
                            conversation,
                            turn,
                            now.wall,
                            now.elapsed
                        ],
                    )
                    .map_err(StoreError::from)?;
                Ok(inserted == 1)
            })
            .await?;
        if fresh {
            self.calls.lock().unwrap().push((self.name.to_owned(), arguments.clone()));
        }
        self.clock.sleep(seconds(1)).await;
        Ok(ToolResult::new(json!({"status": "done", "what": arguments})))
    }
}
