//! A small world for the tests of guard, approvals and evidence: a real database, virtual time, scripted targets.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;

use super::{Deps, EffectRow, Settings, Targets, Worker};
use crate::domain::action::{Action, CreateEvent, SendEmail};
use crate::domain::calendar::EventTime;
use crate::domain::effect::{
    DedupeClass, Dispatch, EffectState, Found, Outcome, Performed, Receipt, ReceiptSource, RecipientResult,
};
use crate::domain::ids::{ConversationId, EffectId, TurnId};
use crate::domain::mail::FrozenMail;
use crate::domain::ports::{Clock, EffectTarget, IdSource};
use crate::domain::time::{Elapsed, Now, Wall};
use crate::runtime::clock::VirtualClock;
use crate::runtime::ids::SeededIds;
use crate::store::{DataFolder, Durability, Store, StoreError, StoreMode};

/// 2026-03-02, a Monday, 08:00 UTC.
pub const MORNING: i64 = 1_772_438_400_000;

pub struct World {
    pub dir: tempfile::TempDir,
    pub store: Store,
    pub clock: VirtualClock,
    pub ids: Arc<SeededIds>,
    pub targets: Targets,
    pub calendar: Arc<Scripted>,
    pub mail: Arc<Scripted>,
    pub settings: Settings,
    pub worker: Option<tokio::task::JoinHandle<()>>,
}

impl World {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let folder = DataFolder::open(dir.path().join("data")).unwrap();
        let store = Store::open(&folder, StoreMode::Inline).unwrap();
        let targets = Targets::default();
        let calendar = Arc::new(Scripted::new(DedupeClass::ClientId));
        let mail = Arc::new(Scripted::new(DedupeClass::Readable));
        targets.set("calendar", calendar.clone());
        targets.set("mail", mail.clone());
        targets.set("mcp:notes", Arc::new(Scripted::new(DedupeClass::Neither)));
        Self {
            dir,
            store,
            clock: VirtualClock::starting(Wall(MORNING), Elapsed(1_000_000)),
            ids: Arc::new(SeededIds::new(7)),
            targets,
            calendar,
            mail,
            settings: Settings::default(),
            worker: None,
        }
    }

    /// Opens the database anew, as after a kill: what was in memory is gone.
    pub fn restart(&mut self) {
        if let Some(worker) = self.worker.take() {
            worker.abort();
        }
        let folder = DataFolder::open(self.dir.path().join("data")).unwrap();
        self.store = Store::open(&folder, StoreMode::Inline).unwrap();
    }

    pub fn start_worker(&mut self) {
        let deps = Deps {
            store: self.store.clone(),
            clock: Arc::new(self.clock.clone()),
            ids: self.ids.clone() as Arc<dyn IdSource>,
            targets: self.targets.clone(),
            settings: self.settings.clone(),
        };
        self.worker = Some(tokio::spawn(Worker::new(deps).run()));
    }

    pub async fn pass(&self, duration: Duration) {
        self.clock.sleep(duration).await;
        // Workers that became due at the same moment run first.
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
    }

    pub async fn write<T: Send + 'static, E: From<StoreError> + Send + std::fmt::Debug + 'static>(
        &self,
        decide: impl FnOnce(&rusqlite::Transaction<'_>, Now) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        let now = self.clock.now();
        self.store.write("test", Durability::Full, move |tx| decide(tx, now)).await
    }

    pub async fn effect(&self, id: &EffectId) -> EffectRow {
        let id = id.clone();
        self.store.read(move |connection| super::load(connection, &id)).await.unwrap()
    }

    pub async fn state(&self, id: &EffectId) -> EffectState {
        self.effect(id).await.state
    }

    pub async fn count(&self, query: &'static str) -> i64 {
        self.store
            .read(move |connection| Ok::<_, StoreError>(connection.query_row(query, [], |row| row.get(0))?))
            .await
            .unwrap()
    }

    pub async fn texts(&self, query: &'static str) -> Vec<String> {
        self.store
            .read(move |connection| {
                let mut statement = connection.prepare(query)?;
                let rows = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
                Ok::<_, StoreError>(rows)
            })
            .await
            .unwrap()
    }

    /// A private conversation with a Telegram user, who becomes an owner.
    pub async fn owner(&self, user: &'static str) -> ConversationId {
        let id = self.conversation("telegram", user).await;
        self.write(move |tx, now| {
            tx.execute(
                "INSERT INTO owners (channel, sender_id, name, paired_at) VALUES ('telegram', ?1, 'Owner', ?2)",
                rusqlite::params![user, now.wall],
            )?;
            Ok::<_, StoreError>(())
        })
        .await
        .unwrap();
        id
    }

    pub async fn conversation(&self, channel: &'static str, contact: &'static str) -> ConversationId {
        self.write(move |tx, now| {
            tx.execute(
                "INSERT INTO conversations (channel, account, contact, created_at) VALUES (?1, 'local', ?2, ?3)",
                rusqlite::params![channel, contact, now.wall],
            )?;
            Ok::<_, StoreError>(ConversationId(tx.last_insert_rowid()))
        })
        .await
        .unwrap()
    }

    /// A running turn of epoch 1.
    pub async fn turn(&self, conversation: ConversationId) -> TurnId {
        let id = TurnId(self.ids.uuid());
        let turn = id.clone();
        self.write(move |tx, now| {
            tx.execute("UPDATE turns SET state = 'ended' WHERE conversation_id = ?1", [conversation])?;
            tx.execute(
                "INSERT INTO turns (id, conversation_id, number, sender_id, state, started_at, started_elapsed)
                 SELECT ?1, ?2, COUNT(*) + 1, 'owner', 'acting', ?3, ?4 FROM turns WHERE conversation_id = ?2",
                rusqlite::params![turn, conversation, now.wall, now.elapsed],
            )?;
            Ok::<_, StoreError>(())
        })
        .await
        .unwrap();
        id
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(worker) = &self.worker {
            worker.abort();
        }
    }
}

