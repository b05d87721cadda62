//! Messages of one thought become one turn; what is not one thought stays apart.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::chat::{Chat, GROUP, GUEST, OWNER, Options, photo};
use crate::support::telegram::TelegramServer;

const ANSWERED: &str = "SELECT COUNT(*) FROM bursts WHERE state = 'answered'";

async fn pause(milliseconds: u64) {
    tokio::time::sleep(Duration::from_millis(milliseconds)).await;
}

fn in_groups() -> Options {
    let mut options = Options::default();
    options.inbox.groups = unavez::inbox::Groups::Mention;
    options
}

fn mention(text: &str) -> Value {
    let text = format!("@una_test_bot {text}");
    json!({ "text": text, "entities": [{ "type": "mention", "offset": 0, "length": 13 }] })
}

#[tokio::test]
async fn case_a01_a_forward_and_its_comment_are_one_turn() {
    let server = TelegramServer::start().await;
    let (chat, _folder) = Chat::start(&server, Options::default()).await;
    server.text(OWNER, OWNER, "remind me about this in 5 minutes");
    pause(8).await;
    server.message(
        OWNER,
        OWNER,
        json!({ "text": "Board call moved to Thu 15:00",
                "forward_origin": { "type": "user", "sender_user": { "id": 5, "first_name": "Zoe", "is_bot": false } } }),
    );
    server.until("the reply", |server| !server.received(OWNER).is_empty()).await;
    chat.until(ANSWERED, 1).await;
    let asked = chat.asked();
    assert_eq!(asked.len(), 1);
    assert!(asked[0].starts_with("remind me about this in 5 minutes\n"), "{asked:?}");
    assert!(asked[0].contains("forwarded from Zoe") && asked[0].contains("Board call moved"), "{asked:?}");
    assert_eq!(server.received(OWNER), ["done"]);
    chat.assert_nothing_lost().await;
}

#[tokio::test]
async fn case_a06_a_paste_cut_by_the_client_is_one_turn() {
    let server = TelegramServer::start().await;
    let (chat, _folder) = Chat::start(&server, Options::default()).await;
    // Beyond the closed and neutral windows, within the one for long texts.
    let (first, second) = ("x".repeat(4096), "y".repeat(700));
    server.text(OWNER, OWNER, &first);
    pause(300).await;
    server.text(OWNER, OWNER, &second);
    chat.until(ANSWERED, 1).await;
    assert_eq!(chat.asked(), [format!("{first}\n{second}")]);
    server.until("the reply", |server| server.received(OWNER) == ["done"]).await;
    assert_eq!(chat.texts("SELECT signal FROM bursts").await, ["neutral"]);
}

#[tokio::test]
async fn case_a07_a_full_length_message_alone_does_not_wait_for_ever() {
    let server = TelegramServer::start().await;
    let (chat, _folder) = Chat::start(&server, Options::default()).await;
    server.text(OWNER, OWNER, &"я".repeat(4096));
    chat.until(ANSWERED, 1).await;
    assert_eq!(chat.texts("SELECT signal FROM bursts").await, ["length"]);
    let waited = chat.count("SELECT waited_ms FROM bursts").await;
    assert!((4000..7000).contains(&waited), "{waited}");
}

#[tokio::test]
async fn case_a08_an_album_is_one_turn_in_the_order_of_its_messages() {
    let server = TelegramServer::start().await;
    let (chat, _folder) = Chat::start(&server, Options::default()).await;
    let part = |file: &str, caption: Option<&str>| {
        let mut part = json!({ "media_group_id": "g1", "photo": photo(file) });
        if let Some(caption) = caption {
            part["caption"] = json!(caption);
        }
        part
    };
    server.message(OWNER, OWNER, part("p1", None));
    pause(20).await;
    server.message(OWNER, OWNER, part("p2", Some("which receipt is higher?")));
    pause(20).await;
    server.message(OWNER, OWNER, part("p3", None));
    chat.until(ANSWERED, 1).await;
    let files = chat
        .texts("SELECT json_extract(parts, '$.media[0].file') FROM inbound WHERE burst_id = 1 ORDER BY CAST(external_id AS INTEGER)")
        .await;
    assert_eq!(files, ["p1", "p2", "p3"]);
    let asked = chat.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].matches("which receipt is higher?").count(), 1);
    assert_eq!(asked[0].matches("[photo").count(), 3, "{asked:?}");
}

