//! The desk over a database as a long life leaves it, and what of the program itself the window is told.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use async_trait::async_trait;

use crate::api::window::Desk;
use crate::api::window::wire::{ActivityFilter, TimelineEntry};
use crate::app::{AppOptions, Desktop};
use crate::config;
use crate::domain::conversation::ChannelKind;
use crate::domain::ids::ConversationId;
use crate::domain::ports::{Batch, InboundSource, PollError};
use crate::domain::time::{Elapsed, Now, Wall};
use crate::memory::{self, FactKind, NewFact};
use crate::runtime::secrets::MemorySecrets;
use crate::schedules;
use crate::store::{DataFolder, Durability, StoreError};

async fn desktop(text: &str, source: Option<Arc<dyn InboundSource>>) -> (tempfile::TempDir, Desktop) {
    let dir = tempfile::tempdir().unwrap();
    let folder = DataFolder::open(dir.path().join("data")).unwrap();
    let file = dir.path().join("config.toml");
    let mut options = AppOptions::new(config::parse(text, &file).unwrap(), file, folder);
    options.ports.keychain = Some(Arc::new(MemorySecrets::default()));
    options.ports.source = source;
    let desktop = Desktop::start(options).await.unwrap();
    (dir, desktop)
}

async fn write(desk: &Desk, act: impl FnOnce(&rusqlite::Transaction<'_>) -> Result<(), StoreError> + Send + 'static) {
    desk.store().write("test.seed", Durability::Normal, act).await.unwrap();
}

/// 2026-03-02, a Monday, 08:00 UTC.
const MORNING: i64 = 1_772_438_400_000;

/// Ids from 1,000, so that they are none of what the program made itself.
const SEED: &str = "
INSERT INTO conversations (id, channel, account, contact, title, created_at) VALUES (9, 'telegram', '1', '42', 'Marta', 0);
CREATE TEMP TABLE n AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000) SELECT i FROM n;
INSERT INTO bursts (id, conversation_id, sender_id, state, signal, window_ms, flush_reason, message_count, waited_ms, created_at)
  SELECT 1000 + i, 9, '42', 'answered', 'neutral', 2500, 'quiet', 1, 2500, 1772438400000 + i * 60000 FROM n;
INSERT INTO inbound (id, conversation_id, channel, dedupe_key, kind, state, sender_id, text, sent_at, received_at, received_elapsed, burst_id)
  SELECT 1000 + i, 9, 'telegram', 'seed:' || i, 'message', 'merged', '42', 'request number ' || i,
         1772438400000 + i * 60000, 1772438400000 + i * 60000, 0, 1000 + i FROM n;
INSERT INTO turns (id, conversation_id, number, sender_id, state, ending, started_at, started_elapsed, ended_at)
  SELECT 'turn-' || i, 9, i, '42', 'ended', 'answered', 1772438400000 + i * 60000 + 3000, 0, 1772438400000 + i * 60000 + 9000 FROM n;
INSERT INTO outbound (id, conversation_id, sequence, kind, mode, state, content, queued_at, delivered_at)
  SELECT 1000 + i, 9, i, 'reply', 'immediate', 'delivered', 'answer number ' || i, 1772438400000 + i * 60000 + 9000,
         1772438400000 + i * 60000 + 9500 FROM n;
INSERT INTO effects (id, tool, target, account, state, idempotency_key, identity, digest, literal_hash, normalisation, intent,
                     action, summary, conversation_id, created_at, created_elapsed, updated_at)
  SELECT printf('effect-%04d', i), 'create_event', 'calendar', 'local', 'accepted', 'key-' || i, 'identity-' || i, 'd', 'l', 1,
         '{\"tool\":\"create_event\",\"arguments\":{},\"request\":\"book the dentist\",\"stale_seconds\":null}',
         '{\"kind\":\"other\",\"tool\":\"create_event\",\"arguments\":{},\"identity_fields\":[]}', 'Dentist ' || i, 9, 1772438400000 + i * 60000, 0, 1772438400000 + i * 60000 FROM n WHERE i <= 200;
