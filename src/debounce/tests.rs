#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use rusqlite::params;

use super::*;
use crate::domain::ids::InboundId;
use crate::domain::message::{Forward, Media, Parts, Transcript};
use crate::domain::ports::Clock;
use crate::domain::time::{Elapsed, Wall};
use crate::runtime::clock::VirtualClock;
use crate::runtime::ids::SeededIds;
use crate::store::{DataFolder, Durability, Store, StoreError, StoreMode};

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

#[test]
fn the_signal_of_a_text_in_every_language_we_know() {
    use Signal::{Closed, Hanging, Neutral, Opener};
    let table: &[(Signal, &[&str])] = &[
        (
            Closed,
            &[
                "¿Qué tengo mañana?",
                "Agéndalo.",
                "¡Hazlo ya!",
                "what's on Monday?",
                "book it.",
                "(see below.)",
                "he said \"yes.\"",
                "«Sí.»",
                "明天有什么？",
                "好的。",
                "今すぐ！」",
                "ما الموعد؟",
                "**done.**",
                "vou lá!",
                "if it fails, stop.",
                "हाँ।",
            ],
        ),
        (
            Opener,
            &[
                "hola",
                "¡Hola!",
                "Hola, buenas tardes",
                "una consulta",
                "Hola! una consulta:",
                "hi",
                "Hi there 👋",
                "Hey, quick question...",
                "good morning!",
                "oi",
                "Oi, bom dia",
                "uma dúvida",
                "buenos días",
                "HOLA",
                "hello, I have a question",
            ],
        ),
        (
            Hanging,
            &[
                "agenda una reunión con",
                "compra pan, leche,",
                "ana y",
                "dile a Ana que",
                "send it to",
                "lunch with",
                "well...",
                "pues…",
                "three things:",
                "first -",
                "milk;",
                "escribe «",
                "marca uma reunião com",
                "e depois manda para",
                "我想，",
                "قل له،",
                "because",
                "remind me to",
                "\"wait...\"",
                "para el",
            ],
        ),
        (
            Neutral,
            &[
                "agéndame psicología mañana a las 15:00",
                "yes",
                "no",
                "sí",
                "12",
                "👍",
                "thanks :)",
                "remind me to stop at the shop",
                "hola agéndame dentista",
                "una consulta médica mañana",
                "https://example.test/a-b",
                "call Bo (mobile)",
                "明天三点开会",
                "",
            ],
        ),
    ];
    for (expected, texts) in table {
        for text in *texts {
            assert_eq!(signal(text, &Parts::default(), Some(4096)), *expected, "{text:?}");
        }
    }
}

#[test]
fn structure_comes_first_and_waits_for_the_longer_window() {
    let windows = Windows { text_limit: Some(4096), ..Windows::default() };
    let media = Media {
        kind: "photo".into(),
        file: "f".into(),
        name: None,
        mime: None,
        bytes: None,
        attachment: None,
        problem: None,
        text: None,
        transcript: None,
    };
    let photo = Parts { media: vec![media], ..Parts::default() };
    let album = Parts { album: Some("g".into()), ..photo.clone() };
    let forward = Parts { forward: Some(Forward { origin: "Zoe".into() }), ..Parts::default() };
    for (text, parts, expected, wait) in [
        ("", &photo, Signal::Structural, 1000),
        ("", &album, Signal::Structural, 1000),
        ("which is higher?", &album, Signal::Structural, 1200),
        ("Board call moved to", &forward, Signal::Structural, 4000),
        ("a receipt", &photo, Signal::Neutral, 2500),
    ] {
        let found = signal(text, parts, windows.text_limit);
        assert_eq!(found, expected, "{text:?}");
        assert_eq!(window(found, text, &windows), ms(wait), "{text:?}");
    }
}

#[test]
fn length_is_counted_in_utf16_units_and_before_the_words() {
    for (text, expected) in [
        ("a".repeat(3999), Signal::Neutral),
        ("a".repeat(4000), Signal::Length),
        (format!("{}.", "a".repeat(4095)), Signal::Length),
        ("я".repeat(3999), Signal::Neutral),
        ("😀".repeat(2000), Signal::Length),
    ] {
        assert_eq!(signal(&text, &Parts::default(), Some(4096)), expected);
        assert_ne!(signal(&text, &Parts::default(), None), Signal::Length, "no limit, no signal");
    }
}

#[test]
fn the_playground_explains_what_a_text_does() {
    let settings = Settings::default();
    let explained = explain("¡Hola!", &settings);
    assert_eq!((explained.signal, explained.window), (Signal::Opener, ms(4000)));
    let json = serde_json::to_value(explain("ok?", &settings)).unwrap();
    assert_eq!(json, serde_json::json!({ "signal": "closed", "window_ms": 1200 }));
}

