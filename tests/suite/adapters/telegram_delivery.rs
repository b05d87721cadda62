//! Deliveries on a wire that lies: once, in order, or visibly uncertain.

use std::time::{Duration, Instant};

use unavez::domain::ids::ConversationId;
use unavez::outbox::{self, Kind, New, State};
use unavez::store::Durability;

use crate::support::chat::{Chat, GROUP, OWNER, Options, SPEED};
use crate::support::telegram::{Call, Fault, TelegramServer};

async fn pause(milliseconds: u64) {
    tokio::time::sleep(Duration::from_millis(milliseconds)).await;
}

fn text(conversation: ConversationId, text: &str) -> New {
    New::text(conversation, Kind::Notice, text)
}

/// Texts of every attempt, done or not.
fn attempts(server: &TelegramServer) -> Vec<String> {
    server.calls("sendMessage").iter().map(Call::text).collect()
}

#[tokio::test]
async fn case_d09_a_send_without_an_answer_is_uncertain_and_never_repeated() {
    // Done or not, the program cannot know: one request in all.
    for fault in [Fault::CutAfter, Fault::CutBefore] {
        let server = TelegramServer::start().await;
        let (chat, folder) = Chat::start(&server, Options::default()).await;
        let to = chat.conversation(OWNER, "").await;
        server.fault("sendMessage", [fault.clone()]);
        let id = chat.enqueue(text(to, "paid *once*")).await;
        let row = chat.settled(id).await;
        assert_eq!(row.state, State::Uncertain, "{row:?}");
        let next = chat.enqueue(text(to, "next")).await;
        assert_eq!(chat.settled(next).await.state, State::Delivered, "it does not block what follows");
        chat.stop().await;
        let chat = Chat::open(&folder, &server, Options::default()).await;
        pause(500).await;
        assert_eq!(
            attempts(&server),
            ["paid once", "next"],
            "{fault:?}: not after a restart either, nor as plain text"
        );
        // A person decides: once.
        let now = chat.clock.now();
        for expected in [true, false] {
            let again = chat
                .store
                .write("test", Durability::Full, move |tx| outbox::send_again(tx, now, id, "window"))
                .await
                .unwrap();
            assert_eq!(again.is_some(), expected);
        }
        server.until("sent again", |server| attempts(server).len() == 3).await;
        assert_eq!(attempts(&server)[2], "paid once");
    }
}

#[tokio::test]
async fn a_page_instead_of_an_answer_is_uncertain_too() {
    let server = TelegramServer::start().await;
    let (chat, _folder) = Chat::start(&server, Options::default()).await;
    let to = chat.conversation(OWNER, "").await;
    server.fault("sendMessage", [Fault::Page(502)]);
    let id = chat.enqueue(text(to, "hello")).await;
    assert_eq!(chat.settled(id).await.state, State::Uncertain);
    assert_eq!(attempts(&server).len(), 1);
}

#[tokio::test]
async fn a_connection_that_was_never_made_is_tried_again() {
    let server = TelegramServer::start().await;
    let nowhere = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut elsewhere = TelegramServer::start().await;
    elsewhere.url = format!("http://{nowhere}");
    let (chat, _folder) = Chat::start(&elsewhere, Options::default()).await;
    let to = chat.conversation(OWNER, "").await;
    let id = chat.enqueue(text(to, "hello")).await;
    chat.until("SELECT attempts >= 2 FROM outbound", 1).await;
    let listener = tokio::net::TcpListener::bind(nowhere).await.unwrap();
    let target = server.url.trim_start_matches("http://").to_owned();
    let proxy = tokio::spawn(async move {
        loop {
            let (mut near, _) = listener.accept().await.unwrap();
            let mut far = tokio::net::TcpStream::connect(&target).await.unwrap();
            tokio::spawn(async move { tokio::io::copy_bidirectional(&mut near, &mut far).await });
        }
    });
    assert_eq!(chat.settled(id).await.state, State::Delivered);
    assert_eq!(attempts(&server), ["hello"]);
    proxy.abort();
}