-- Asked in one order, decided in the other.
INSERT INTO approvals (id, effect_id, state, literal_hash, token, summary, conversation_id, requested_at, expires_at,
                       expires_elapsed, decided_at, decided_by, surface)
  SELECT 1000 + i, printf('effect-%04d', i), 'approved', 'l', 'token-' || i, 'Dentist ' || i, 9, 1772438400000 + i * 60000, 0, 0,
         1772438400000 + (201 - i) * 1200000, 'Marta', 'telegram' FROM n WHERE i <= 200;
-- The wall clock was set back by a day for one message.
UPDATE bursts SET created_at = created_at - 86400000 WHERE id = 3500;
DROP TABLE n;
";

fn key(entry: &TimelineEntry) -> String {
    match entry {
        TimelineEntry::Burst(row) => format!("burst {}", row.id),
        TimelineEntry::Turn(row) => format!("turn {}", row.id),
        TimelineEntry::Outbound(row) => format!("outbound {}", row.id),
        TimelineEntry::Decision(row) => format!("decision {}", row.id),
        TimelineEntry::Control(row) => format!("control {}", row.id),
    }
}

#[tokio::test]
async fn a_long_timeline_is_read_to_its_end_each_entry_once() {
    let (_dir, desktop) = desktop("", None).await;
    let desk = desktop.desk().await.unwrap();
    write(&desk, |tx| Ok(tx.execute_batch(SEED)?)).await;

    let mut page = desk.timeline("9".to_owned(), None).await.unwrap();
    let newest = page.entries.last().map(key);
    assert_eq!(newest.as_deref(), Some("outbound 5000"));

    let mut seen = HashSet::new();
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    let mut pages = 1;
    loop {
        assert!(page.entries.len() <= 60, "a page of {}", page.entries.len());
        for entry in &page.entries {
            let key = key(entry);
            *kinds.entry(key.split(' ').next().unwrap().to_owned()).or_default() += 1;
            assert!(seen.insert(key.clone()), "{key} twice");
            if let TimelineEntry::Burst(burst) = entry {
                assert_eq!(burst.messages.len(), 1, "{key}");
            }
        }
        let Some(older) = page.older else { break };
        assert_eq!(page.entries.len(), 60, "only the last page is short");
        page = desk.timeline("9".to_owned(), Some(older)).await.unwrap();
        pages += 1;
    }
    let expected = [("burst", 4000), ("decision", 200), ("outbound", 4000), ("turn", 4000)];
    assert_eq!(kinds, expected.map(|(kind, count)| (kind.to_owned(), count)).into());
    assert_eq!(pages, 12_200_usize.div_ceil(60));
    desktop.stop().await;
}