fn message(id: i64, at: i64, text: &str) -> Buffered {
    Buffered {
        id: InboundId(id),
        text: text.into(),
        parts: Parts::default(),
        received: Elapsed(at),
        sent_at: Wall(at),
        stale: false,
        scheduled: false,
    }
}

#[test]
fn the_deadline_is_the_window_or_the_cap() {
    let windows = Windows::default();
    let due = |messages: &[Buffered]| {
        let decision = decide(messages, &windows).unwrap();
        (decision.due.0, decision.reason, decision.take)
    };
    assert_eq!(due(&[message(1, 0, "hola")]), (4000, FlushReason::Quiet, 1));
    assert_eq!(due(&[message(1, 0, "hola"), message(2, 900, "qué tengo hoy?")]), (2100, FlushReason::Quiet, 2));
    assert_eq!(due(&[message(1, 0, "a"), message(2, 9_000, "b")]), (10_000, FlushReason::MaxWait, 2));
    let many: Vec<Buffered> = (0..60).map(|n| message(n, n * 10, "x")).collect();
    assert_eq!(due(&many), (490, FlushReason::MaxMessages, 50));
    let mut voice = message(1, 0, "");
    voice.parts.media.push(Media {
        kind: "voice".into(),
        file: "f".into(),
        name: None,
        mime: None,
        bytes: None,
        attachment: None,
        problem: None,
        text: None,
        transcript: Some(Transcript::Pending),
    });
    assert_eq!(due(&[voice]), (10_000, FlushReason::MaxWait, 1));
    assert!(decide(&[], &windows).is_none());
    let off = Windows {
        closed: ms(0),
        neutral: ms(0),
        open: ms(0),
        structural: ms(0),
        max_wait: ms(0),
        ..Windows::default()
    };
    assert_eq!(decide(&[message(1, 70, "hola")], &off).unwrap().due, Elapsed(70), "all at 0 turn the layer off");
}

proptest! {
    #[test]
    fn no_pattern_of_typing_waits_beyond_the_cap_or_ends_before_the_last_window(
        gaps in prop::collection::vec(0_i64..5_000, 1..80),
        texts in prop::collection::vec("[a-z,.? ]{0,12}", 80),
    ) {
        let windows = Windows::default();
        let mut at = 0;
        let messages: Vec<Buffered> = gaps.iter().zip(&texts).enumerate().map(|(n, (gap, text))| {
            at += gap;
            message(n as i64, at, text)
        }).collect();
        let decision = decide(&messages, &windows).unwrap();
        let (first, last) = (messages[0].received, messages[decision.take - 1].received);
        prop_assert!(decision.due <= first.plus(windows.max_wait).max(last));
        prop_assert!(decision.take <= windows.max_messages);
        prop_assert!(decision.reason != FlushReason::Quiet || decision.due == last.plus(decision.window));
    }
}

struct Bench {
    store: Store,
    clock: VirtualClock,
    _folder: tempfile::TempDir,
}

impl Bench {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&DataFolder::open(folder.path().join("data")).unwrap(), StoreMode::Inline).unwrap();
        let bench = Self { store, clock: VirtualClock::starting(Wall(1_000_000), Elapsed(0)), _folder: folder };
        bench
            .write(|tx| {
                tx.execute_batch(
                    "INSERT INTO conversations (channel, account, contact, created_at) VALUES ('window', 'local', 'w', 0)",
                )?;
                Ok(())
            })
            .await;
        bench
    }

    async fn write(&self, change: impl FnOnce(&rusqlite::Transaction<'_>) -> Result<(), StoreError> + Send + 'static) {
        self.store.write("test", Durability::Normal, change).await.unwrap();
    }

    async fn arrives(&self, text: &str) {
        let (now, text) = (self.clock.now(), text.to_owned());
        self.write(move |tx| {
            tx.execute(
                "INSERT INTO inbound (conversation_id, channel, dedupe_key, kind, state, sender_id, text, sent_at, received_at,
                                      received_elapsed)
                 VALUES (1, 'window', (SELECT 'k' || COUNT(*) FROM inbound), 'message', 'buffered', 'me', ?1, ?2, ?2, ?3)",
                params![text, now.wall, now.elapsed],
            )?;
            Ok(())
        })
        .await;
    }

    fn worker(&self) -> tokio::task::JoinHandle<()> {
        let deps = Deps {
            store: self.store.clone(),
            clock: Arc::new(self.clock.clone()),
            ids: Arc::new(SeededIds::new(1)),
            settings: Arc::new(Settings::default()),
        };
        tokio::spawn(Worker::new(deps).run())
    }

    async fn bursts(&self) -> Vec<(i64, String, i64)> {
        self.store
            .read(|connection| {
                let mut statement =
                    connection.prepare("SELECT message_count, flush_reason, waited_ms FROM bursts ORDER BY id")?;
                let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
                Ok::<_, StoreError>(rows.collect::<Result<_, _>>()?)
            })
            .await
            .unwrap()
    }
}

