#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::domain::conversation::{Address, ChannelKind, ConversationKind};
use crate::domain::ids::ConversationId;
use crate::domain::message::{InputKind, NewInput, Parts};
use crate::domain::ports::Clock;
use crate::domain::time::{Elapsed, Now, Wall};
use crate::runtime::clock::VirtualClock;
use crate::store::{DataFolder, Durability, Store, StoreError, StoreMode};

/// Stops nothing, decides nothing.
struct NoActs;

impl Acts for NoActs {
    fn stop(&self, _: &rusqlite::Transaction<'_>, _: Now, _: ConversationId, _: &str) -> Result<Stopped, InboxError> {
        Ok(Stopped::default())
    }
    fn tap(&self, _: &rusqlite::Transaction<'_>, _: Now, _: &str, _: &str) -> Result<String, InboxError> {
        Ok("Approved.".to_owned())
    }
}

fn input(key: &str, text: &str) -> NewInput {
    NewInput {
        address: Some(Address {
            channel: ChannelKind::Window,
            account: "local".into(),
            contact: "main".into(),
            thread: String::new(),
        }),
        conversation_kind: ConversationKind::Private,
        conversation_title: "Window".into(),
        kind: InputKind::Message,
        dedupe_key: key.into(),
        external_id: Some(key.into()),
        sender_id: "me".into(),
        sender_name: "Me".into(),
        owner: true,
        text: text.into(),
        parts: Parts::default(),
        sent_at: Wall(1_000_000),
    }
}

fn open() -> (Store, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&DataFolder::open(folder.path().join("data")).unwrap(), StoreMode::Inline).unwrap();
    (store, folder)
}

#[test]
fn stop_words_are_whole_messages() {
    for text in ["stop", "Stop!", " ¡PARA! ", "cancela", "alto.", "detente", "Detente…", "STOP 🛑"] {
        assert!(stop_word(text), "{text:?}");
    }
    for text in ["stop it", "para mañana", "if it fails, stop.", "stopwatch", "", "🛑", "no pares", "paraguas"] {
        assert!(!stop_word(text), "{text:?}");
    }
}

#[test]
fn control_is_recognised_on_every_channel_and_never_in_what_is_passed_on() {
    let of = |text: &str| Control::of(&input("k", text));
    assert_eq!(of("/stop"), Some(Control::Stop));
    assert_eq!(of("/DID dentist on Monday"), Some(Control::Did("dentist on Monday".into())));
    assert_eq!(of("/unknown"), None);
    assert_eq!(of("/usr/bin/env"), None);
    assert_eq!(of("/stop@other_bot"), None, "another bot's");
    let mut forwarded = input("k", "stop");
    forwarded.parts.forward = Some(crate::domain::message::Forward { origin: "Zoe".into() });
    assert_eq!(Control::of(&forwarded), None);
    let mut slot = input("k", "stop");
    slot.kind = InputKind::Schedule;
    assert_eq!(Control::of(&slot), None, "a scheduled text is no act of a person");
}

#[tokio::test]
async fn the_same_input_is_accepted_once_from_many_at_once() {
    let (store, _folder) = open();
    let clock: Arc<dyn Clock> = Arc::new(store.system_clock());
    let ingress = Ingress::new(store.clone(), clock, Arc::new(Settings::default()), Arc::new(NoActs));
    let submits: Vec<_> = (0..20)
        .map(|n| {
            let ingress = ingress.clone();
            tokio::spawn(async move { ingress.submit(input(&format!("key-{}", n % 2), "hello")).await.unwrap() })
        })
        .collect();
    let mut fresh = 0;
    for submit in submits {
        let accepted = submit.await.unwrap();
        assert!(accepted.id.is_some() && accepted.conversation == Some(ConversationId(1)));
        fresh += usize::from(accepted.fresh);
    }
    assert_eq!(fresh, 2);
}