#[tokio::test]
async fn case_a09_captions_of_an_album_stay_with_their_pictures() {
    let server = TelegramServer::start().await;
    let (chat, _folder) = Chat::start(&server, Options::default()).await;
    for (file, caption) in [("p1", Some("before")), ("p2", None), ("p3", Some("after"))] {
        let mut part = json!({ "media_group_id": "g2", "photo": photo(file) });
        if let Some(caption) = caption {
            part["caption"] = json!(caption);
        }
        server.message(OWNER, OWNER, part);
    }
    chat.until(ANSWERED, 1).await;
    assert_eq!(chat.asked(), ["before\n[photo]\n[photo]\nafter\n[photo]"]);
}

#[tokio::test]
async fn case_a10_media_and_mentions_of_earlier_messages_are_kept() {
    let server = TelegramServer::start().await;
    let (chat, _folder) = Chat::start(&server, in_groups()).await;
    server.message(OWNER, OWNER, json!({ "photo": photo("a") }));
    pause(50).await;
    server.message(OWNER, OWNER, json!({ "photo": photo("b") }));
    pause(50).await;
    server.text(OWNER, OWNER, "what is this?");
    chat.until(ANSWERED, 1).await;
    assert_eq!(chat.asked(), ["[photo]\n[photo]\nwhat is this?"]);

    server.message(GROUP, OWNER, mention("please"));
    pause(50).await;
    server.text(GROUP, OWNER, "add lunch at 12");
    chat.until(ANSWERED, 2).await;
    let asked = chat.asked();
    assert!(asked[1].contains("@una_test_bot please") && asked[1].contains("add lunch at 12"), "{asked:?}");
    // Without a mention before it, the same words in the group are none of ours.
    server.text(GROUP, OWNER, "add lunch at 12");
    chat.until("SELECT COUNT(*) FROM inbound WHERE reason = 'not_addressed'", 1).await;
}

#[tokio::test]
async fn case_a11_each_text_keeps_its_own_reply_target() {
    let server = TelegramServer::start().await;
    let (chat, _folder) = Chat::start(&server, Options::default()).await;
    let reply = |id: i64, text: &str| json!({ "message_id": id, "date": 1, "chat": { "id": OWNER, "type": "private" }, "text": text });
    server.message(
        OWNER,
        OWNER,
        json!({ "text": "move this one to Monday", "reply_to_message": reply(40, "Dentist") }),
    );
    pause(80).await;
    server.message(OWNER, OWNER, json!({ "text": "and this", "reply_to_message": reply(41, "Gym") }));
    chat.until(ANSWERED, 1).await;
    let targets =
        chat.texts("SELECT text || '>' || json_extract(parts, '$.reply.external_id') FROM inbound ORDER BY id").await;
    assert_eq!(targets, ["move this one to Monday>40", "and this>41"]);
    let asked = chat.asked().remove(0);
    let position = |text: &str| asked.find(text).unwrap_or_else(|| panic!("{text} in {asked}"));
    assert!(position("Dentist") < position("move this one") && position("move this one") < position("Gym"));
}

#[tokio::test]
async fn case_a18_two_people_in_a_group_are_never_one_voice() {
    let server = TelegramServer::start().await;
    let (chat, _folder) = Chat::start(&server, in_groups()).await;
    server.message(GROUP, OWNER, mention("cancel my 3pm"));
    pause(40).await;
    server.message(GROUP, GUEST, mention("and add one for 4pm"));
    chat.until(ANSWERED, 1).await;
    chat.until("SELECT COUNT(*) FROM inbound WHERE reason = 'not_paired'", 1).await;
    assert_eq!(chat.asked().len(), 1);
    assert!(!chat.asked()[0].contains("4pm"));
    server.until("the reply", |server| !server.received(GROUP).is_empty()).await;
    pause(100).await;
    assert_eq!(server.received(GROUP), ["done"], "strangers in groups are not answered");
}