/// A target that does what its script says; without one it accepts. It remembers what really happened "outside".
pub struct Scripted {
    dedupe: DedupeClass,
    script: Mutex<VecDeque<Performed>>,
    looks: Mutex<VecDeque<Found>>,
    delay: Mutex<Duration>,
    refuse_freeze: Mutex<Option<String>>,
    pub performed: Mutex<Vec<Dispatch>>,
    pub looked: Mutex<Vec<Dispatch>>,
}

impl Scripted {
    pub fn new(dedupe: DedupeClass) -> Self {
        Self {
            dedupe,
            script: Mutex::default(),
            looks: Mutex::default(),
            delay: Mutex::default(),
            refuse_freeze: Mutex::default(),
            performed: Mutex::default(),
            looked: Mutex::default(),
        }
    }
    pub fn then(&self, performed: Performed) -> &Self {
        self.script.lock().unwrap().push_back(performed);
        self
    }
    pub fn then_found(&self, found: Found) -> &Self {
        self.looks.lock().unwrap().push_back(found);
        self
    }
    pub fn takes(&self, delay: Duration) {
        *self.delay.lock().unwrap() = delay;
    }
    pub fn refuse_freeze(&self, reason: &str) {
        *self.refuse_freeze.lock().unwrap() = Some(reason.to_owned());
    }
    pub fn calls(&self) -> usize {
        self.performed.lock().unwrap().len()
    }
    pub fn look_count(&self) -> usize {
        self.looked.lock().unwrap().len()
    }
}

#[async_trait]
impl EffectTarget for Scripted {
    fn dedupe(&self) -> DedupeClass {
        self.dedupe
    }

    fn freeze(&self, dispatch: &Dispatch, now: Now) -> Result<Option<FrozenMail>, String> {
        if let Some(reason) = self.refuse_freeze.lock().unwrap().clone() {
            return Err(reason);
        }
        let Action::SendEmail(mail) = &dispatch.action else { return Ok(None) };
        Ok(Some(FrozenMail {
            message_id: format!("<{}@example.test>", dispatch.effect),
            envelope_from: mail.from.clone(),
            recipients: mail.to.iter().chain(&mail.cc).chain(&mail.bcc).cloned().collect(),
            needs_smtputf8: false,
            bytes: format!("Date: {}\r\n\r\n{}", now.wall.0, mail.body).into_bytes(),
        }))
    }

    async fn perform(&self, dispatch: &Dispatch) -> Performed {
        self.performed.lock().unwrap().push(dispatch.clone());
        let delay = *self.delay.lock().unwrap();
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        let next = self.script.lock().unwrap().pop_front();
        next.unwrap_or_else(|| accepted(&format!("id-{}", dispatch.effect)))
    }

    async fn reconcile(&self, dispatch: &Dispatch) -> Found {
        self.looked.lock().unwrap().push(dispatch.clone());
        let next = self.looks.lock().unwrap().pop_front();
        next.unwrap_or(Found::No { authoritative: false, detail: "not there".into() })
    }
}

pub fn performed(outcome: Outcome, phase: &str) -> Performed {
    Performed { outcome, phase: phase.into(), reply: None, recipients: Vec::new(), provider_id: None }
}

pub fn accepted(id: &str) -> Performed {
    performed(Outcome::Accepted { receipt: receipt(id) }, "done")
}

pub fn rejected(reason: &str) -> Performed {
    performed(Outcome::Rejected { reason: reason.into() }, "request")
}

pub fn retryable(reason: &str) -> Performed {
    performed(Outcome::Retryable { reason: reason.into(), retry_after: None, greylisted: false }, "connect")
}

pub fn unknown(reason: &str) -> Performed {
    performed(Outcome::Unknown { reason: reason.into() }, "final_dot")
}

pub fn with_recipients(mut performed: Performed, recipients: Vec<RecipientResult>) -> Performed {
    performed.recipients = recipients;
    performed
}

pub fn receipt(id: &str) -> Receipt {
    Receipt { source: ReceiptSource::Provider, provider_id: Some(id.into()), detail: json!({}) }
}

pub fn at(text: &str) -> EventTime {
    EventTime::Timed { at: text.into(), zone: "Europe/Berlin".into() }
}

pub fn event(title: &str, start: &str) -> CreateEvent {
    CreateEvent {
        calendar: "local".into(),
        title: title.into(),
        start: at(start),
        end: None,
        location: None,
        description: None,
        guests: Vec::new(),
        recurrence: None,
        reminders: Vec::new(),
    }
}

pub fn mail(to: &str, subject: &str, body: &str) -> SendEmail {
    SendEmail {
        from: "me@example.test".into(),
        to: vec![to.into()],
        cc: Vec::new(),
        bcc: Vec::new(),
        subject: subject.into(),
        body: body.into(),
        html: None,
        attachments: Vec::new(),
        in_reply_to: None,
        references: Vec::new(),
        thread: None,
    }
}