#[tokio::test]
async fn case_d10_an_entity_error_resends_that_part_alone_as_plain_text() {
    let server = TelegramServer::start().await;
    let (chat, _folder) = Chat::start(&server, Options::default()).await;
    let to = chat.conversation(OWNER, "").await;
    let part = |word: &str| format!("**{word}** {}", "x".repeat(3000));
    let content = format!("{}\n\n{}\n\n{}", part("one"), part("two"), part("three"));
    server.refuse_entities_in("two");
    let id = chat.enqueue(text(to, &content)).await;
    let row = chat.settled(id).await;
    assert_eq!((row.state, row.external_ids.len()), (State::Delivered, 3));
    let starts: Vec<String> = server
        .calls("sendMessage")
        .iter()
        .map(|call| format!("{} {}", call.text().chars().take(7).collect::<String>(), call.done))
        .collect();
    assert_eq!(starts, ["one xxx true", "two xxx false", "**two** true", "three x true"]);
    assert!(server.calls("sendMessage").iter().all(|call| call.body.get("parse_mode").is_none()));
}

#[tokio::test]
async fn a_part_that_is_uncertain_does_not_repeat_the_parts_before_it() {
    let server = TelegramServer::start().await;
    let (chat, _folder) = Chat::start(&server, Options::default()).await;
    let to = chat.conversation(OWNER, "").await;
    let content = format!("{}\n\n{}", "a".repeat(3000), "b".repeat(3000));
    server.fault("sendMessage", [Fault::Pass, Fault::CutAfter]);
    let id = chat.enqueue(text(to, &content)).await;
    assert_eq!(chat.settled(id).await.state, State::Uncertain);
    let now = chat.clock.now();
    let again = chat
        .store
        .write("test", Durability::Full, move |tx| outbox::send_again(tx, now, id, "window"))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(chat.settled(again).await.state, State::Delivered);
    let firsts: Vec<String> = attempts(&server).iter().map(|text| text.chars().take(1).collect()).collect();
    assert_eq!(firsts, ["a", "b", "b"]);
}

#[tokio::test]
async fn case_d12_a_message_that_shows_it_already_is_no_failure() {
    let server = TelegramServer::start().await;
    let (chat, _folder) = Chat::start(&server, Options::default()).await;
    let to = chat.conversation(OWNER, "").await;
    let mut card = text(to, "Approve?");
    card.buttons = vec![vec![("✅ Да, одобряю".to_owned(), "a:ABCDEFGHIJKLMNOPQRSTUV".to_owned())]];
    let id = chat.enqueue(card).await;
    let message: i64 = chat.settled(id).await.external_ids[0].parse().unwrap();
    assert!(server.shows(OWNER, message).unwrap().1["inline_keyboard"][0][0]["callback_data"].is_string());
    let now = chat.clock.now();
    for closing in ["Approved", "Approved"] {
        chat.store.write("test", Durability::Full, move |tx| outbox::edit(tx, now, id, closing, &[])).await.unwrap();
        chat.until("SELECT COUNT(*) FROM outbound_edits WHERE state = 'done'", 1).await;
    }
    server.until("two edits", |server| server.calls("editMessageText").len() == 2).await;
    chat.until("SELECT COUNT(*) FROM outbound_edits WHERE state = 'done'", 1).await;
    let (shown, keyboard) = server.shows(OWNER, message).unwrap();
    assert!(shown == "Approved" && keyboard.is_null(), "{shown} {keyboard}");
    assert_eq!(attempts(&server), ["Approve?"]);
}

#[tokio::test]
async fn case_d14_tokens_of_buttons_are_short_whatever_the_label() {
    let server = TelegramServer::start().await;
    let (chat, _folder) = Chat::start(&server, Options::default()).await;
    let to = chat.conversation(OWNER, "").await;
    let token = chat.ids.token();
    let mut card = text(to, "¿Enviar?");
    card.buttons = vec![vec![("Одобрить это длинное действие целиком".repeat(2), format!("a:{token}"))]];
    let id = chat.enqueue(card).await;
    assert_eq!(chat.settled(id).await.state, State::Delivered);
    let data = server.calls("sendMessage")[0].body["reply_markup"]["inline_keyboard"][0][0]["callback_data"].clone();
    assert!(data.as_str().unwrap().len() <= 64, "{data}");
}

