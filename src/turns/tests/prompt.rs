//! What the model is given.

use serde_json::json;

use super::desk::{Desk, seconds};
use crate::domain::chat::ChatMessage;
use crate::model::scripted::Line;
use crate::outbox;
use crate::turns::Settings;

#[tokio::test(start_paused = true)]
async fn the_system_prompt_has_date_zone_and_ledger() {
    let settings = Settings {
        zone: jiff::tz::TimeZone::get("Europe/Madrid").unwrap(),
        zone_name: "Europe/Madrid".to_owned(),
        instructions: "Call me Ana.".to_owned(),
        ..Settings::default()
    };
    let desk = Desk::with(
        settings,
        outbox::Settings::default(),
        true,
        [Line::call("act", json!({})), Line::say("Done."), Line::say("Hello.")],
    );
    desk.say("act").await;
    desk.wait(seconds(10)).await;
    desk.say("hello").await;
    desk.wait(seconds(10)).await;
    let requests = desk.model.requests();
    insta::assert_snapshot!(requests[0].system.lines().take(3).collect::<Vec<_>>().join("\n"), @r"
    You are Unavez, a personal assistant that runs on the computer of the person you talk to. You act on their calendar and their mail through tools.

    Now it is Monday, 2026-12-07T10:00:00+01:00 (Europe/Madrid). Times without an offset are in this zone. 
    ");
    assert!(requests[0].system.contains("# Actions of the last 24 hours\n\nNone.\n"));
    assert!(
        requests[2].system.contains(r#"- 2026-12-07T10:00:01+01:00 act in test: {"what":"{}"} — accepted"#),
        "{}",
        requests[2].system
    );
    assert!(requests[2].system.contains("Call me Ana."));
    assert!(
        !requests[2].system.contains('{') || requests[2].system.matches('{').count() == 2,
        "no placeholder is left"
    );
}

#[tokio::test(start_paused = true)]
async fn history_has_earlier_turns_and_what_the_user_was_told() {
    let desk = Desk::new([Line::call("look", json!({})), Line::say("Seen."), Line::say("Yes.")]);
    desk.say("look there").await;
    desk.wait(seconds(10)).await;
    desk.store
        .write("test.notice", crate::store::Durability::Normal, {
            let now = crate::domain::ports::Clock::now(&desk.clock);
            move |tx| outbox::enqueue_notice(tx, now, crate::domain::ids::ConversationId(1), "Sent to Bo at 10:00.")
        })
        .await
        .unwrap();
    desk.wait(seconds(1)).await;
    desk.say("and?").await;
    desk.wait(seconds(10)).await;
    let requests = desk.model.requests();
    let kinds: Vec<String> = requests[2]
        .messages
        .iter()
        .map(|message| match message {
            ChatMessage::User { text, .. } => format!("user {text}"),
            ChatMessage::Assistant { text, calls } => format!("assistant {text}{}", calls.len()),
            ChatMessage::ToolResult { name, .. } => format!("result {name}"),
        })
        .collect();
    assert_eq!(
        kinds,
        [
            "user look there",
            "assistant 1",
            "result look",
            "assistant Seen.0",
            "assistant Sent to Bo at 10:00.0",
            "user and?"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_long_conversation_stays_in_its_budget_and_keeps_its_facts() {
    let settings = Settings { history_characters: 4_000, ..Settings::default() };
    let mut lines = vec![Line {
        again: true,
        ..Line::say("Summary: the person's dentist is Dr. Vega.").when("Person: my dentist is Dr. Vega")
    }];
    lines.push(Line {
        again: true,
        ..Line::say("Summary: the person's dentist is Dr. Vega; and more.").when("Earlier summary")
    });
    lines.push(Line { again: true, ..Line::say("Noted, and here is a long answer about it. ".repeat(5)) });
    let desk = Desk::with(settings, outbox::Settings::default(), true, lines);
    desk.say("my dentist is Dr. Vega").await;
    desk.wait(seconds(5)).await;
    for n in 0..59 {
        desk.say(&format!("message number {n} with some words in it")).await;
        desk.wait(seconds(30)).await;
    }
    assert_eq!(desk.rows("SELECT COUNT(*) FROM turns WHERE ending = 'answered'").await, ["60"]);
    let requests = desk.model.requests();
    let last = requests.last().unwrap();
    let size: usize = last.messages.iter().map(|message| serde_json::to_string(message).unwrap().len()).sum();
    assert!(size < 8_000, "{size} characters");
    assert!(serde_json::to_string(&last.messages).unwrap().contains("Dr. Vega"));
    let summaries = desk.rows("SELECT COUNT(*) FROM turn_steps WHERE kind = 'summary'").await;
    assert_ne!(summaries, ["0"]);
}
