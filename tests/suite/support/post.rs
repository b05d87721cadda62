//! A mail account under test: guard, queue and worker over real rows, a scripted SMTP server and a mailbox to read.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::task::JoinHandle;
use unavez::approvals::{self, Rules};
use unavez::domain::action::{Action, SendEmail};
use unavez::domain::effect::{DedupeClass, EffectState, Intent, Origin, RecipientResult, Verdict};
use unavez::domain::ids::EffectId;
use unavez::domain::ports::{Clock, EffectTarget, MailReader, MailSender};
use unavez::domain::provenance::{TargetKind, TargetOrigin, TargetSource};
use unavez::domain::time::{Elapsed, Wall};
use unavez::domain::tool::{Policy, PolicyKey, ToolDeclaration, ToolKind, Waiting};
use unavez::evidence::{self, EffectRow, MailAftercare, Targets, Worker};
use unavez::guard::{self, AdmitRequest};
use unavez::mail::compose::Composer;
use unavez::mail::credential::Credential;
use unavez::mail::imap::{ImapReader, ImapSettings};
use unavez::mail::net::Tls;
use unavez::mail::smtp::{SmtpSender, SmtpSettings};
use unavez::runtime::clock::VirtualClock;
use unavez::runtime::ids::RandomIds;
use unavez::store::{DataFolder, Durability, Store, StoreError, StoreMode};
use unavez::tools::targets::{MAIL, MailTarget};

use super::{imap, smtp};

pub const ANA: &str = "ana@example.test";

/// How the account is set up.
#[derive(Clone)]
pub struct Account {
    pub smtp_port: u16,
    pub imap_port: Option<u16>,
    /// The provider files Sent by itself.
    pub files_sent: bool,
    /// For replies to steps and to the final dot.
    pub patience: Duration,
}

impl Account {
    pub fn of(smtp: &smtp::Server, imap: Option<&imap::Server>) -> Self {
        Self {
            smtp_port: smtp.address.port(),
            imap_port: imap.map(|server| server.address.port()),
            files_sent: false,
            patience: Duration::from_secs(20),
        }
    }

    fn sender(&self) -> SmtpSender {
        let settings = SmtpSettings {
            host: "localhost".into(),
            port: self.smtp_port,
            tls: Tls::None,
            step_timeout: self.patience,
            final_reply_timeout: self.patience,
            connect_timeout: self.patience,
            files_sent: self.files_sent,
            ..SmtpSettings::default()
        };
        SmtpSender::new(settings, Credential::None, ANA.into(), Composer::new("/nonexistent", ""))
    }

    fn reader(&self) -> Option<Arc<dyn MailReader>> {
        let settings = ImapSettings {
            host: "localhost".into(),
            port: self.imap_port?,
            tls: Tls::None,
            user: "ana".into(),
            ..ImapSettings::default()
        };
        Some(Arc::new(ImapReader::new(settings, Credential::None)))
    }
}

pub struct Post {
    pub store: Store,
    pub clock: VirtualClock,
    pub settings: evidence::Settings,
    pub targets: Targets,
    pub reader: Option<Arc<dyn MailReader>>,
    acts: std::sync::atomic::AtomicU32,
}

impl Post {
    pub fn open(folder: &Path, account: &Account) -> Self {
        Self::with(folder, Arc::new(account.sender()), account.reader())
    }

    pub fn with(folder: &Path, sender: Arc<dyn MailSender>, reader: Option<Arc<dyn MailReader>>) -> Self {
        let store = Store::open(&DataFolder::open(folder).unwrap(), StoreMode::Threaded).unwrap();
        let target: Arc<dyn EffectTarget> = Arc::new(MailTarget::new(sender, reader.clone(), Arc::new(RandomIds)));
        let targets = Targets::new(HashMap::from([(MAIL.to_owned(), target)]));
        let settings = evidence::Settings { hold: Duration::ZERO, mails_per_hour: 100_000, ..Default::default() };
        let elapsed = Elapsed(unavez::domain::ports::Clock::now(&store.system_clock()).elapsed.0);
        let clock = VirtualClock::starting(Wall(1_796_000_000_000), elapsed);
        Self { store, clock, settings, targets, reader, acts: Default::default() }
    }

    pub fn deps(&self) -> evidence::Deps {
        evidence::Deps {
            store: self.store.clone(),
            clock: Arc::new(self.clock.clone()),
            ids: Arc::new(RandomIds),
            targets: self.targets.clone(),
            settings: self.settings.clone(),
        }
    }

