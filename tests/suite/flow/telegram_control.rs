//! Commands, stop words, edits, strangers: what is handled at once, and what never runs.

use std::time::{Duration, Instant};

use serde_json::json;
use unavez::domain::conversation::ChannelKind;
use unavez::store::Durability;

use crate::support::chat::{Chat, GROUP, GUEST, OWNER, Options, photo};
use crate::support::telegram::{Fault, TelegramServer};

const ANSWERED: &str = "SELECT COUNT(*) FROM bursts WHERE state = 'answered'";

async fn pause(milliseconds: u64) {
    tokio::time::sleep(Duration::from_millis(milliseconds)).await;
}

#[tokio::test]
async fn case_a14_stop_discards_what_is_buffered() {
    for first in [
        json!({ "text": "email the whole team that we cancel" }),
        json!({ "text": "Team dinner", "forward_origin": { "type": "hidden_user", "sender_user_name": "Zoe" } }),
    ] {
        let server = TelegramServer::start().await;
        let (chat, _folder) = Chat::start(&server, Options::default()).await;
        server.message(OWNER, OWNER, first);
        pause(60).await;
        server.text(OWNER, OWNER, "/stop");
        server.until("the acknowledgement", |server| server.received(OWNER).len() == 1).await;
        pause(600).await;
        assert_eq!(server.received(OWNER), ["Stopped."]);
        assert_eq!(chat.count("SELECT COUNT(*) FROM bursts").await, 0);
        assert_eq!(chat.count("SELECT COUNT(*) FROM turns").await, 0);
        assert_eq!(chat.texts("SELECT reason FROM inbound ORDER BY id").await, ["stop", "stop"]);
        chat.assert_nothing_lost().await;
    }
}

#[tokio::test]
async fn case_a15_a_bare_stop_word_stops_and_a_stop_in_a_sentence_does_not() {
    let server = TelegramServer::start().await;
    let (chat, _folder) = Chat::start(&server, Options::default()).await;
    server.text(OWNER, OWNER, "send it to all clients");
    pause(70).await;
    server.text(OWNER, OWNER, "Stop!");
    server.until("the acknowledgement", |server| server.received(OWNER) == ["Stopped."]).await;
    pause(400).await;
    assert_eq!(chat.count("SELECT COUNT(*) FROM turns").await, 0);
    for (turns, text) in [(1, "if it fails, stop."), (2, "remind me to stop at the shop")] {
        server.text(OWNER, OWNER, text);
        chat.until(ANSWERED, turns).await;
    }
    assert_eq!(chat.asked(), ["if it fails, stop.", "remind me to stop at the shop"]);
}

#[tokio::test]
async fn case_a16_stop_is_handled_at_once_while_a_turn_runs() {
    let server = TelegramServer::start().await;
    let options = Options { model_takes: Duration::from_secs(60), ..Options::default() };
    let (chat, _folder) = Chat::start(&server, options).await;
    server.text(OWNER, OWNER, "write to everybody.");
    chat.until("SELECT COUNT(*) FROM turns WHERE state = 'thinking'", 1).await;
    let asked = Instant::now();
    server.text(OWNER, OWNER, "/stop");
    server.until("the answer", |server| server.received(OWNER) == ["Stopped."]).await;
    assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
    chat.until("SELECT COUNT(*) FROM turns WHERE ending = 'stopped'", 1).await;
    let typed = server.calls("sendChatAction").len();
    pause(900).await;
    assert_eq!(server.calls("sendChatAction").len(), typed, "no typing after a stop");
    assert_eq!(server.received(OWNER), ["Stopped."], "and no answer of the stopped turn");
    chat.assert_nothing_lost().await;
}

