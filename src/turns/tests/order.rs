//! One turn at a time per conversation; conversations beside each other; stop before anything else.

use serde_json::json;

use super::desk::{Desk, millis, seconds};
use crate::audit::Actor;
use crate::domain::ids::ConversationId;
use crate::domain::ports::Clock;
use crate::model::scripted::Line;
use crate::store::Durability;
use crate::turns::{DoubleTexting, StopReport, stop};

async fn press_stop(desk: &Desk) -> StopReport {
    let now = desk.clock.now();
    desk.store
        .write("test.stop", Durability::Full, move |tx| {
            stop(tx, now, ConversationId(1), &Actor::Person("telegram:7".into()))
        })
        .await
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn case_a05_a_later_message_never_overtakes_an_earlier_one() {
    let desk = Desk::texting(
        DoubleTexting::Enqueue,
        [
            Line::say("On Monday: nothing.").when("Monday").after(seconds(20)),
            Line::say("On Tuesday: lunch.").when("Tuesday").after(seconds(1)),
        ],
    );
    desk.say("A: what is on Monday?").await;
    desk.wait(seconds(2)).await;
    desk.say("B: and Tuesday?").await;
    desk.wait(seconds(40)).await;
    assert_eq!(desk.delivered(), ["On Monday: nothing.", "On Tuesday: lunch."]);
    let overlap = desk
        .rows("SELECT a.number FROM turns a JOIN turns b ON b.number = a.number + 1 AND b.started_at < a.ended_at")
        .await;
    assert_eq!(overlap, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn conversations_do_not_wait_for_each_other() {
    let desk = Desk::new([Line::say("Slow.").when("slow").after(seconds(60)), Line::say("Quick.").when("quick")]);
    desk.say_in("1", "7", "slow").await;
    desk.wait(seconds(1)).await;
    desk.say_in("2", "7", "quick").await;
    desk.wait(seconds(5)).await;
    assert_eq!(desk.delivered(), ["Quick."]);
}

#[tokio::test(start_paused = true)]
async fn case_a16_stop_ends_the_running_turn_before_its_next_effect() {
    let desk = Desk::new([
        Line::call("act", json!({"n": 1})).and_call("act", json!({"n": 2})).when("both"),
        Line::say("Both.").when("done"),
    ]);
    desk.say("do both").await;
    // The first call has its row at 1 s and its result at 2 s.
    desk.wait(millis(1_500)).await;
    desk.say("queued behind it").await;
    desk.wait(millis(100)).await;
    let report = press_stop(&desk).await;
    assert_eq!(report.done.len(), 1);
    assert_eq!(report.discarded, 1);
    assert!(report.turn.is_some() && report.sending.is_empty() && report.waiting.is_empty());
    desk.wait(seconds(60)).await;
    assert_eq!(desk.called(), ["act"]);
    assert_eq!(desk.delivered(), Vec::<String>::new());
    assert_eq!(desk.rows("SELECT state, ending FROM turns").await, ["ended stopped"]);
    assert_eq!(desk.rows("SELECT state, reason FROM bursts ORDER BY id").await, ["answered -", "discarded stopped"]);
    assert_eq!(desk.rows("SELECT state, reason FROM inbound ORDER BY id").await, ["merged -", "discarded stopped"]);
    // The open call has a result too: the transcript stays valid.
    let results =
        desk.rows("SELECT content -> '$.content' ->> 'status' FROM turn_steps WHERE kind = 'tool_result'").await;
    assert_eq!(results, ["not_done", "not_done"]);
    assert_eq!(
        desk.rows("SELECT kind FROM audit WHERE kind IN ('stopped', 'turn_ended') ORDER BY seq").await,
        ["turn_ended", "stopped"]
    );

    // The conversation goes on.
    desk.model.extend([Line::say("Here.").when("hello")]);
    desk.say("hello").await;
    desk.wait(seconds(5)).await;
    assert_eq!(desk.delivered(), ["Here."]);
}

#[tokio::test(start_paused = true)]
async fn stop_without_anything_running_is_harmless() {
    let desk = Desk::new([]);
    desk.say_in("1001", "7", "x").await;
    desk.wait(seconds(1)).await;
    let report = press_stop(&desk).await;
    assert_eq!((report.turn, report.discarded), (None, 0));
}