#[tokio::test]
async fn did_and_approvals_are_answered_from_the_rows() {
    let (store, _folder) = open();
    let clock: Arc<dyn Clock> = Arc::new(store.system_clock());
    let ingress = Ingress::new(store.clone(), clock, Arc::new(Settings::default()), Arc::new(NoActs));
    store
        .write("test", Durability::Normal, |tx| {
            for (id, state, summary, receipt) in [
                ("e1", "accepted", "Dentist", Some("uid-1")),
                ("e2", "unknown", "Offer to Ana", None),
                ("e3", "awaiting_approval", "Dentist again", None),
            ] {
                tx.execute(
                    "INSERT INTO effects (id, tool, target, account, state, idempotency_key, identity, digest, literal_hash,
                                          normalisation, intent, action, summary, provider_id, created_at, created_elapsed,
                                          updated_at)
                     VALUES (?1, 'create_event', 'calendar', 'local', ?2, ?1, ?1, '', '', 1, '{}', '{}', ?3, ?4, 0, 0, 0)",
                    rusqlite::params![id, state, summary, receipt],
                )?;
            }
            tx.execute_batch(
                "INSERT INTO approvals (effect_id, state, literal_hash, token, summary, requested_at, expires_at, expires_elapsed)
                 VALUES ('e3', 'pending', '', 't', 'Dentist again', 0, 0, 0)",
            )?;
            Ok::<_, StoreError>(())
        })
        .await
        .unwrap();
    for (n, command) in ["/did dentist", "/did nothing like it", "/approvals", "/status"].iter().enumerate() {
        ingress.submit(input(&format!("k{n}"), command)).await.unwrap();
    }
    let answers: Vec<String> = store
        .read(|c| {
            let mut statement = c.prepare("SELECT content FROM outbound ORDER BY id")?;
            let rows = statement.query_map([], |row| row.get(0))?;
            Ok::<_, StoreError>(rows.collect::<Result<_, _>>()?)
        })
        .await
        .unwrap();
    assert_eq!(
        answers,
        [
            "• 1970-01-01 00:00 Dentist again: waits for your OK\n• 1970-01-01 00:00 Dentist: done · `uid-1`",
            "I find nothing like that among what I did.",
            "Waiting for your OK:\n#1 Dentist again (create_event)",
            "Nothing is running.\n• 3 answers are on their way\n• 1 actions wait for your OK: /approvals\n\
             • 1 actions have an unknown outcome",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn after_a_long_sleep_each_owner_gets_one_summary() {
    let (store, _folder) = open();
    let clock = VirtualClock::starting(Wall(10_000_000_000), Elapsed(0));
    let settings = Settings { owners: [(ChannelKind::Telegram, "7".to_owned())].into(), ..Settings::default() };
    store
        .write("test", Durability::Normal, |tx| {
            tx.execute_batch(
                "INSERT INTO channel_cursors (channel, account, cursor) VALUES ('telegram', 'b', 1);
                 INSERT INTO conversations (channel, account, contact, created_at) VALUES ('telegram', 'b', '7', 0);
                 INSERT INTO conversations (channel, account, contact, created_at) VALUES ('telegram', 'b', '8', 0);
                 INSERT INTO conversations (channel, account, contact, kind, created_at)
                     VALUES ('telegram', 'b', '-5', 'group', 0);",
            )?;
            Ok::<_, StoreError>(())
        })
        .await
        .unwrap();
    let deps = SummaryDeps {
        store: store.clone(),
        clock: Arc::new(clock.clone()),
        settings: Arc::new(settings),
        channel: ChannelKind::Telegram,
    };
    let _worker = tokio::spawn(SummaryWorker::new(deps.clone()).run());
    let told = || async {
        store
            .read(|c| {
                let mut statement = c.prepare("SELECT conversation_id || ': ' || content FROM outbound ORDER BY id")?;
                let rows = statement.query_map([], |row| row.get::<_, String>(0))?;
                Ok::<_, StoreError>(rows.collect::<Result<Vec<_>, _>>()?)
            })
            .await
            .unwrap()
    };
    clock.sleep(Duration::from_secs(7200)).await;
    clock.slept(Duration::from_secs(8 * 3600));
    clock.sleep(Duration::from_secs(120)).await;
    assert!(told().await.is_empty(), "nothing happened, nothing to tell");

    clock.slept(Duration::from_secs(8 * 3600));
    let late = clock.now();
    store
        .write("test", Durability::Normal, move |tx| {
            tx.execute(
                "INSERT INTO inbound (conversation_id, channel, dedupe_key, kind, state, sender_id, owner, sent_at, received_at,
                                      received_elapsed, stale)
                 VALUES (1, 'telegram', 'k', 'message', 'merged', '7', 1, 0, ?1, ?2, 1)",
                rusqlite::params![late.wall, late.elapsed],
            )?;
            Ok::<_, StoreError>(())
        })
        .await
        .unwrap();
    clock.sleep(Duration::from_secs(300)).await;
    let summary = "1: While I was away:\n• 1 messages arrived late; what they ask for is asked about first";
    assert_eq!(told().await, [summary]);
    clock.sleep(Duration::from_secs(7200)).await;
    assert_eq!(told().await.len(), 1, "once");
}
