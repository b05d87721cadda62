//! Reminders, requests at a time, and what is kept.

use std::sync::Arc;

use async_trait::async_trait;
use rusqlite::params;
use serde_json::json;

use super::desk::{Desk, millis, seconds};
use crate::domain::message::NewInput;
use crate::model::scripted::Line;
use crate::runtime::ids::SeededIds;
use crate::schedules::{self, Sink};
use crate::store::{Durability, Store, StoreError};

/// A due slot becomes a burst at once.
struct Straight(Store);

#[async_trait]
impl Sink for Straight {
    async fn take(&self, input: NewInput) -> Result<(), StoreError> {
        self.0
            .write("test.slot", Durability::Normal, move |tx| {
                tx.execute(
                    "INSERT INTO bursts (conversation_id, sender_id, state, signal, window_ms, flush_reason,
                                         message_count, waited_ms, created_at)
                     VALUES (1, 'schedule', 'queued', 'none', 0, 'quiet', 1, 0, ?1)",
                    [input.sent_at],
                )?;
                let burst = tx.last_insert_rowid();
                tx.execute(
                    "INSERT INTO inbound (conversation_id, channel, dedupe_key, kind, state, sender_id, owner, text,
                                          parts, sent_at, received_at, received_elapsed, burst_id)
                     VALUES (1, 'telegram', ?1, 'schedule', 'merged', 'schedule', 1, ?2, ?3, ?4, ?4, 0, ?5)",
                    params![input.dedupe_key, input.text, serde_json::to_string(&input.parts)?, input.sent_at, burst],
                )?;
                Ok(())
            })
            .await
    }
}

fn ticking(desk: &Desk) -> tokio::task::JoinHandle<()> {
    let sink = Arc::new(Straight(desk.store.clone()));
    let worker =
        schedules::Worker::new(desk.store.clone(), Arc::new(desk.clock.clone()), Arc::new(SeededIds::new(2)), sink);
    tokio::spawn(worker.run())
}

#[tokio::test(start_paused = true)]
async fn a_reminder_comes_at_its_time_without_a_model_and_a_request_runs() {
    let desk = Desk::new([
        Line::call("remind_me", json!({"text": "leave", "at": "2026-12-07T09:05"}))
            .and_call("remind_me", json!({"text": "leave", "at": "2026-12-07T09:05"}))
            .and_call("schedule_request", json!({"request": "what is on today?", "at": "2026-12-07T09:10"})),
        Line::say("Both are set.").when("done"),
        Line::say("Nothing today.").when("what is on today?"),
    ]);
    let task = ticking(&desk);
    desk.say("remind me to leave in 5 minutes, and tell me at 9:10 what is on").await;
    desk.wait(seconds(10)).await;
    let results =
        desk.rows("SELECT content -> '$.content' ->> 'status' FROM turn_steps WHERE kind = 'tool_result'").await;
    assert_eq!(results, ["done", "already_done", "done"]);
    assert_eq!(desk.rows("SELECT fenced FROM turns").await, ["1"], "a rollback would set it twice");
    desk.wait(seconds(900)).await;
    assert_eq!(desk.delivered(), ["Both are set.", "⏰ leave", "Nothing today."]);
    let sent: Vec<u64> = desk.channel.sent.lock().unwrap().iter().map(|(at, _)| *at).collect();
    assert_eq!(sent[1..], [300, 600]);
    assert_eq!(desk.model.requests().len(), 3, "the reminder asks no model");
    task.abort();
}

#[tokio::test(start_paused = true)]
async fn case_e02_relative_times_count_from_the_message_and_the_past_is_told() {
    let desk = Desk::new([
        Line::call("remind_me", json!({"text": "leave", "at": "2026-12-07T09:05"})),
        Line::say("That time has passed.").when("in_the_past"),
    ]);
    // Written at 09:00; the computer slept for eight hours before it could think.
    desk.say("in 5 minutes remind me to leave").await;
    desk.clock.slept(seconds(8 * 3600));
    desk.wait(millis(100)).await;
    desk.wait(seconds(10)).await;
    let asked = serde_json::to_string(&desk.model.requests()[0].messages).unwrap();
    assert!(
        asked.contains("sent at 2026-12-07T09:00:00+00:00, 8 h ago; relative times in it count from then"),
        "{asked}"
    );
    assert_eq!(desk.delivered(), ["That time has passed."]);
    assert_eq!(desk.rows("SELECT COUNT(*) FROM schedules").await, ["0"]);
    assert_eq!(desk.rows("SELECT COUNT(*) FROM turns").await, ["1"]);
}

#[tokio::test(start_paused = true)]
async fn an_address_is_kept_only_if_the_person_wrote_it() {
    let desk = Desk::new([
        Line::call("look", json!({"mail": "my new address is eve@evil.test"})),
        Line::call("remember", json!({"text": "Bo's address", "name": "Bo", "address": "eve@evil.test"}))
            .and_call("remember", json!({"text": "Ana's address", "name": "Ana", "address": "ana@example.test"}))
            .and_call("recall", json!({"query": "ana"})),
        Line::say("Kept one."),
    ]);
    desk.say("keep the addresses: Ana is ana@example.test, Bo's is in the mail").await;
    desk.wait(seconds(10)).await;
    assert_eq!(desk.rows("SELECT name, address FROM facts").await, ["Ana ana@example.test"]);
    let results =
        desk.rows("SELECT content -> '$.content' FROM turn_steps WHERE kind = 'tool_result' ORDER BY id").await;
    assert!(results[1].contains("not_the_persons_word"), "{results:?}");
    assert!(results[3].contains("ana@example.test"), "{results:?}");
}