#[tokio::test]
async fn case_a17_a_command_is_answered_at_once_and_is_never_part_of_a_prompt() {
    let server = TelegramServer::start().await;
    let (chat, _folder) = Chat::start(&server, Options::default()).await;
    server.text(OWNER, OWNER, "note: milk");
    pause(50).await;
    let asked = Instant::now();
    server.text(OWNER, OWNER, "/status");
    server.until("the status", |server| server.received(OWNER).len() == 1).await;
    assert!(asked.elapsed() < Duration::from_secs(1));
    server.text(OWNER, OWNER, "and eggs");
    chat.until(ANSWERED, 1).await;
    assert_eq!(chat.asked(), ["note: milk\nand eggs"]);
    assert!(server.received(OWNER)[0].contains("1 messages wait"), "{:?}", server.received(OWNER));
}

#[tokio::test]
async fn every_command_is_known_and_answered_in_one_second_while_a_turn_runs() {
    let server = TelegramServer::start().await;
    let options = Options { model_takes: Duration::from_secs(300), ..Options::default() };
    let (chat, _folder) = Chat::start(&server, options).await;
    server.text(OWNER, OWNER, "think.");
    chat.until("SELECT COUNT(*) FROM turns WHERE state = 'thinking'", 1).await;
    for (answers, command) in
        ["/start", "/help", "/status", "/approvals", "/did dentist", "/STATUS@una_test_bot"].iter().enumerate()
    {
        let asked = Instant::now();
        server.text(OWNER, OWNER, command);
        server.until(command, |server| server.received(OWNER).len() == answers + 1).await;
        assert!(asked.elapsed() < Duration::from_secs(1), "{command}: {:?}", asked.elapsed());
    }
    let languages: Vec<String> =
        server.commands().iter().map(|set| set["language_code"].as_str().unwrap_or("-").to_owned()).collect();
    assert_eq!(languages, ["-", "en", "es"]);
    let commands = server.commands()[2]["commands"].clone();
    let names: Vec<&str> =
        commands.as_array().unwrap().iter().filter_map(|command| command["command"].as_str()).collect();
    assert_eq!(names, ["help", "status", "stop", "approvals", "did", "reset"]);
    server.text(OWNER, OWNER, "/reset");
    server
        .until("the reset", |server| {
            server.received(OWNER).last().is_some_and(|text| text.starts_with("Starting afresh"))
        })
        .await;
    assert_eq!(chat.count("SELECT reset_at > 0 FROM conversations").await, 1);
}

#[tokio::test]
async fn case_a12_an_edit_after_its_turn_is_a_new_input_that_says_so() {
    let server = TelegramServer::start().await;
    let (chat, _folder) = Chat::start(&server, Options::default()).await;
    let message = server.text(OWNER, OWNER, "Lunch Tue 12:00");
    chat.until(ANSWERED, 1).await;
    server.edit(OWNER, OWNER, message, "Lunch Wed 12:00");
    chat.until(ANSWERED, 2).await;
    let asked = chat.asked();
    assert!(
        asked[1].contains("edited")
            && asked[1].contains("\"Lunch Tue 12:00\"")
            && asked[1].ends_with("Lunch Wed 12:00")
    );
    server.until("one reply each", |server| server.received(OWNER).len() == 2).await;
    chat.assert_nothing_lost().await;
}

#[tokio::test]
async fn case_a13_an_edit_that_changes_nothing_is_ignored() {
    let server = TelegramServer::start().await;
    let (chat, _folder) = Chat::start(&server, Options::default()).await;
    let message = server.text(OWNER, OWNER, "see x");
    chat.until(ANSWERED, 1).await;
    server.edit(OWNER, OWNER, message, "see x");
    server.until("the offset moves", |server| server.unconfirmed() == 0).await;
    pause(500).await;
    assert_eq!(chat.count("SELECT COUNT(*) FROM turns").await, 1);
    assert_eq!(chat.texts("SELECT reason FROM inbound WHERE kind = 'edit'").await, ["unchanged"]);
}

