//! Limits and failures: always a visible end, always one result per call.

use serde_json::json;

use super::desk::{Desk, seconds};
use crate::model::scripted::{Line, ScriptedCall, ScriptedError};
use crate::outbox;
use crate::turns::{Price, Settings};

fn limited(settings: Settings, lines: impl IntoIterator<Item = Line>) -> Desk {
    Desk::with(settings, outbox::Settings::default(), true, lines)
}

async fn end_of(desk: &Desk, text: &str) -> (String, Vec<String>) {
    desk.say(text).await;
    desk.wait(seconds(1_200)).await;
    (desk.rows("SELECT ending FROM turns").await.join(" "), desk.delivered())
}

#[tokio::test(start_paused = true)]
async fn case_a26_a_provider_that_is_busy_twice_answers_once() {
    let busy = || Line::fail(ScriptedError::Unavailable { retry_after_s: Some(7) });
    let desk = Desk::new([busy(), busy(), Line::say("Here I am.")]);
    desk.say("hello").await;
    desk.wait(seconds(13)).await;
    assert_eq!(desk.delivered(), Vec::<String>::new(), "retry-after is honoured");
    desk.wait(seconds(60)).await;
    assert_eq!(desk.delivered(), ["Here I am."]);
    assert_eq!(desk.rows("SELECT ending, model_calls FROM turns").await, ["answered 1"]);
}

