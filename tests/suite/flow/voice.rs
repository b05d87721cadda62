//! Voice notes through the whole program, with a transcription server and without one.

use std::time::Duration;

use serde_json::json;

use crate::support::chat::OWNER;
use crate::support::daemon::{Daemon, Place, eventually};
use crate::support::exchange::{self, Reply};
use crate::support::llm::{Dialect, Line, Llm};
use crate::support::telegram::{TOKEN, TelegramServer};

const PATIENCE: Duration = Duration::from_secs(30);

fn telegram(server: &TelegramServer) -> String {
    format!(
        "[telegram]\nenabled = true\napi_url = \"{}\"\nowners = [{OWNER}]\ntoken = {{ env = \"UNAVEZ_TEST_BOT\" }}\n",
        server.url
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn case_a22_a_note_and_the_text_after_it_are_one_request_in_their_order() {
    let server = TelegramServer::start().await;
    server.file("v", b"SOUND");
    let llm = Llm::start([Line::say("A table for two at Luigi's, then?").again()]).await;
    let hears = exchange::serve(|asked| async move {
        let whole = asked.path == "/v1/audio/transcriptions"
            && asked.body.contains("SOUND")
            && asked.body.contains("small-ear");
        tokio::time::sleep(Duration::from_millis(1_400)).await;
        if whole {
            Reply::status(200).body("application/json", json!({ "text": "book table for two at seven" }).to_string())
        } else {
            Reply::status(400)
        }
    })
    .await;
    let place = Place::new(&format!(
        "[model]\nprovider = \"openai\"\nmodel = \"small-model\"\nbase_url = \"{}\"\napi_key = \"none\"\n\
         [model.transcription]\nbase_url = \"{hears}/v1/\"\nmodel = \"small-ear\"\napi_key = \"none\"\n{}",
        llm.base_url(Dialect::OpenAi),
        telegram(&server)
    ));
    let _daemon = Daemon::start(&place, &[("UNAVEZ_TEST_BOT", TOKEN)]);
    server.message(OWNER, OWNER, json!({ "voice": { "file_id": "v", "duration": 2 } }));
    tokio::time::sleep(Duration::from_millis(1_600)).await;
    server.text(OWNER, OWNER, "at Luigi's");
    server.until("the answer", |server| !server.received(OWNER).is_empty()).await;
    assert_eq!(place.count("SELECT count(*) FROM turns"), 1);
    let body = &llm.bodies()[0];
    let asked = body["messages"].as_array().unwrap().last().unwrap().to_string();
    let (heard, typed) = (asked.find("book table for two at seven").unwrap(), asked.find("at Luigi's").unwrap());
    assert!(heard < typed, "{asked}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_transcription_server_the_assistant_says_that_it_cannot_listen() {
    let server = TelegramServer::start().await;
    server.file("v", b"SOUND");
    let place = Place::new(&format!("[assistant]\nlanguage = \"en\"\n{}", telegram(&server)));
    let _daemon = Daemon::start(&place, &[("UNAVEZ_TEST_BOT", TOKEN)]);
    server.message(OWNER, OWNER, json!({ "voice": { "file_id": "v", "duration": 2 } }));
    server.until("the answer", |server| !server.received(OWNER).is_empty()).await;
    assert!(server.received(OWNER)[0].contains("can't listen to voice notes"), "{:?}", server.received(OWNER));
    eventually("the file is kept", PATIENCE, || place.count("SELECT count(*) FROM attachments") == 1);
}
