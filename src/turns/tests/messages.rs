//! The message tool against the final answer.

use serde_json::json;

use super::desk::{Desk, seconds};
use crate::domain::ports::SendOutcome;
use crate::model::scripted::Line;
use crate::outbox::{self, Mode};
use crate::turns::Settings;

fn message(text: &str) -> Line {
    Line::call("message", json!({"content": text}))
}

#[tokio::test(start_paused = true)]
async fn case_b26_an_acknowledgement_does_not_hide_the_answer() {
    let desk = Desk::new([
        message("On it").when("move it"),
        Line::call("act", json!({})).when("delivered"),
        Line::say("Moved to 15:00").when("done"),
    ]);
    desk.say("move it to 15:00").await;
    desk.wait(seconds(20)).await;
    assert_eq!(desk.delivered(), ["On it", "Moved to 15:00"]);
}

#[tokio::test(start_paused = true)]
async fn case_b27_the_same_text_is_said_once() {
    let desk = Desk::new([message("Done: moved to 15:00"), Line::say("Done: moved to 15:00\n")]);
    desk.say("move it").await;
    desk.wait(seconds(20)).await;
    assert_eq!(desk.delivered(), ["Done: moved to 15:00"]);
}

#[tokio::test(start_paused = true)]
async fn case_b28_a_message_to_another_chat_does_not_hide_the_answer() {
    let desk = Desk::new([Line::say("Told the group").when("group").after(seconds(5))]);
    desk.say_in("1001", "7", "tell the group").await;
    desk.say_in("2002", "9", "hello").await;
    desk.wait(seconds(1)).await;
    // A tool of this turn spoke in the other chat, with the very words of the answer.
    let turn = desk.turns().await[0].clone();
    desk.store
        .write("test.cross", crate::store::Durability::Normal, move |tx| {
            let new = outbox::New::text(crate::domain::ids::ConversationId(2), outbox::Kind::Message, "Told the group");
            outbox::enqueue(tx, crate::domain::time::Now::default(), new.in_turn(turn, 1, 50))
        })
        .await
        .unwrap();
    desk.wait(seconds(20)).await;
    let answers =
        desk.rows("SELECT conversation_id, content FROM outbound WHERE content = 'Told the group' ORDER BY id").await;
    assert_eq!(answers, ["2 Told the group", "1 Told the group"]);
}

#[tokio::test(start_paused = true)]
async fn case_b29_an_empty_answer_after_a_message_is_no_reason_to_ask_again() {
    let desk = Desk::new([message("hello").when("hi"), Line::default().when("delivered"), Line::say("Again?").again()]);
    desk.say("hi").await;
    desk.wait(seconds(20)).await;
    assert_eq!(desk.delivered(), ["hello"]);
    assert_eq!(desk.model.requests().len(), 2);
    assert_eq!(desk.rows("SELECT ending FROM turns").await, ["answered"]);
}

#[tokio::test(start_paused = true)]
async fn a_failed_message_is_not_remembered_as_said() {
    let batch_off = outbox::Settings { fallback_to_batch_on_error: false, ..outbox::Settings::default() };
    let desk = Desk::with(Settings::default(), batch_off, true, [message("Done"), Line::say("Done")]);
    let refused = SendOutcome::NotSent { reason: "connection refused".to_owned(), retry_after: None };
    desk.channel.script.lock().unwrap().push(refused);
    desk.say("do it").await;
    desk.wait(seconds(20)).await;
    assert_eq!(desk.rows("SELECT kind, state FROM outbound ORDER BY id").await, ["message failed", "reply delivered"]);
}

#[tokio::test(start_paused = true)]
async fn seed_message_three_at_their_times_before_the_end() {
    let desk = Desk::new([
        message("one").when("go"),
        message("two").when("delivered").after(seconds(60)),
        message("three").when("delivered").after(seconds(30)),
        Line::say("end").when("delivered").after(seconds(30)),
    ]);
    desk.say("go").await;
    desk.wait(seconds(200)).await;
    let sent = desk.channel.sent.lock().unwrap().clone();
    let expected = [(0, "one"), (60, "two"), (90, "three"), (120, "end")];
    assert_eq!(sent, expected.map(|(at, text)| (at, text.to_owned())));
    let rows = "SELECT sequence_in_turn, mode FROM outbound WHERE kind = 'message' ORDER BY id";
    assert_eq!(desk.rows(rows).await, ["1 immediate", "2 immediate", "3 immediate"]);
}

#[tokio::test(start_paused = true)]
async fn seed_message_mixed_modes_keep_their_order() {
    let desk = Desk::new([
        Line::call("message", json!({"content": "batched 1", "immediate": false}))
            .and_call("message", json!({"content": "now", "immediate": true}))
            .and_call("message", json!({"content": "batched 2", "immediate": false})),
        Line::say("end"),
    ]);
    desk.say("go").await;
    desk.wait(seconds(30)).await;
    assert_eq!(desk.delivered(), ["now", "batched 1", "batched 2", "end"]);
    let results =
        desk.rows("SELECT content -> '$.content' ->> 'delivery_mode' FROM turn_steps WHERE kind = 'tool_result'").await;
    assert_eq!(results, ["batched", "immediate", "batched"]);
    let ended = desk.rows("SELECT details FROM audit WHERE kind = 'turn_ended'").await;
    assert!(ended[0].contains(r#""batched":2"#) && ended[0].contains(r#""immediate":1"#), "{ended:?}");
}

#[tokio::test(start_paused = true)]
async fn seed_message_a_channel_without_immediate_send_falls_back_to_the_batch() {
    let desk =
        Desk::with(Settings::default(), outbox::Settings::default(), false, [message("later"), Line::say("end")]);
    desk.say("go").await;
    desk.wait(seconds(30)).await;
    assert_eq!(desk.delivered(), ["later", "end"]);
    let result = desk.rows("SELECT content -> '$.content' FROM turn_steps WHERE kind = 'tool_result'").await;
    assert!(result[0].contains(r#""fell_back_to_batch":true"#) && result[0].contains("queued_at"), "{result:?}");
}

#[tokio::test(start_paused = true)]
async fn seed_message_the_setting_batched_delivers_at_the_end() {
    let batched = outbox::Settings { default_delivery_mode: Mode::Batched, ..outbox::Settings::default() };
    let desk = Desk::with(
        Settings::default(),
        batched,
        true,
        [message("one"), message("two").after(seconds(60)), Line::say("end").after(seconds(30))],
    );
    desk.say("go").await;
    desk.wait(seconds(89)).await;
    assert_eq!(desk.delivered(), Vec::<String>::new());
    desk.wait(seconds(30)).await;
    assert_eq!(desk.delivered(), ["one", "two", "end"]);
}

#[tokio::test(start_paused = true)]
async fn seed_message_a_failed_send_joins_the_batch_or_is_an_error() {
    for (fallback, delivered, status) in [(true, vec!["lost?", "end"], "queued"), (false, vec!["end"], "error")] {
        let settings = outbox::Settings { fallback_to_batch_on_error: fallback, ..outbox::Settings::default() };
        let desk = Desk::with(Settings::default(), settings, true, [message("lost?"), Line::say("end")]);
        let refused = SendOutcome::NotSent { reason: "connection refused".to_owned(), retry_after: None };
        desk.channel.script.lock().unwrap().push(refused);
        desk.say("go").await;
        desk.wait(seconds(30)).await;
        assert_eq!(desk.delivered(), delivered);
        let result = desk.rows("SELECT content -> '$.content' ->> 'status' FROM turn_steps WHERE kind = 'tool_result'");
        assert_eq!(result.await, [status]);
    }
}