    /// The worker, until it is aborted.
    pub fn work(&self) -> JoinHandle<()> {
        tokio::spawn(Worker::new(self.deps()).run())
    }

    pub fn aftercare(&self) -> MailAftercare {
        let reader = self.reader.clone().expect("an account that can be read");
        MailAftercare::new(self.store.clone(), Arc::new(self.clock.clone()), self.settings.clone(), ANA.into(), reader)
    }

    /// Time passes as if the machine had slept, and the worker looks at the clock again.
    pub async fn pass(&self, time: Duration) {
        self.clock.slept(time);
        self.store
            .write("test.wake", Durability::Normal, |tx| {
                tx.execute("UPDATE effects SET told = told", []).map_err(StoreError::from)
            })
            .await
            .unwrap();
    }

    fn guard(&self) -> guard::Deps {
        let policies = approvals::Policies { mail_send: Policy::Auto, ..Default::default() };
        guard::Deps {
            store: self.store.clone(),
            clock: Arc::new(self.clock.clone()),
            calendar: None,
            settings: guard::Settings { in_flight_wait: Duration::from_millis(300), ..Default::default() },
            rules: Rules {
                ids: Arc::new(RandomIds),
                targets: self.targets.clone(),
                settings: approvals::Settings { policies, ..Default::default() },
                evidence: self.settings.clone(),
            },
            mail_saves_only: false,
        }
    }

    /// Asks for a mail as a tool call would, with recipients that an owner named.
    pub async fn ask(&self, mail: SendEmail) -> Verdict {
        let act = self.acts.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let named = |address: &String| TargetOrigin {
            kind: TargetKind::Mail,
            target: address.clone(),
            source: TargetSource::Owner,
        };
        let provenance = mail.to.iter().chain(&mail.cc).chain(&mail.bcc).map(named).collect();
        let request = AdmitRequest {
            account: unavez::domain::address::Mailbox::parse(&mail.from).unwrap().address().as_str().into(),
            action: Action::SendEmail(mail),
            declaration: declaration(),
            target: MAIL.into(),
            intent: Intent { tool: "send_email".into(), arguments: json!({}), ..Default::default() },
            origin: Origin::Person { act: format!("{act}-{}", self.clock.now().elapsed.0) },
            conversation: None,
            stale_seconds: None,
            repeat: false,
            provenance,
        };
        guard::admit(&self.guard(), request).await.unwrap()
    }

    /// Asks for a mail that the guard lets through.
    pub async fn send(&self, mail: SendEmail) -> EffectId {
        match self.ask(mail).await {
            Verdict::Admitted { effect } => effect,
            other => panic!("not admitted: {other:?}"),
        }
    }

    pub async fn row(&self, id: &EffectId) -> EffectRow {
        let id = id.clone();
        self.store.read(move |connection| evidence::load(connection, &id)).await.unwrap()
    }

    pub async fn recipients(&self, id: &EffectId) -> Vec<RecipientResult> {
        let id = id.clone();
        self.store.read(move |connection| evidence::recipients(connection, &id)).await.unwrap()
    }

    /// Waits for a state that the worker reaches by itself.
    pub async fn reaches(&self, id: &EffectId, state: EffectState) -> EffectRow {
        self.until(id, |row| row.state == state).await
    }

    pub async fn until(&self, id: &EffectId, there: impl Fn(&EffectRow) -> bool) -> EffectRow {
        for _ in 0..1_500 {
            let row = self.row(id).await;
            if there(&row) {
                return row;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("it did not come to that: {:?}", self.row(id).await);
    }

    pub async fn count(&self, query: &'static str) -> i64 {
        self.store
            .read(move |connection| connection.query_row(query, [], |row| row.get(0)).map_err(StoreError::from))
            .await
            .unwrap()
    }
}

fn declaration() -> ToolDeclaration {
    ToolDeclaration {
        name: "send_email".into(),
        kind: ToolKind::Effect,
        identity: Vec::new(),
        window: None,
        policy: PolicyKey::MailSend,
        dedupe: DedupeClass::Readable,
        waiting: Waiting::Queued,
    }
}

pub fn mail(to: &[&str], subject: &str, body: &str) -> SendEmail {
    SendEmail {
        from: ANA.into(),
        to: to.iter().map(|address| (*address).to_owned()).collect(),
        cc: vec![],
        bcc: vec![],
        subject: subject.into(),
        body: body.into(),
        html: None,
        attachments: vec![],
        in_reply_to: None,
        references: vec![],
        thread: None,
    }
}
