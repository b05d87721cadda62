//! A crash at any moment of a turn: the same transcript, the same effects, one reply.

use serde_json::json;

use super::desk::{Desk, millis, seconds};
use crate::model::scripted::Line;

fn script() -> [Line; 3] {
    [
        Line::call("act", json!({"n": 1})).after(seconds(1)),
        Line::call("act", json!({"n": 2})).after(seconds(1)),
        Line::say("Both are done.").after(seconds(1)),
    ]
}

const TRANSCRIPT: &str = "SELECT kind, call_id, json_remove(content, '$.at_elapsed') FROM turn_steps ORDER BY id";

#[tokio::test(start_paused = true)]
async fn a_crash_at_any_moment_leaves_the_same_transcript_two_effects_and_one_reply() {
    let calm = Desk::new(script());
    calm.say("Do both.").await;
    calm.wait(seconds(30)).await;
    let expected = calm.rows(TRANSCRIPT).await;
    assert_eq!(expected.len(), 7, "input, two calls with results, answer, end: {expected:#?}");

    // The turn takes 7 s; every quarter of a second, and twice in a row.
    for at in (0..=32).map(|quarter| millis(250 * quarter)) {
        let mut desk = Desk::new(script());
        desk.say("Do both.").await;
        desk.wait(at).await;
        desk.crash().await;
        desk.wait(millis(10)).await;
        desk.crash().await;
        desk.wait(seconds(60)).await;
        assert_eq!(desk.rows(TRANSCRIPT).await, expected, "crash at {at:?}");
        assert_eq!(desk.called(), ["act", "act"], "crash at {at:?}");
        assert_eq!(desk.delivered(), ["Both are done."], "crash at {at:?}");
        assert_eq!(desk.model.unused(), 0);
        assert_eq!(desk.rows("SELECT state, ending, fenced, epoch FROM turns").await, ["ended answered 1 1"]);
        assert_eq!(desk.rows("SELECT state FROM bursts").await, ["answered"]);
    }
}

#[tokio::test(start_paused = true)]
async fn case_a21_a_slow_turn_is_not_started_twice() {
    let mut desk = Desk::new([Line::say("Here I am.").after(seconds(25))]);
    desk.say("Slow?").await;
    for _ in 0..4 {
        desk.wait(seconds(10)).await;
        // Anything that changes rows wakes the worker, as a sweep would.
        desk.say_in("2002", "9", "unrelated").await;
    }
    desk.crash().await;
    desk.wait(seconds(30)).await;
    let of_first = desk.rows("SELECT t.number, t.ending FROM turns t JOIN conversations c ON c.id = t.conversation_id WHERE c.contact = '1001'").await;
    assert_eq!(of_first, ["1 answered"]);
    assert_eq!(desk.delivered().iter().filter(|text| *text == "Here I am.").count(), 1);
}