#[tokio::test(start_paused = true)]
async fn case_a02_steady_typing_is_answered_at_the_cap_and_nothing_is_lost() {
    let bench = Bench::new().await;
    let _worker = bench.worker();
    for n in 1..=60 {
        bench.arrives(&format!("m{n}")).await;
        bench.clock.sleep(ms(1000)).await;
    }
    bench.clock.sleep(ms(20_000)).await;
    let bursts = bench.bursts().await;
    assert_eq!(bursts.iter().map(|burst| burst.0).sum::<i64>(), 60);
    assert!(bursts.iter().all(|burst| burst.2 <= 10_000), "{bursts:?}");
    assert_eq!(bursts[0].1, "max_wait");
    let texts: Vec<String> = bench
        .store
        .read(|connection| {
            let mut statement =
                connection.prepare("SELECT text FROM inbound WHERE state = 'merged' ORDER BY burst_id, id")?;
            let rows = statement.query_map([], |row| row.get(0))?;
            Ok::<_, StoreError>(rows.collect::<Result<_, _>>()?)
        })
        .await
        .unwrap();
    assert_eq!(texts, (1..=60).map(|n| format!("m{n}")).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_buffer_survives_a_restart_and_a_sleep() {
    let bench = Bench::new().await;
    let worker = bench.worker();
    bench.arrives("in 5 minutes remind me to leave").await;
    bench.clock.sleep(ms(500)).await;
    worker.abort();
    // Re-armed: what is left of the window.
    let worker = bench.worker();
    bench.clock.sleep(ms(1_900)).await;
    assert!(bench.bursts().await.is_empty());
    bench.clock.sleep(ms(200)).await;
    assert_eq!(bench.bursts().await.len(), 1);
    // Passed while nobody was there: flushed at once.
    worker.abort();
    bench.arrives("second").await;
    bench.clock.slept(Duration::from_secs(8 * 3600));
    let _worker = bench.worker();
    bench.clock.sleep(ms(1)).await;
    let bursts = bench.bursts().await;
    assert_eq!((bursts.len(), bursts[1].1.as_str()), (2, "restart"));
    let stale: i64 = bench
        .store
        .read(|connection| {
            connection
                .query_row("SELECT stale FROM bursts WHERE id = 2", [], |row| row.get(0))
                .map_err(StoreError::from)
        })
        .await
        .unwrap();
    assert_eq!(stale, 1, "eight hours old by its own date");
}

#[tokio::test(start_paused = true)]
async fn case_e02_a_sleep_inside_the_window_ends_in_one_turn_on_wake() {
    let bench = Bench::new().await;
    let _worker = bench.worker();
    bench.arrives("in 5 minutes remind me to leave").await;
    bench.clock.sleep(ms(500)).await;
    bench.clock.slept(Duration::from_secs(8 * 3600));
    bench.clock.sleep(Duration::from_secs(61)).await;
    let bursts = bench.bursts().await;
    assert_eq!(bursts.len(), 1, "{bursts:?}");
}

#[tokio::test(start_paused = true)]
async fn case_a03_a_flush_that_fails_is_tried_again_and_loses_nothing() {
    let bench = Bench::new().await;
    bench
        .write(|tx| {
            tx.execute_batch(
                "CREATE TABLE broken (n INTEGER); INSERT INTO broken VALUES (2);
                 CREATE TRIGGER flaky BEFORE INSERT ON bursts WHEN (SELECT n FROM broken) > 0
                 BEGIN SELECT RAISE(ABORT, 'database is locked'); END",
            )?;
            Ok(())
        })
        .await;
    let _worker = bench.worker();
    bench.arrives("book dentist").await;
    bench.clock.sleep(ms(400)).await;
    bench.arrives("Friday 9:00").await;
    bench.clock.sleep(ms(3_000)).await;
    assert!(bench.bursts().await.is_empty());
    bench
        .write(|tx| {
            tx.execute_batch("UPDATE broken SET n = 0")?;
            Ok(())
        })
        .await;
    bench.clock.sleep(ms(15_000)).await;
    let bursts = bench.bursts().await;
    assert_eq!((bursts.len(), bursts[0].0), (1, 2), "{bursts:?}");
}