#[tokio::test]
async fn case_d15_a_group_that_became_a_supergroup_goes_on_there() {
    let server = TelegramServer::start().await;
    let mut options = Options::default();
    options.inbox.groups = unavez::inbox::Groups::Mention;
    let (chat, _folder) = Chat::start(&server, options).await;
    let to = chat.conversation(GROUP, "").await;
    server.migrate(GROUP, -1009);
    let first = chat.enqueue(text(to, "first")).await;
    let second = chat.enqueue(text(to, "second")).await;
    assert_eq!(chat.settled(first).await.state, State::Delivered);
    assert_eq!(chat.settled(second).await.state, State::Delivered);
    let tries: Vec<(i64, String)> = server.calls("sendMessage").iter().map(|call| (call.chat(), call.text())).collect();
    let expected = [(GROUP, "first"), (-1009, "first"), (-1009, "second")];
    assert_eq!(tries, expected.map(|(chat, text)| (chat, text.to_owned())));
    // The conversation is the same one for what comes from there.
    let mention = serde_json::json!([{ "type": "mention", "offset": 0, "length": 13 }]);
    server.message(-1009, OWNER, serde_json::json!({ "text": "@una_test_bot hi?", "entities": mention }));
    chat.until("SELECT COUNT(*) FROM bursts WHERE state = 'answered'", 1).await;
    assert_eq!(chat.count("SELECT COUNT(*) FROM conversations").await, 1);
    // A number in somebody's text moves nothing; the service message does.
    server.message(-1009, OWNER, serde_json::json!({ "migrate_to_chat_id": -1010 }));
    chat.until("SELECT COUNT(*) FROM conversations WHERE contact = '-1010'", 1).await;
}

#[tokio::test]
async fn case_d16_a_block_ends_deliveries_to_that_chat_alone() {
    let server = TelegramServer::start().await;
    let (chat, _folder) = Chat::start(&server, Options::default()).await;
    let gone = chat.conversation(OWNER, "").await;
    server.block(OWNER);
    let mut ids = Vec::new();
    for n in 0..3 {
        ids.push(chat.enqueue(text(gone, &format!("to nobody {n}"))).await);
    }
    let mut others = Vec::new();
    for contact in 3001..3006 {
        let to = chat.conversation(contact, "").await;
        others.push(chat.enqueue(text(to, "to somebody")).await);
    }
    for id in others {
        assert_eq!(chat.settled(id).await.state, State::Delivered);
    }
    for id in ids {
        assert_eq!(chat.settled(id).await.state, State::Failed);
    }
    let later = chat.enqueue(text(gone, "later")).await;
    assert_eq!(chat.settled(later).await.state, State::Failed);
    let tried = server.calls("sendMessage").iter().filter(|call| call.chat() == OWNER).count();
    assert_eq!(tried, 1, "no retry loop");
    // Who writes again is there again.
    server.message(OWNER, OWNER, serde_json::json!({ "text": "I am back?" }));
    chat.until("SELECT COUNT(*) FROM conversations WHERE unreachable IS NULL", 6).await;
}

#[tokio::test]
async fn case_d17_a_flood_wait_holds_that_chat_alone_and_keeps_its_order() {
    let server = TelegramServer::start().await;
    let (chat, _folder) = Chat::start(&server, Options::default()).await;
    let group = chat.conversation(GROUP, "").await;
    let private = chat.conversation(OWNER, "").await;
    let mut faults = vec![Fault::Pass; 5];
    faults.push(Fault::Flood(41));
    server.fault("sendMessage", faults);
    for n in 0..8 {
        chat.enqueue(text(group, &format!("g{n}"))).await;
    }
    server.until("the refusal", |server| server.calls("sendMessage").len() == 6).await;
    let refused = server.calls("sendMessage")[5].at;
    let started = Instant::now();
    let id = chat.enqueue(text(private, "not delayed")).await;
    chat.settled(id).await;
    assert!(started.elapsed() * SPEED < Duration::from_secs(5), "{:?}", started.elapsed());
    server.until("all of it", |server| server.received(GROUP).len() == 8).await;
    let sent = server.calls("sendMessage");
    let next = sent.iter().filter(|call| call.chat() == GROUP).nth(6).unwrap();
    let waited = (next.at - refused) * SPEED;
    assert!(waited >= Duration::from_secs(41) && waited < Duration::from_secs(46), "{waited:?}");
    assert_eq!(server.received(GROUP), (0..8).map(|n| format!("g{n}")).collect::<Vec<_>>());
}

