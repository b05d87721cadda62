//! The story this program comes from, on real wires: a Telegram server and a model server that are not ours, driven
//! from outside. Two messages twelve seconds apart, four calls, two events, two duplicates prevented.

use std::time::Duration;

use serde_json::{Value, json};

use super::daemon::{Daemon, Place, eventually};
use super::servers::{Aimock, BOT_TOKEN, Crabline};

const ANN: i64 = 555;
const FIRST: &str = "Agéndame psicología el 3 de marzo de 2031 a las 15:00 con ana@example.test y dentista el 4 a las 10:00 con bo@example.test.";
const SECOND: &str = "Perdón, que duren dos horas las dos citas.";

fn create(title: &str, day: u8, hour: u8, guest: &str, end: bool) -> Value {
    let mut arguments = json!({
        "title": title,
        "start_datetime": format!("2031-03-{day:02}T{hour:02}:00:00"),
        "guests": [guest],
    });
    if end {
        arguments["end_datetime"] = json!(format!("2031-03-{day:02}T{:02}:00:00", hour + 2));
    }
    json!({ "name": "create_event", "arguments": arguments })
}

/// The model answers both messages with the same two events, the second time with their ends added.
fn script() -> Value {
    let pair = |end| {
        json!([create("Psicología", 3, 15, "ana@example.test", end), create("Dentista", 4, 10, "bo@example.test", end)])
    };
    json!({ "fixtures": [
        { "match": { "userMessage": "psicología", "sequenceIndex": 0 }, "response": { "toolCalls": pair(false) } },
        { "match": { "userMessage": "psicología", "sequenceIndex": 1 }, "response": { "content": "Las dos citas están en tu calendario." } },
        { "match": { "userMessage": "Perdón", "sequenceIndex": 0 }, "response": { "toolCalls": pair(true) } },
        { "match": { "userMessage": "Perdón", "sequenceIndex": 1 }, "response": { "content": "Ya estaban agendadas." } },
    ]})
}

#[tokio::test(flavor = "multi_thread")]
async fn two_messages_twelve_seconds_apart_become_two_events() {
    let (Some(telegram), Some(model)) = (Crabline::start(), Aimock::start(&script())) else { return };
    let place = Place::new(&format!(
        r#"
        [assistant]
        timezone = "Europe/Madrid"
        language = "es"
        [model]
        provider = "openai"
        model = "scripted"
        base_url = "{}/v1/"
        api_key = "none"
        [telegram]
        enabled = true
        token = {{ env = "BOT_TOKEN" }}
        api_url = "{}"
        poll_timeout = "5s"
        owners = [{ANN}]
        [approvals]
        calendar_create_with_guests = "auto"
        "#,
        model.url, telegram.url
    ));
    let daemon = Daemon::start(&place, &[("BOT_TOKEN", BOT_TOKEN)]);

    telegram.say(ANN, FIRST).await;
    tokio::time::sleep(Duration::from_secs(12)).await;
    telegram.say(ANN, SECOND).await;
    eventually("both turns have ended", Duration::from_secs(60), || {
        place.count("SELECT count(*) FROM turns WHERE state = 'ended'") == 2
            && place.count("SELECT count(*) FROM outbound WHERE kind = 'reply' AND state = 'delivered'") == 2
    });

    assert_eq!(place.count("SELECT count(*) FROM turns"), 2, "turns");
    assert_eq!(place.count("SELECT sum(tool_calls) FROM turns"), 4, "tool calls");
    assert_eq!(place.count("SELECT count(*) FROM effects WHERE state = 'accepted'"), 2, "effects");
    let events = place.rows(&["calendar", "list", "--from", "2031-03-01", "--to", "2031-03-31"]);
    let titles: Vec<&str> = events.iter().map(|event| event["title"].as_str().unwrap()).collect();
    assert_eq!(titles, ["Psicología", "Dentista"]);
    let prevented = place.rows(&["duplicates", "list"]);
    assert_eq!(prevented.len(), 2, "{prevented:#?}");
    for row in &prevented {
        assert_eq!(row["verdict"], "differs", "the ends are new: {row:#}");
        assert!(row["first_effect_id"].is_string(), "{row:#}");
    }
    let audited = place.rows(&["audit", "export", "--kind", "duplicate_prevented"]);
    assert_eq!(audited.iter().filter(|entry| entry["kind"] == "duplicate_prevented").count(), 2);

    // The model was told a success, not an error.
    let journal = model.journal().await;
    let told = journal.iter().filter(|entry| entry.to_string().contains("already_done")).count();
    assert!(told >= 1, "the second turn's results reached the model as already done: {journal:#?}");
    // What Ann saw: two answers, and no word of an error.
    let sent = telegram.calls_of("sendMessage");
    let seen = sent.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
    assert!(seen.contains("Las dos citas est") && seen.contains("Ya estaban agendadas"), "{seen}");
    assert!(!seen.to_lowercase().contains("error"), "{seen}");

    assert!(place.run(&["audit", "verify"]).status.success());
    daemon.stop(Duration::from_secs(5));
    println!("PROOF incident on real wires: 2 turns, 4 tool calls, 2 events, 2 duplicates prevented");
}