#[tokio::test(start_paused = true)]
async fn failures_end_with_a_plain_sentence_in_the_language_of_the_request() {
    for (error, text, words) in [
        (ScriptedError::Unavailable { retry_after_s: None }, "what is on today?", "could not reach the model"),
        (ScriptedError::Unavailable { retry_after_s: None }, "¿qué tengo hoy?", "No he podido hablar con el modelo"),
        (ScriptedError::Cut, "what is on today?", "broke off"),
        (ScriptedError::Unauthorized, "¿qué tengo hoy?", "no acepta la clave"),
        (ScriptedError::Refused, "what is on today?", "refused the request"),
        (ScriptedError::ContextOverflow, "what is on today?", "longer than the model can read"),
    ] {
        let desk = Desk::new([Line { again: true, ..Line::fail(error.clone()) }]);
        let (ending, told) = end_of(&desk, text).await;
        assert_eq!(ending, "failed", "{error:?}");
        let [told] = told.as_slice() else { panic!("{error:?}: one sentence, not {told:?}") };
        assert!(told.contains(words), "{error:?}: {told}");
        assert!(told.contains("Nothing was done.") || told.contains("No se hizo nada."), "{told}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_after_an_effect_says_what_was_done() {
    let desk = Desk::new([Line::call("act", json!({"n": 1})), Line::fail(ScriptedError::Refused)]);
    let (ending, told) = end_of(&desk, "please do it").await;
    assert_eq!(ending, "failed");
    assert!(told[0].contains("Done: ") && !told[0].contains("Nothing was done"), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn limits_stop_a_turn_with_a_notice() {
    let looking = |n: usize| (0..n).map(|i| Line::call("look", json!({"page": i}))).collect::<Vec<_>>();
    let calls = Settings { max_calls_per_turn: 3, ..Settings::default() };
    let desk = limited(calls, looking(5));
    assert_eq!(end_of(&desk, "look at it all").await.0, "limited");
    assert_eq!(desk.called().len(), 2, "the third reply is the last, and its call is not made");
    let results =
        desk.rows("SELECT content -> '$.content' ->> 'status' FROM turn_steps WHERE kind = 'tool_result'").await;
    assert_eq!(results, ["ok", "ok", "not_done"]);

    let tokens = Settings { max_tokens_per_turn: 10, ..Settings::default() };
    let desk = limited(tokens, looking(5));
    assert!(end_of(&desk, "look at it all").await.1[0].contains("too much reading"));

    let desk = Desk::new([Line::say("Late.").after(seconds(100_000))]);
    let short = Settings { turn_timeout: seconds(600), request_timeout: seconds(100_000), ..Settings::default() };
    drop(desk);
    let desk = limited(short, [Line::say("Late.").after(seconds(50_000))]);
    let (ending, told) = end_of(&desk, "take your time").await;
    assert_eq!(ending, "limited");
    assert!(told[0].contains("longer than 10 min"), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn the_same_call_with_the_same_result_again_and_again_is_a_loop() {
    let desk = Desk::new([Line { again: true, ..Line::call("look", json!({"page": 1})) }]);
    let (ending, told) = end_of(&desk, "look").await;
    assert_eq!((ending.as_str(), desk.called().len()), ("limited", 4));
    assert!(told[0].contains("repeating the same step (look)"), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn the_budget_of_the_day_stops_the_next_request_and_not_the_next_day() {
    let settings = Settings {
        prices: [("scripted".to_owned(), Price { input: 1_000_000.0, output: 1_000_000.0 })].into(),
        budget_per_day: 1.0,
        ..Settings::default()
    };
    let desk = limited(settings, [Line { again: true, ..Line::say("Sure.") }]);
    desk.say("one").await;
    desk.wait(seconds(5)).await;
    desk.say("two").await;
    desk.wait(seconds(5)).await;
    assert_eq!(
        desk.rows("SELECT ending, cost_micros > 0 FROM turns ORDER BY number").await,
        ["answered 1", "limited 0"]
    );
    assert!(desk.delivered()[1].contains("budget"), "{:?}", desk.delivered());
    desk.wait(seconds(86_400)).await;
    desk.say("three").await;
    desk.wait(seconds(5)).await;
    assert_eq!(desk.delivered()[2], "Sure.");
}

#[tokio::test(start_paused = true)]
async fn an_empty_reply_is_asked_about_once() {
    let desk = Desk::new([Line::default(), Line::say("Sorry: here.")]);
    assert_eq!(end_of(&desk, "hi").await.1, ["Sorry: here."]);
    let desk = Desk::new([Line { again: true, ..Line::default() }]);
    let (ending, told) = end_of(&desk, "hi").await;
    assert_eq!((ending.as_str(), desk.model.requests().len()), ("failed", 2));
    assert!(told[0].contains("no answer"), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn broken_arguments_and_unknown_tools_are_results() {
    let desk = Desk::new([
        Line::call("message", json!("{\"content\": \"x\"")).and_call("nonsense", json!({})),
        Line::say("I see."),
    ]);
    assert_eq!(end_of(&desk, "hi").await.1, ["I see."]);
    let results =
        desk.rows("SELECT content -> '$.content' ->> 'error' FROM turn_steps WHERE kind = 'tool_result'").await;
    assert_eq!(results, ["invalid_arguments", "unknown_tool"]);
}

#[tokio::test(start_paused = true)]
async fn case_b02_a_repeated_call_id_is_one_call_and_one_result() {
    let call =
        |id: &str, n: i64| ScriptedCall { tool: "act".to_owned(), arguments: json!({"n": n}), id: Some(id.to_owned()) };
    let calls = vec![call("tu_1", 1), call("tu_1", 1), call("tu_1", 2), call("", 3)];
    let desk = Desk::new([Line { calls, ..Line::default() }, Line::say("Done.")]);
    assert_eq!(end_of(&desk, "act").await.1, ["Done."]);
    assert_eq!(desk.called().len(), 3, "the same call twice is one, another call under its id is its own");
    let results = desk.rows("SELECT call_id FROM turn_steps WHERE kind = 'tool_result' ORDER BY id").await;
    assert_eq!(results, ["tu_1", "tu_1_2", "call_2"]);
}

#[tokio::test(start_paused = true)]
async fn an_unproven_claim_is_sent_back_once() {
    let desk = Desk::new([
        Line::say("I've sent the email to Bo."),
        Line::say("I have not sent anything yet; what should it say?").when("no record shows it"),
    ]);
    assert_eq!(end_of(&desk, "mail Bo").await.1, ["I have not sent anything yet; what should it say?"]);
    assert_eq!(
        desk.rows("SELECT content ->> 'reason' FROM turn_steps WHERE kind = 'correction'").await,
        ["unproven_claim"]
    );
    let ended = desk.rows("SELECT details FROM audit WHERE kind = 'turn_ended'").await;
    assert!(ended[0].contains("unproven_claim"), "{ended:?}");

    // What it insists on stands: the ledger shows the truth beside it.
    let desk = Desk::new([Line { again: true, ..Line::say("I've sent the email to Bo.") }]);
    assert_eq!(end_of(&desk, "mail Bo").await.1.len(), 1);
    assert_eq!(desk.model.requests().len(), 2);
}