#[tokio::test]
async fn an_edit_of_a_waiting_message_replaces_its_text() {
    let server = TelegramServer::start().await;
    let (chat, _folder) = Chat::start(&server, Options::default()).await;
    // While it is buffered.
    let message = server.text(OWNER, OWNER, "dentist at 15");
    pause(60).await;
    server.edit(OWNER, OWNER, message, "dentist at 16");
    chat.until(ANSWERED, 1).await;
    assert_eq!(chat.asked(), ["dentist at 16"]);
    // Into a stop word: neither text runs.
    let message = server.text(OWNER, OWNER, "cancel everything");
    pause(60).await;
    server.edit(OWNER, OWNER, message, "stop");
    server.until("the acknowledgement", |server| server.received(OWNER).iter().any(|text| text == "Stopped.")).await;
    pause(400).await;
    assert_eq!(chat.asked().len(), 1);
    // Two edits of one message after its turn, within one second: two inputs, the same one again is none.
    let message = server.text(OWNER, OWNER, "gym monday.");
    chat.until(ANSWERED, 2).await;
    server.edit(OWNER, OWNER, message, "gym tuesday.");
    server.edit(OWNER, OWNER, message, "gym friday.");
    server.edit(OWNER, OWNER, message, "gym friday.");
    chat.until(ANSWERED, 3).await;
    let last = chat.asked().pop().unwrap();
    assert!(last.contains("gym friday.") && !last.contains("gym tuesday.\n"), "{last}");
    chat.assert_nothing_lost().await;
}

#[tokio::test]
async fn an_edit_while_the_request_waits_for_its_turn_replaces_its_text() {
    let server = TelegramServer::start().await;
    let options = Options { model_takes: Duration::from_secs(15), ..Options::default() };
    let (chat, _folder) = Chat::start(&server, options).await;
    server.text(OWNER, OWNER, "first.");
    chat.until("SELECT COUNT(*) FROM turns WHERE state = 'thinking'", 1).await;
    let message = server.text(OWNER, OWNER, "lunch at 12.");
    chat.until("SELECT COUNT(*) FROM bursts WHERE state = 'queued'", 1).await;
    server.edit(OWNER, OWNER, message, "lunch at 13.");
    chat.until(ANSWERED, 2).await;
    assert_eq!(chat.asked(), ["first.", "lunch at 13."]);
}

#[tokio::test]
async fn strangers_are_stored_told_once_and_never_reach_the_agent() {
    let server = TelegramServer::start().await;
    let (chat, _folder) = Chat::start(&server, Options::default()).await;
    for text in ["hello?", "/stop", "who are you?"] {
        server.text(GUEST, GUEST, text);
        pause(60).await;
    }
    server.tap(GUEST, GUEST, 5, "a:token");
    server.until("the tap is answered", |server| server.calls("answerCallbackQuery").len() == 1).await;
    pause(400).await;
    assert_eq!(server.received(GUEST), ["I am a private assistant and only answer my owner."]);
    assert_eq!(server.calls("answerCallbackQuery")[0].text(), "Only the owner can decide this.");
    assert_eq!(chat.count("SELECT COUNT(*) FROM inbound WHERE reason = 'not_paired' AND owner = 0").await, 4);
    assert_eq!(chat.count("SELECT COUNT(*) FROM audit WHERE kind = 'sender_refused'").await, 4);
    assert_eq!(chat.count("SELECT COUNT(*) FROM turns").await, 0);
    assert!(server.calls("sendChatAction").is_empty());
    // Groups are off by default, for owners too.
    server.message(
        GROUP,
        OWNER,
        json!({ "text": "@una_test_bot hi", "entities": [{ "type": "mention", "offset": 0, "length": 13 }] }),
    );
    chat.until("SELECT COUNT(*) FROM inbound WHERE reason = 'groups_off'", 1).await;
}