#[tokio::test]
async fn case_a19_one_person_in_two_chats_is_two_conversations() {
    let server = TelegramServer::start().await;
    let (chat, _folder) = Chat::start(&server, in_groups()).await;
    server.text(OWNER, OWNER, "yes");
    pause(30).await;
    server.message(GROUP, OWNER, mention("no"));
    chat.until(ANSWERED, 2).await;
    assert_eq!(chat.count("SELECT COUNT(DISTINCT conversation_id) FROM turns").await, 2);
    server.until("both replies", |server| server.received(OWNER).len() == 1 && server.received(GROUP).len() == 1).await;
}

#[tokio::test]
async fn case_a23_two_genuine_identical_texts_are_both_kept_and_a_redelivery_is_not() {
    let server = TelegramServer::start().await;
    let (chat, _folder) = Chat::start(&server, Options::default()).await;
    server.text(OWNER, OWNER, "yes");
    pause(80).await;
    server.text(OWNER, OWNER, "yes");
    chat.until(ANSWERED, 1).await;
    assert_eq!(chat.asked(), ["yes\nyes"]);
    server.redeliver();
    pause(600).await;
    assert_eq!(chat.count("SELECT COUNT(*) FROM inbound").await, 2);
    assert_eq!(chat.count("SELECT COUNT(*) FROM turns").await, 1);
}

#[tokio::test]
async fn case_a24_pieces_are_joined_by_line_breaks() {
    let server = TelegramServer::start().await;
    let (chat, _folder) = Chat::start(&server, Options::default()).await;
    for text in ["12", "30"] {
        server.text(OWNER, OWNER, text);
        pause(50).await;
    }
    chat.until(ANSWERED, 1).await;
    for text in ["Milk", "Eggs"] {
        server.text(OWNER, OWNER, text);
        pause(50).await;
    }
    chat.until(ANSWERED, 2).await;
    assert_eq!(chat.asked(), ["12\n30", "Milk\nEggs"]);
}

#[tokio::test]
async fn case_a25_one_burst_is_typed_for_and_answered_once() {
    let server = TelegramServer::start().await;
    let (chat, _folder) = Chat::start(&server, Options::default()).await;
    for text in ["one", "two", "three"] {
        server.text(OWNER, OWNER, text);
        pause(60).await;
    }
    chat.until(ANSWERED, 1).await;
    server.until("the reply", |server| !server.received(OWNER).is_empty()).await;
    pause(300).await;
    assert_eq!(server.received(OWNER), ["done"]);
    assert_eq!(server.calls("sendChatAction").len(), 1, "typing starts once");
}

#[tokio::test]
async fn case_a27_a_late_part_of_an_album_joins_its_burst_until_the_turn_begins() {
    let server = TelegramServer::start().await;
    let options = Options { turns_run: false, ..Options::default() };
    let (chat, _folder) = Chat::start(&server, options).await;
    let part = |file: &str| json!({ "media_group_id": "g3", "photo": photo(file) });
    server.message(OWNER, OWNER, part("p1"));
    server.message(OWNER, OWNER, part("p2"));
    chat.until("SELECT COUNT(*) FROM bursts WHERE state = 'queued'", 1).await;
    server.message(OWNER, OWNER, part("p3"));
    chat.until("SELECT COUNT(*) FROM inbound WHERE state = 'merged'", 3).await;
    assert_eq!(chat.count("SELECT COUNT(*) FROM bursts").await, 1);
    assert_eq!(chat.count("SELECT message_count FROM bursts").await, 3);
}

#[tokio::test]
async fn case_a27_a_part_that_comes_after_its_turn_began_is_told_as_part_of_its_album() {
    let server = TelegramServer::start().await;
    let (chat, _folder) = Chat::start(&server, Options::default()).await;
    let part = |file: &str| json!({ "media_group_id": "g3", "photo": photo(file) });
    server.message(OWNER, OWNER, part("p1"));
    server.message(OWNER, OWNER, part("p2"));
    chat.until(ANSWERED, 1).await;
    server.message(OWNER, OWNER, part("p3"));
    chat.until(ANSWERED, 2).await;
    server.message(OWNER, OWNER, json!({ "media_group_id": "g4", "photo": photo("p4") }));
    chat.until(ANSWERED, 3).await;
    let late: Vec<bool> = chat.asked().iter().map(|text| text.contains("late part of the album")).collect();
    assert_eq!(late, [false, true, false]);
    chat.assert_nothing_lost().await;
}
