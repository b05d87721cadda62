#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use rusqlite::params;

use super::*;
use crate::domain::conversation::{Address, Capabilities, ChannelKind};
use crate::domain::ids::{ConversationId, OutboundId, TurnId};
use crate::domain::ports::{Channel, Clock, OutboundPart, SendOutcome, SendRefusal};
use crate::domain::time::{Elapsed, Wall};
use crate::runtime::clock::VirtualClock;
use crate::runtime::ids::SeededIds;
use crate::store::{DataFolder, Durability, Store, StoreError, StoreMode};

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Records what it is asked to do, and answers as told.
struct Wire {
    clock: VirtualClock,
    sent: Mutex<Vec<(i64, String, String)>>,
    edits: Mutex<Vec<(i64, String)>>,
    typed: Mutex<Vec<i64>>,
    outcomes: Mutex<VecDeque<SendOutcome>>,
    edit_outcomes: Mutex<VecDeque<SendOutcome>>,
}

fn delivered() -> SendOutcome {
    SendOutcome::Delivered { external_id: Some("1".into()) }
}

#[async_trait]
impl Channel for Wire {
    fn kind(&self) -> ChannelKind {
        ChannelKind::Telegram
    }
    fn capabilities(&self, _: &Address) -> Capabilities {
        Capabilities { immediate: true, typing: true, edit: true, buttons: true }
    }
    fn split(&self, markdown: &str) -> Vec<String> {
        markdown.split('|').map(str::to_owned).collect()
    }
    async fn send(&self, part: &OutboundPart) -> SendOutcome {
        let at = self.clock.now().elapsed.0;
        self.sent.lock().unwrap().push((at, part.to.contact.clone(), part.markdown.clone()));
        self.outcomes.lock().unwrap().pop_front().unwrap_or_else(delivered)
    }
    async fn edit(&self, _: &str, part: &OutboundPart) -> SendOutcome {
        self.edits.lock().unwrap().push((self.clock.now().elapsed.0, part.markdown.clone()));
        self.edit_outcomes.lock().unwrap().pop_front().unwrap_or_else(delivered)
    }
    async fn typing(&self, _: &Address) {
        self.typed.lock().unwrap().push(self.clock.now().elapsed.0);
    }
    async fn answer_tap(&self, _: &str, _: &str) {}
}

struct Bench {
    store: Store,
    clock: VirtualClock,
    wire: Arc<Wire>,
    settings: Settings,
    workers: Vec<tokio::task::JoinHandle<()>>,
    _folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&DataFolder::open(folder.path().join("data")).unwrap(), StoreMode::Inline).unwrap();
        let clock = VirtualClock::starting(Wall(1_000_000), Elapsed(0));
        let wire = Arc::new(Wire {
            clock: clock.clone(),
            sent: Mutex::default(),
            edits: Mutex::default(),
            typed: Mutex::default(),
            outcomes: Mutex::default(),
            edit_outcomes: Mutex::default(),
        });
        Self { store, clock, wire, settings: Settings::default(), workers: Vec::new(), _folder: folder }
    }

    fn start(&mut self) {
        let deps = Deps {
            store: self.store.clone(),
            clock: Arc::new(self.clock.clone()),
            ids: Arc::new(SeededIds::new(3)),
            channels: Channels::new([self.wire.clone() as Arc<dyn Channel>]),
            settings: Arc::new(self.settings.clone()),
        };
        self.workers.push(tokio::spawn(Worker::new(deps).run()));
    }

    fn kill(&mut self) {
        self.workers.drain(..).for_each(|worker| worker.abort());
    }

    fn answer(&self, outcomes: impl IntoIterator<Item = SendOutcome>) {
        self.wire.outcomes.lock().unwrap().extend(outcomes);
    }

    async fn sql(&self, sql: &str) {
        let sql = sql.to_owned();
        self.store
            .write("test", Durability::Normal, move |tx| tx.execute_batch(&sql).map_err(StoreError::from))
            .await
            .unwrap();
    }

    async fn chat(&self, contact: &str) -> ConversationId {
        let contact = contact.to_owned();
        self.store
            .write("test", Durability::Normal, move |tx| {
                let kind = if contact.starts_with('-') { "group" } else { "private" };
                tx.execute(
                    "INSERT INTO conversations (channel, account, contact, kind, created_at) VALUES ('telegram', 'b', ?1, ?2, 0)",
                    params![contact, kind],
                )?;
                Ok::<_, StoreError>(ConversationId(tx.last_insert_rowid()))
            })
            .await
            .unwrap()
    }

    async fn turn(&self, conversation: ConversationId) -> TurnId {
        let id = TurnId::new("t1");
        self.sql(&format!(
            "INSERT INTO turns (id, conversation_id, number, sender_id, state, started_at, started_elapsed)
             VALUES ('{id}', {conversation}, 1, '7', 'acting', 0, 0)"
        ))
        .await;
        id
    }

    async fn put(&self, new: New) -> OutboundId {
        let now = self.clock.now();
        self.store.write("test", Durability::Full, move |tx| enqueue(tx, now, new)).await.unwrap()
    }

    async fn row(&self, id: OutboundId) -> Delivery {
        self.store.read(move |connection| state(connection, id)).await.unwrap().unwrap()
    }

    fn sent(&self) -> Vec<String> {
        self.wire.sent.lock().unwrap().iter().map(|(_, _, text)| text.clone()).collect()
    }

    /// Elapsed milliseconds of each request.
    fn times(&self) -> Vec<i64> {
        self.wire.sent.lock().unwrap().iter().map(|(at, _, _)| *at).collect()
    }
}