#[tokio::test]
async fn case_d18_typing_goes_on_until_the_reply_and_not_beyond() {
    let server = TelegramServer::start().await;
    let options = Options { model_takes: Duration::from_secs(21), ..Options::default() };
    let (chat, _folder) = Chat::start(&server, options).await;
    // A refused signal does not touch the turn.
    server.fault("sendChatAction", [Fault::Pass, Fault::Flood(30)]);
    server.message(-2002, OWNER, serde_json::json!({ "text": "off" }));
    server.text(OWNER, OWNER, "a long one.");
    server.until("the reply", |server| server.received(OWNER).len() == 1).await;
    let replied = server.calls("sendMessage")[0].at;
    pause(900).await;
    let signals = server.calls("sendChatAction");
    let first = signals[0].at;
    let at: Vec<u64> = signals.iter().map(|call| ((call.at - first) * SPEED).as_secs_f64().round() as u64).collect();
    assert_eq!(at.len(), 6, "{at:?}");
    for (n, at) in at.iter().enumerate() {
        let expected = 4 * n as u64;
        assert!((expected..=expected + 1).contains(at), "signal {n} at {at} s");
    }
    assert!(signals.iter().all(|call| call.at < replied));
    chat.assert_nothing_lost().await;
}

#[tokio::test]
async fn case_d21_topics_answer_where_they_were_asked() {
    let server = TelegramServer::start().await;
    let mut options = Options::default();
    options.inbox.groups = unavez::inbox::Groups::Mention;
    let (chat, _folder) = Chat::start(&server, options).await;
    let said = |fields: serde_json::Value| {
        let mut message = serde_json::json!({
            "text": "@una_test_bot hi?",
            "entities": [{ "type": "mention", "offset": 0, "length": 13 }],
        });
        message.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        message
    };
    let threads = |server: &TelegramServer| -> Vec<Option<i64>> {
        server.calls("sendMessage").iter().map(|call| call.body["message_thread_id"].as_i64()).collect()
    };
    for (answers, fields) in [
        serde_json::json!({ "message_thread_id": 55, "is_topic_message": true }),
        serde_json::json!({ "message_thread_id": 77 }),
        serde_json::json!({}),
        serde_json::json!({ "message_thread_id": 1, "is_topic_message": true }),
    ]
    .into_iter()
    .enumerate()
    {
        server.message(GROUP, OWNER, said(fields));
        server.until("an answer", |server| server.received(GROUP).len() == answers + 1).await;
    }
    assert_eq!(threads(&server), [Some(55), None, None, None]);
    let typed = server.calls("sendChatAction").iter().any(|call| call.body["message_thread_id"].as_i64() == Some(55));
    assert!(typed, "the signal is in the topic too");
    // Two topics at once: two turns.
    for thread in [55, 56] {
        server.message(
            GROUP,
            OWNER,
            said(serde_json::json!({ "message_thread_id": thread, "is_topic_message": true })),
        );
        pause(40).await;
    }
    server.until("both", |server| server.received(GROUP).len() == 6).await;
    let mut both = threads(&server)[4..].to_vec();
    both.sort_unstable();
    assert_eq!(both, [Some(55), Some(56)]);
    // The topic is deleted: told once, in the group.
    server.delete_thread(55);
    let to = chat.texts("SELECT id || '' FROM conversations WHERE thread = '55'").await[0].parse().unwrap();
    for content in ["late", "later"] {
        let id = chat.enqueue(text(ConversationId(to), content)).await;
        assert_eq!(chat.settled(id).await.state, State::Delivered);
    }
    let last: Vec<(Option<i64>, String)> = server.calls("sendMessage")[6..]
        .iter()
        .map(|call| (call.body["message_thread_id"].as_i64(), call.text()))
        .collect();
    let expected = [(Some(55), "late"), (None, "(The topic is gone, so I answer here.)\n\nlate"), (None, "later")];
    assert_eq!(last, expected.map(|(thread, text)| (thread, text.to_owned())));
}