#[tokio::test]
async fn reminders_and_memory_are_listed_and_forgotten_for_good() {
    let (_dir, desktop) = desktop("", None).await;
    let desk = desktop.desk().await.unwrap();
    let now = Now { wall: Wall(MORNING), elapsed: Elapsed(0) };
    write(&desk, move |tx| {
        tx.execute_batch(
            "INSERT INTO conversations (id, channel, account, contact, created_at) VALUES (9, 'telegram', '1', '42', 0)",
        )?;
        let far = Wall(4_102_444_800_000);
        let new = |kind, text: &str, rule: Option<&str>| schedules::New {
            kind,
            text: text.to_owned(),
            conversation: ConversationId(9),
            starts_at: far,
            zone: "Europe/Madrid".to_owned(),
            rule: rule.map(str::to_owned),
            missed: schedules::Missed::Run,
            turn: None,
        };
        schedules::add(tx, now, &new(schedules::Kind::Reminder, "Call the bank", None)).unwrap();
        schedules::add(tx, now, &new(schedules::Kind::Request, "Sum up the day", Some("FREQ=DAILY"))).unwrap();
        let contact = NewFact {
            kind: FactKind::Contact,
            text: String::new(),
            name: Some("Ana Ruiz".to_owned()),
            address: Some("ana.ruiz@example.test".to_owned()),
            said_by: "telegram:42".to_owned(),
        };
        memory::remember(tx, now, &contact)?;
        Ok(())
    })
    .await;

    let rows = desk.schedules().await.unwrap();
    assert_eq!(
        rows.iter().map(|row| (row.text.as_str(), row.recurring)).collect::<Vec<_>>(),
        [("Call the bank", false), ("Sum up the day", true)]
    );
    desk.cancel_schedule(rows[0].id.clone()).await.unwrap();
    assert!(desk.cancel_schedule(rows[0].id.clone()).await.is_err(), "it is gone already");
    assert_eq!(desk.schedules().await.unwrap().len(), 1);

    let facts = desk.facts().await.unwrap();
    assert_eq!((facts[0].text.as_str(), facts[0].address.as_deref()), ("Ana Ruiz", Some("ana.ruiz@example.test")));
    desk.forget_fact(facts[0].id.clone()).await.unwrap();
    assert!(desk.facts().await.unwrap().is_empty());
    let indexed: i64 = desk
        .store()
        .read(|connection| {
            Ok::<_, StoreError>(connection.query_row(
                "SELECT count(*) FROM facts_fts WHERE facts_fts MATCH 'ana'",
                [],
                |row| row.get(0),
            )?)
        })
        .await
        .unwrap();
    assert_eq!(indexed, 0, "what is forgotten is in no index either");

    let filter = ActivityFilter { kinds: vec![], conversation: None, since: None, until: None };
    let log = desk.activity(filter, None).await.unwrap();
    let removed = log.rows.iter().filter(|row| row.details.get("removed").is_some()).count();
    assert_eq!(removed, 2, "both are in the log");
    desktop.stop().await;
}

/// A bot that is known by name and never hears anything.
struct QuietBot(Option<&'static str>);

#[async_trait]
impl InboundSource for QuietBot {
    fn kind(&self) -> ChannelKind {
        ChannelKind::Telegram
    }

    async fn account(&self) -> Result<String, PollError> {
        Ok("1".to_owned())
    }

    async fn poll(&self, _cursor: Option<i64>) -> Result<Batch, PollError> {
        std::future::pending().await
    }

    async fn fetch(&self, _file: &str) -> Result<Vec<u8>, PollError> {
        Err(PollError::Offline { reason: "no files".to_owned() })
    }

    fn public_name(&self) -> Option<String> {
        self.0.map(str::to_owned)
    }
}

#[tokio::test]
async fn pairing_has_a_link_once_the_bot_is_known() {
    let enabled = "[telegram]\nenabled = true\n";
    let (_dir, known) = desktop(enabled, Some(Arc::new(QuietBot(Some("unavez_bot"))))).await;
    let pairing = known.pairing().await.unwrap();
    let link = pairing.link.unwrap();
    let code: String = pairing.code.chars().filter(char::is_ascii_alphanumeric).collect();
    assert_eq!(link, format!("https://t.me/unavez_bot?start={code}"));
    assert_eq!(known.pairing().await.unwrap().link.unwrap(), link, "asking again gives the same open code");
    known.stop().await;

    let (_dir, unknown) = desktop(enabled, Some(Arc::new(QuietBot(None)))).await;
    assert_eq!(unknown.pairing().await.unwrap().link, None);
    unknown.stop().await;
}

#[tokio::test]
async fn tool_servers_of_the_configuration_are_listed() {
    let text = "[mcp.servers.files]\ncommand = [\"npx\", \"-y\", \"server\"]\n[mcp.servers.notes]\nurl = \"http://127.0.0.1:9/mcp\"\n";
    let (_dir, desktop) = desktop(text, None).await;
    let settings = desktop.settings(false, false).await.unwrap();
    let servers: Vec<_> = settings.servers.iter().map(|one| (one.name.as_str(), one.command.as_str())).collect();
    assert_eq!(servers, [("files", "npx -y server"), ("notes", "http://127.0.0.1:9/mcp")]);
    desktop.stop().await;
}
