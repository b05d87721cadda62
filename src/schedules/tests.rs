//! Slots on a virtual clock.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;

use super::*;
use crate::domain::ids::ConversationId;
use crate::domain::language::Language;
use crate::domain::message::NewInput;
use crate::domain::ports::Clock;
use crate::domain::time::{Elapsed, Wall};
use crate::runtime::clock::VirtualClock;
use crate::runtime::ids::SeededIds;
use crate::store::{DataFolder, Durability, Store, StoreError, StoreMode};

/// Monday, 7 December 2026, 09:00 UTC.
const START: Wall = Wall(1_796_634_000_000);
const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;

/// Keeps each key once, as the inbox does; fails while told to.
#[derive(Default)]
struct Taken {
    inputs: Mutex<Vec<NewInput>>,
    fail: Mutex<u32>,
}

#[async_trait]
impl Sink for Taken {
    async fn take(&self, input: NewInput) -> Result<(), StoreError> {
        let mut fail = self.fail.lock().unwrap();
        if *fail > 0 {
            *fail -= 1;
            return Err(StoreError::Locked);
        }
        let mut inputs = self.inputs.lock().unwrap();
        if !inputs.iter().any(|known| known.dedupe_key == input.dedupe_key) {
            inputs.push(input);
        }
        Ok(())
    }
}

struct Desk {
    store: Store,
    clock: VirtualClock,
    taken: Arc<Taken>,
    task: Option<tokio::task::JoinHandle<()>>,
    _folder: tempfile::TempDir,
}

impl Desk {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&DataFolder::open(folder.path()).unwrap(), StoreMode::Inline).unwrap();
        store
            .write("test.chat", Durability::Normal, |tx| {
                tx.execute("INSERT INTO conversations (channel, account, contact, created_at) VALUES ('window', 'local', 'main', 0)", [])?;
                Ok::<_, StoreError>(())
            })
            .await
            .unwrap();
        let clock = VirtualClock::starting(START, Elapsed(0));
        Self { store, clock, taken: Arc::default(), task: None, _folder: folder }
    }

    fn start(&mut self) {
        let (clock, sink) = (Arc::new(self.clock.clone()), self.taken.clone());
        let worker = Worker::new(self.store.clone(), clock, Arc::new(SeededIds::new(1)), sink);
        self.task = Some(tokio::spawn(worker.run()));
    }

    fn stop(&mut self) {
        if let Some(task) = self.task.take() {
            task.abort();
        }
    }

    async fn add(&self, kind: Kind, text: &str, at: i64, rule: Option<&str>, missed: Missed) -> (i64, bool) {
        let new = New {
            kind,
            text: text.to_owned(),
            conversation: ConversationId(1),
            starts_at: Wall(START.0 + at),
            zone: "Europe/Madrid".to_owned(),
            rule: rule.map(str::to_owned),
            missed,
            turn: None,
        };
        let now = self.clock.now();
        let (id, fresh) = self.store.write("test.add", Durability::Normal, move |tx| add(tx, now, &new)).await.unwrap();
        (id.0, fresh)
    }

    /// (minutes after the start, text)
    fn taken(&self) -> Vec<(i64, String)> {
        let inputs = self.taken.inputs.lock().unwrap();
        inputs.iter().map(|input| ((input.sent_at.0 - START.0) / MINUTE, input.text.clone())).collect()
    }

    async fn answer(&self, key: &str) -> Option<String> {
        let (now, key) = (self.clock.now(), key.to_owned());
        let zone = jiff::tz::TimeZone::get("Europe/Madrid").unwrap();
        self.store.read(move |connection| answer(connection, now, &key, Language::En, &zone)).await.unwrap()
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.stop();
    }
}