fn note(to: ConversationId, text: impl Into<String>) -> New {
    New::text(to, Kind::Notice, text)
}

#[test]
fn the_call_wins_over_the_setting_and_the_channel_over_both() {
    let can = |immediate| Capabilities { immediate, typing: false, edit: false, buttons: false };
    for (asked, default, immediate, expected) in [
        (None, Mode::Immediate, true, (Mode::Immediate, false)),
        (None, Mode::Batched, true, (Mode::Batched, false)),
        (Some(true), Mode::Batched, true, (Mode::Immediate, false)),
        (Some(false), Mode::Immediate, true, (Mode::Batched, false)),
        (Some(false), Mode::Immediate, false, (Mode::Batched, false)),
        (Some(true), Mode::Immediate, false, (Mode::Batched, true)),
        (None, Mode::Immediate, false, (Mode::Batched, true)),
        (None, Mode::Batched, false, (Mode::Batched, false)),
    ] {
        let settings = Settings { default_delivery_mode: default, ..Settings::default() };
        assert_eq!(choose_mode(asked, &settings, can(immediate)), expected, "{asked:?} {default:?} {immediate}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_immediate_message_overtakes_the_batch_of_its_own_turn_and_nothing_else() {
    let mut bench = Bench::new();
    let to = bench.chat("7").await;
    let turn = bench.turn(to).await;
    bench.put(note(to, "before")).await;
    let batched = |ordinal, text: &str| {
        let mut new = New::text(to, Kind::Message, text).in_turn(TurnId::new("t1"), 1, ordinal);
        new.mode = Mode::Batched;
        new
    };
    bench.put(batched(0, "batched 1")).await;
    bench.put(New::text(to, Kind::Message, "now").in_turn(turn.clone(), 1, 1)).await;
    bench.put(batched(2, "batched 2")).await;
    // The same call again is the same row.
    bench.put(batched(2, "worded otherwise")).await;
    bench.start();
    bench.clock.sleep(seconds(30)).await;
    assert_eq!(bench.sent(), ["before", "now"]);
    let now = bench.clock.now();
    bench
        .store
        .write("test", Durability::Full, move |tx| {
            assert_eq!(release_batch(tx, &turn, 1)?, 2);
            enqueue(tx, now, New::text(to, Kind::Reply, "answer").in_turn(turn.clone(), 1, 9))?;
            tx.execute("UPDATE turns SET state = 'ended'", [])?;
            Ok::<_, StoreError>(())
        })
        .await
        .unwrap();
    bench.clock.sleep(seconds(30)).await;
    assert_eq!(bench.sent()[2..], ["batched 1", "batched 2", "answer"]);
    let numbers: Vec<Option<i64>> = bench
        .store
        .read(|connection| of_turn(connection, &Turn { id: TurnId::new("t1"), epoch: 1 }))
        .await
        .unwrap()
        .iter()
        .map(|row| row.sequence_in_turn)
        .collect();
    assert_eq!(numbers, [Some(1), Some(2), Some(3), Some(4)], "in the order they arrived");
}

#[tokio::test(start_paused = true)]
async fn nothing_leaves_for_a_turn_that_was_stopped_or_superseded_and_what_leaves_fences_it() {
    for (change, left, fenced) in [
        ("UPDATE turns SET epoch = 2", 0, 0),
        ("UPDATE turns SET stop_requested = 1", 0, 0),
        ("UPDATE turns SET state = 'ended'", 1, 0),
        ("UPDATE turns SET state = 'replying'", 1, 1),
    ] {
        let mut bench = Bench::new();
        let to = bench.chat("7").await;
        let turn = bench.turn(to).await;
        let id = bench.put(New::text(to, Kind::Message, "x").in_turn(turn, 1, 0)).await;
        bench.sql(change).await;
        bench.start();
        bench.clock.sleep(seconds(5)).await;
        assert_eq!(bench.sent().len(), left, "{change}");
        let expected = if left == 0 { State::Cancelled } else { State::Delivered };
        assert_eq!(bench.row(id).await.state, expected, "{change}");
        let found: i64 = bench
            .store
            .read(|c| c.query_row("SELECT fenced FROM turns", [], |row| row.get(0)).map_err(StoreError::from))
            .await
            .unwrap();
        assert_eq!(found, fenced, "{change}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_did_not_leave_joins_the_batch_or_fails_or_is_tried_again() {
    let not_sent = || SendOutcome::NotSent { reason: "refused".into(), retry_after: None };
    for (kind, fall_back, expected) in [
        (Kind::Message, true, State::Held),
        (Kind::Message, false, State::Failed),
        (Kind::Reply, true, State::Delivered),
        (Kind::Card, false, State::Delivered),
    ] {
        let mut bench = Bench::new();
        bench.settings.fallback_to_batch_on_error = fall_back;
        let to = bench.chat("7").await;
        let turn = bench.turn(to).await;
        bench.answer([not_sent()]);
        let id = bench.put(New::text(to, kind, "x").in_turn(turn, 1, 0)).await;
        bench.start();
        bench.clock.sleep(seconds(30)).await;
        let row = bench.row(id).await;
        assert_eq!(row.state, expected, "{kind:?} {fall_back}");
        assert_eq!(row.fell_back, expected == State::Held);
        assert_eq!(row.mode == Mode::Batched, expected == State::Held);
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_message_joins_the_batch_unless_nobody_can_be_reached() {
    for (kind, fall_back, expected) in [
        (SendRefusal::Other, true, State::Held),
        (SendRefusal::Other, false, State::Failed),
        (SendRefusal::Unreachable, true, State::Failed),
    ] {
        let mut bench = Bench::new();
        bench.settings.fallback_to_batch_on_error = fall_back;
        let to = bench.chat("7").await;
        let turn = bench.turn(to).await;
        bench.answer([SendOutcome::Refused { reason: "not now".into(), kind: kind.clone() }]);
        let id = bench.put(New::text(to, Kind::Message, "x").in_turn(turn, 1, 0)).await;
        bench.start();
        bench.clock.sleep(seconds(30)).await;
        let row = bench.row(id).await;
        assert_eq!(row.state, expected, "{kind:?} {fall_back}");
        assert_eq!(row.fell_back, expected == State::Held);
        assert_eq!(bench.sent().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_found_on_its_way_at_start_is_uncertain() {
    let mut bench = Bench::new();
    let to = bench.chat("7").await;
    let lost = bench.put(note(to, "lost?")).await;
    bench.sql("UPDATE outbound SET state = 'sending'").await;
    let next = bench.put(note(to, "next")).await;
    bench.start();
    bench.clock.sleep(seconds(5)).await;
    assert_eq!(bench.row(lost).await.state, State::Uncertain);
    assert_eq!(bench.row(next).await.state, State::Delivered);
    assert_eq!(bench.sent(), ["next"]);
    let audited: i64 = bench
        .store
        .read(|c| {
            let sql = "SELECT COUNT(*) FROM audit WHERE kind = 'message_delivered' AND details LIKE '%\"state\":\"uncertain\"%'";
            c.query_row(sql, [], |row| row.get(0)).map_err(StoreError::from)
        })
        .await
        .unwrap();
    assert_eq!(audited, 1);
}

#[tokio::test(start_paused = true)]
async fn rates_are_kept_by_chat_group_and_in_all() {
    // A private chat: three at once, then one per second.
    let mut bench = Bench::new();
    let to = bench.chat("7").await;
    for n in 0..6 {
        bench.put(note(to, format!("{n}"))).await;
    }
    bench.start();
    bench.clock.sleep(seconds(20)).await;
    let times = bench.times();
    assert!(times[2] - times[0] <= 250, "{times:?}");
    assert!(times[5] - times[2] >= 2_700, "{times:?}");
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= 100), "{times:?}");

    // A group: twenty per minute, in order, while others are not held up.
    let mut bench = Bench::new();
    let group = bench.chat("-5").await;
    let other = bench.chat("8").await;
    for n in 0..25 {
        bench.put(note(group, format!("g{n}"))).await;
    }
    bench.start();
    bench.clock.sleep(seconds(30)).await;
    assert_eq!(bench.sent().len(), 20);
    bench.put(note(other, "private")).await;
    bench.clock.sleep(seconds(1)).await;
    assert_eq!(bench.sent().last().unwrap(), "private");
    bench.clock.sleep(seconds(120)).await;
    let sent = bench.wire.sent.lock().unwrap().clone();
    let to_group: Vec<_> = sent.iter().filter(|(_, chat, _)| chat == "-5").collect();
    assert_eq!(
        to_group.iter().map(|(_, _, text)| text.clone()).collect::<Vec<_>>(),
        (0..25).map(|n| format!("g{n}")).collect::<Vec<_>>()
    );
    assert!(to_group.windows(21).all(|window| window[20].0 - window[0].0 >= 60_000));

    // Many chats: thirty per second at most.
    let mut limiter = Limiter::new(Rates { min_interval: Duration::ZERO, ..Rates::default() });
    let mut now = Elapsed(0);
    let mut taken = Vec::new();
    for n in 0..90 {
        let to = Address {
            channel: ChannelKind::Telegram,
            account: "b".into(),
            contact: n.to_string(),
            thread: String::new(),
        };
        let kind = crate::domain::conversation::ConversationKind::Private;
        now = now.max(limiter.ready_at(&to, kind));
        limiter.take(&to, kind, now);
        taken.push(now.0);
    }
    assert!(taken.windows(31).all(|window| window[30] - window[0] >= 1_000), "{taken:?}");
}

#[tokio::test(start_paused = true)]
async fn case_e01_a_retry_that_came_due_in_sleep_leaves_within_a_minute_of_waking_and_once() {
    let mut bench = Bench::new();
    let to = bench.chat("7").await;
    bench.answer([SendOutcome::NotSent { reason: "flood".into(), retry_after: Some(seconds(3600)) }]);
    bench.put(note(to, "x")).await;
    bench.start();
    bench.clock.sleep(seconds(1800)).await;
    assert_eq!(bench.sent().len(), 1, "not before its time");
    bench.clock.slept(seconds(8 * 3600));
    bench.clock.sleep(seconds(61)).await;
    assert_eq!(bench.sent().len(), 2);
    bench.clock.sleep(seconds(7200)).await;
    assert_eq!(bench.sent().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn case_e03_what_is_overdue_at_wake_leaves_once_each_oldest_first_within_the_rates() {
    let mut bench = Bench::new();
    let wait = || SendOutcome::NotSent { reason: "no network".into(), retry_after: Some(seconds(3600)) };
    bench.answer((0..6).map(|_| wait()));
    for n in 0..6 {
        let to = bench.chat(&format!("{n}")).await;
        bench.put(note(to, format!("m{n}"))).await;
        bench.clock.sleep(seconds(1)).await;
    }
    bench.start();
    bench.clock.sleep(seconds(10)).await;
    bench.wire.sent.lock().unwrap().clear();
    bench.clock.slept(seconds(10 * 3600));
    bench.clock.sleep(seconds(120)).await;
    assert_eq!(bench.sent(), (0..6).map(|n| format!("m{n}")).collect::<Vec<_>>());
    assert!(bench.times().windows(2).all(|pair| pair[1] - pair[0] >= 100));
}

#[tokio::test(start_paused = true)]
async fn edits_keep_their_distance_the_last_text_wins_and_a_failed_edit_is_no_second_copy() {
    let mut bench = Bench::new();
    let to = bench.chat("7").await;
    let id = bench.put(note(to, "start")).await;
    bench.wire.edit_outcomes.lock().unwrap().extend([
        delivered(),
        SendOutcome::Uncertain { reason: "cut".into() },
        SendOutcome::NotSent { reason: "flood".into(), retry_after: Some(seconds(5)) },
    ]);
    bench.start();
    for n in 0..20 {
        let now = bench.clock.now();
        bench
            .store
            .write("test", Durability::Normal, move |tx| edit(tx, now, id, &format!("text {n}"), &[]))
            .await
            .unwrap();
        bench.clock.sleep(Duration::from_millis(200)).await;
    }
    bench.clock.sleep(seconds(60)).await;
    let edits = bench.wire.edits.lock().unwrap().clone();
    assert!(edits.windows(2).all(|pair| pair[1].0 - pair[0].0 >= 1_500), "{edits:?}");
    assert_eq!(edits.last().unwrap().1, "text 19");
    assert_eq!(bench.sent(), ["start"]);
    // What cannot be edited is given up, not sent again.
    bench
        .wire
        .edit_outcomes
        .lock()
        .unwrap()
        .push_back(SendOutcome::Refused { reason: "message to edit not found".into(), kind: SendRefusal::Other });
    let now = bench.clock.now();
    bench.store.write("test", Durability::Normal, move |tx| edit(tx, now, id, "gone", &[])).await.unwrap();
    bench.clock.sleep(seconds(60)).await;
    assert_eq!(bench.sent(), ["start"]);
}

#[tokio::test(start_paused = true)]
async fn typing_follows_the_rows_and_has_a_limit() {
    let mut bench = Bench::new();
    let to = bench.chat("7").await;
    let typing = Typing::new(
        bench.store.clone(),
        Arc::new(bench.clock.clone()),
        Channels::new([bench.wire.clone() as Arc<dyn Channel>]),
        seconds(60),
    );
    bench.workers.push(tokio::spawn(typing.run()));
    bench.clock.sleep(seconds(10)).await;
    assert!(bench.wire.typed.lock().unwrap().is_empty());
    let turn = bench.turn(to).await;
    bench.clock.sleep(seconds(9)).await;
    assert_eq!(*bench.wire.typed.lock().unwrap(), [10_000, 14_000, 18_000]);
    bench.put(New::text(to, Kind::Reply, "done").in_turn(turn, 1, 0)).await;
    bench.clock.sleep(seconds(20)).await;
    assert_eq!(bench.wire.typed.lock().unwrap().len(), 3, "not after the reply is written");
    // A turn that never ends is not typed for for ever.
    bench.sql("DELETE FROM outbound").await;
    bench.clock.sleep(seconds(600)).await;
    let typed = bench.wire.typed.lock().unwrap().len() - 3;
    assert!((15..=16).contains(&typed), "{typed}");
    bench.kill();
}