#[tokio::test]
async fn the_pairing_code_makes_its_sender_an_owner_once() {
    let server = TelegramServer::start().await;
    let mut options = Options::default();
    options.inbox.owners.clear();
    let (chat, _folder) = Chat::start(&server, options).await;
    let (now, ids) = (chat.clock.now(), chat.ids.clone());
    let code = chat
        .store
        .write("test", Durability::Full, move |tx| {
            unavez::inbox::begin_pairing(tx, now, ids.as_ref(), ChannelKind::Telegram)
        })
        .await
        .unwrap();
    server.text(GUEST, GUEST, "AAAA2222");
    server.until("a wrong code is a stranger's text", |server| server.received(GUEST).len() == 1).await;
    server.text(OWNER, OWNER, &format!("/start {}", code.code.to_lowercase()));
    server.until("paired", |server| server.received(OWNER).len() == 1).await;
    assert_eq!(chat.texts("SELECT sender_id FROM owners").await, [OWNER.to_string()]);
    assert_eq!(
        chat.count("SELECT COUNT(*) FROM inbound WHERE text LIKE '%' || char(32) || '%'").await,
        0,
        "the code is not kept"
    );
    server.text(OWNER, OWNER, "what now?");
    chat.until(ANSWERED, 1).await;
    // A code works once.
    server.text(GUEST, GUEST, &code.code);
    chat.until("SELECT COUNT(*) FROM inbound WHERE reason = 'not_paired'", 2).await;
    assert_eq!(chat.count("SELECT COUNT(*) FROM owners").await, 1);
}

#[tokio::test]
async fn case_d13_a_tap_that_is_answered_too_late_changes_nothing_else() {
    let server = TelegramServer::start().await;
    let (chat, _folder) = Chat::start(&server, Options::default()).await;
    let tap = server.tap(OWNER, OWNER, 5, "a:unknown-token");
    server.until("an answer", |server| server.calls("answerCallbackQuery").len() == 1).await;
    server.fault(
        "answerCallbackQuery",
        [Fault::Refuse("Bad Request: query is too old and response timeout expired or query id is invalid")],
    );
    server.tap(OWNER, OWNER, 5, "a:unknown-token");
    server.until("an attempt", |server| server.calls("answerCallbackQuery").len() == 2).await;
    server.text(OWNER, OWNER, "still there?");
    chat.until(ANSWERED, 1).await;
    let taps = chat.texts("SELECT state || ' ' || dedupe_key FROM inbound WHERE kind = 'tap'").await;
    assert_eq!(taps.len(), 2);
    assert_eq!(taps[0], format!("control telegram:4242:tap:{tap}"));
}

#[tokio::test]
async fn what_a_message_carries_is_stored_and_shown() {
    let server = TelegramServer::start().await;
    let (chat, _folder) = Chat::start(&server, Options::default()).await;
    for (shown, fields) in [
        ("[photo]", json!({ "photo": photo("p") })),
        (
            "[document \"offer.pdf\"]",
            json!({ "document": { "file_id": "d", "file_name": "offer.pdf", "mime_type": "application/pdf" } }),
        ),
        ("[voice: cannot be listened to", json!({ "voice": { "file_id": "v", "duration": 3 } })),
        ("40.4, -3.7", json!({ "location": { "latitude": 40.4, "longitude": -3.7 } })),
        ("Bo +34 600", json!({ "contact": { "phone_number": "+34 600", "first_name": "Bo" } })),
        ("[poll] Pizza?", json!({ "poll": { "id": "1", "question": "Pizza?", "options": [] } })),
    ] {
        let before = chat.count(ANSWERED).await;
        server.message(OWNER, OWNER, fields);
        chat.until(ANSWERED, before + 1).await;
        let asked = chat.asked().pop().unwrap();
        assert!(asked.contains(shown), "{shown} in {asked}");
    }
    // Service messages and kinds nobody knows are passed over.
    server.message(OWNER, OWNER, json!({ "pinned_message": { "message_id": 1 } }));
    server.update(json!({ "a_kind_from_the_future": { "x": 1 } }));
    server.text(OWNER, OWNER, "after all that?");
    chat.until(ANSWERED, 7).await;
    server.until("all confirmed", |server| server.unconfirmed() == 0).await;
    chat.assert_nothing_lost().await;
}