#[tokio::test(start_paused = true)]
async fn a_slot_comes_once_at_its_time() {
    let mut desk = Desk::new().await;
    desk.start();
    assert_eq!(desk.add(Kind::Reminder, "leave", 5 * MINUTE, None, Missed::Run).await, (1, true));
    assert_eq!(desk.add(Kind::Reminder, "leave", 5 * MINUTE, None, Missed::Run).await, (1, false), "the same is one");
    desk.clock.sleep(Duration::from_secs(299)).await;
    assert_eq!(desk.taken(), []);
    desk.clock.sleep(Duration::from_secs(2)).await;
    assert_eq!(desk.taken(), [(5, "leave".to_owned())]);
    let key = desk.taken.inputs.lock().unwrap()[0].dedupe_key.clone();
    assert_eq!(key, format!("schedule:1:{}", START.0 + 5 * MINUTE));
    assert_eq!(desk.answer(&key).await.unwrap(), "⏰ leave");
    desk.clock.sleep(Duration::from_secs(7200)).await;
    assert_eq!(desk.taken().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_rule_follows_the_local_clock_and_a_cancelled_one_is_silent() {
    let rule =
        next_after(START, "Europe/Madrid", "FREQ=MONTHLY;BYMONTHDAY=7", Wall(START.0 + 100 * 24 * HOUR)).unwrap();
    // 7 April 2027, 10:00 in Madrid is 08:00 UTC: summer time began meanwhile.
    assert_eq!(rule.unwrap().timestamp().to_string(), "2027-04-07T08:00:00Z");
    assert!(next_after(START, "Europe/Madrid", "FREQ=MINUTELY", START).is_err());
    assert_eq!(next_after(START, "Europe/Madrid", "FREQ=DAILY;COUNT=2", Wall(START.0 + 24 * HOUR)).unwrap(), None);

    let mut desk = Desk::new().await;
    desk.start();
    desk.add(Kind::Request, "summary", HOUR, Some("FREQ=DAILY"), Missed::Run).await;
    desk.clock.sleep(Duration::from_secs(50 * 3600)).await;
    assert_eq!(desk.taken().iter().map(|(at, _)| at / 60).collect::<Vec<_>>(), [1, 25, 49]);
    desk.store
        .write("test.cancel", Durability::Normal, |tx| cancel(tx, crate::domain::ids::ScheduleId(1)))
        .await
        .unwrap();
    desk.clock.sleep(Duration::from_secs(50 * 3600)).await;
    assert_eq!(desk.taken().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn case_e03_overdue_slots_come_once_each_oldest_first() {
    let mut desk = Desk::new().await;
    desk.add(Kind::Reminder, "second", 2 * HOUR, None, Missed::Run).await;
    desk.add(Kind::Reminder, "first", HOUR, None, Missed::Run).await;
    desk.add(Kind::Request, "hourly", 30 * MINUTE, Some("FREQ=HOURLY"), Missed::Run).await;
    desk.start();
    desk.clock.sleep(Duration::from_secs(1)).await;
    desk.clock.slept(Duration::from_secs(8 * 3600));
    desk.clock.sleep(Duration::from_secs(61)).await;
    // Of the hourly one only the newest missed slot.
    assert_eq!(desk.taken(), [(450, "hourly".to_owned()), (60, "first".to_owned()), (120, "second".to_owned())]);
    let keys: Vec<String> = desk.taken.inputs.lock().unwrap().iter().map(|input| input.dedupe_key.clone()).collect();
    assert_eq!(desk.answer(&keys[0]).await, None, "a missed request runs late");
    assert_eq!(desk.answer(&keys[1]).await.unwrap(), "⏰ first (it was due 2026-12-07 11:00)");
}

#[tokio::test(start_paused = true)]
async fn a_missed_request_can_be_told_instead_of_run() {
    let mut desk = Desk::new().await;
    desk.add(Kind::Request, "send the report", HOUR, None, Missed::Tell).await;
    desk.clock.slept(Duration::from_secs(8 * 3600));
    desk.start();
    desk.clock.sleep(Duration::from_secs(1)).await;
    let key = desk.taken.inputs.lock().unwrap()[0].dedupe_key.clone();
    let told = desk.answer(&key).await.unwrap();
    assert!(
        told.starts_with("Missed, and not run; it was due 2026-12-07 11:00") && told.ends_with("send the report"),
        "{told}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_crash_between_handing_over_and_advancing_repeats_nothing() {
    let mut desk = Desk::new().await;
    desk.add(Kind::Reminder, "leave", MINUTE, None, Missed::Run).await;
    *desk.taken.fail.lock().unwrap() = 3;
    desk.start();
    desk.clock.sleep(Duration::from_secs(120)).await;
    assert_eq!(desk.taken().len(), 1, "a failing hand-over is tried again");
    // As if the process had died before the row was advanced.
    desk.stop();
    desk.store
        .write("test.undo", Durability::Normal, |tx| {
            tx.execute("UPDATE schedules SET state = 'active', next_slot = starts_at, last_slot = NULL", [])?;
            Ok::<_, StoreError>(())
        })
        .await
        .unwrap();
    desk.start();
    desk.clock.sleep(Duration::from_secs(120)).await;
    assert_eq!(desk.taken().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn after_a_restore_missed_slots_are_told_and_do_not_run() {
    let mut desk = Desk::new().await;
    desk.add(Kind::Request, "send the report", HOUR, None, Missed::Run).await;
    desk.add(Kind::Reminder, "water the plants", HOUR, Some("FREQ=DAILY"), Missed::Run).await;
    desk.clock.slept(Duration::from_secs(8 * 3600));
    let (now, zone) = (desk.clock.now(), jiff::tz::TimeZone::UTC);
    let told = desk
        .store
        .write("test.miss", Durability::Full, move |tx| miss_all(tx, now, Language::En, &zone))
        .await
        .unwrap();
    let lines: Vec<&str> = told.iter().map(|(_, line)| line.as_str()).collect();
    assert_eq!(
        lines,
        [
            "Missed, and not run; it was due 2026-12-07 10:00: send the report",
            "Missed, and not run; it was due 2026-12-07 10:00: water the plants"
        ]
    );
    desk.start();
    desk.clock.sleep(Duration::from_secs(24 * 3600)).await;
    assert_eq!(
        desk.taken().iter().map(|(at, text)| (at / 60, text.as_str())).collect::<Vec<_>>(),
        [(25, "water the plants")]
    );
}
