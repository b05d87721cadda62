//! The local API on the real program: idempotency keys, merged messages, the event stream, the ledger's answer.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::daemon::{Daemon, Place, TOKEN};

const ASK: &str = "agéndame psicología mañana a las 15:00.";

fn content(answer: &Value) -> String {
    answer["deliveries"].as_array().unwrap().iter().map(|one| one["content"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn the_same_key_is_the_same_message_and_gets_the_same_answer() {
    let place = Place::new("");
    let daemon = Daemon::start(&place, &[]);
    let first = daemon.say("s", ASK, Some("k1")).await.unwrap();
    let again = daemon.say("s", ASK, Some("k1")).await.unwrap();
    assert_eq!(first, again);
    assert!(first["turn_id"].is_string());
    // The same key in another session is another message; the guard makes of it what it is.
    let other = daemon.say("t", ASK, Some("k1")).await.unwrap();
    assert_ne!(other["turn_id"], first["turn_id"]);
    assert_eq!(place.rows(&["calendar", "list"]).len(), 1);
    assert_eq!(place.count("SELECT count(*) FROM turns"), 2);
    assert_eq!(place.rows(&["duplicates", "list"])[0]["verdict"], "duplicate");
    daemon.kill();
    // After a crash too.
    let daemon = Daemon::start(&place, &[]);
    assert_eq!(daemon.say("s", ASK, Some("k1")).await.unwrap(), first);
}

#[tokio::test]
async fn merged_messages_share_the_turn_and_the_last_carries_the_deliveries() {
    let place = Place::new("[debounce]\nneutral = \"1500ms\"\nopen = \"1500ms\"\n");
    let daemon = Daemon::start(&place, &[]);
    let first = daemon.say("s", "agéndame psicología", Some("a"));
    let second = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        daemon.say("s", "mañana a las 15:00.", Some("b")).await
    };
    let (first, second) = tokio::join!(first, second);
    let (first, second) = (first.unwrap(), second.unwrap());
    assert_eq!(first["turn_id"], second["turn_id"]);
    assert_eq!(first["deliveries"], json!([]));
    assert!(content(&second).contains("Psicología"), "{second}");
    assert_eq!(place.count("SELECT count(*) FROM bursts WHERE message_count = 2"), 1);
}

/// Reads events until `count` have come.
async fn events(response: &mut reqwest::Response, count: usize) -> Vec<(i64, Value)> {
    let mut text = String::new();
    loop {
        let found: Vec<(i64, Value)> = text
            .split("\n\n")
            .filter_map(|event| {
                let line = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
                Some((line("id:")?.parse().ok()?, serde_json::from_str(line("data:")?).ok()?))
            })
            .collect();
        if found.len() >= count {
            return found;
        }
        let chunk = tokio::time::timeout(Duration::from_secs(20), response.chunk()).await.unwrap().unwrap().unwrap();
        text.push_str(std::str::from_utf8(&chunk).unwrap());
    }
}

async fn listen(daemon: &Daemon, after: Option<i64>) -> reqwest::Response {
    let mut request =
        reqwest::Client::new().get(format!("{}/api/sessions/s/events", daemon.address)).bearer_auth(TOKEN);
    if let Some(after) = after {
        request = request.header("Last-Event-ID", after);
    }
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 200);
    response
}

#[tokio::test]
async fn a_listener_gets_deliveries_as_they_happen_and_what_it_missed_after_coming_back() {
    let place = Place::new("");
    let daemon = Daemon::start(&place, &[]);
    // What happened before anybody listened is in the answer, not in the stream.
    let before = daemon.say("s", "qué puedes hacer?", None).await.unwrap();
    let mut stream = listen(&daemon, None).await;
    let answer = daemon.say("s", ASK, None).await.unwrap();
    let heard = events(&mut stream, 1).await;
    assert_eq!(heard.len(), 1);
    assert_eq!(heard[0].1["turn_id"], answer["turn_id"]);
    assert_eq!(heard[0].1["content"], answer["deliveries"][0]["content"]);
    drop(stream);

    let missed = daemon.say("s", "qué tengo mañana?", None).await.unwrap();
    let mut stream = listen(&daemon, Some(heard[0].0)).await;
    let heard = events(&mut stream, 1).await;
    assert_eq!(heard[0].1["turn_id"], missed["turn_id"]);
    // From the very beginning, on request.
    let mut stream = listen(&daemon, Some(0)).await;
    let all = events(&mut stream, 3).await;
    assert_eq!(all[0].1["turn_id"], before["turn_id"]);
}

#[tokio::test]
async fn did_answers_from_the_ledger_by_any_word_of_the_action() {
    let place = Place::new("");
    let daemon = Daemon::start(&place, &[]);
    daemon.say("s", ASK, None).await.unwrap();
    daemon.say("s", "envía un correo a ana@example.test diciendo que llego tarde.", None).await.unwrap();
    let event = content(&daemon.say("other", "/did psicología", None).await.unwrap());
    let receipt =
        place.rows(&["evidence", "list", "--state", "accepted"])[0]["provider_id"].as_str().unwrap().to_owned();
    assert!(event.contains("Psicología") && event.contains(&receipt), "{event}");
    let mail = content(&daemon.say("other", "/did ana@example.test", None).await.unwrap());
    assert!(mail.lines().count() == 1 && mail.contains("tarde"), "{mail}");
    let nothing = content(&daemon.say("other", "/did dentista", None).await.unwrap());
    assert!(!nothing.contains("Psicología"), "{nothing}");
}
