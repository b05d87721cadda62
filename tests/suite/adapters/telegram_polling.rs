//! Polling on a wire that lies: what is stored, what is confirmed, and what `status` says meanwhile.

use std::time::{Duration, Instant};

use serde_json::json;
use unavez::inbox::SourceState;

use crate::support::chat::{Chat, OWNER, Options, SPEED};
use crate::support::telegram::{Fault, TOKEN, TelegramServer};

const ANSWERED: &str = "SELECT COUNT(*) FROM bursts WHERE state = 'answered'";

async fn pause(milliseconds: u64) {
    tokio::time::sleep(Duration::from_millis(milliseconds)).await;
}

async fn state(chat: &Chat, expected: SourceState) {
    let mut follow = chat.health.follow();
    let reached =
        tokio::time::timeout(Duration::from_secs(20), follow.wait_for(|status| status.state == expected)).await;
    assert!(reached.is_ok(), "{expected:?}, not {:?}", chat.health.status());
}

#[tokio::test]
async fn case_d01_a_transient_conflict_does_not_end_polling() {
    let server = TelegramServer::start().await;
    server.fault("getUpdates", [Fault::Conflict, Fault::Conflict]);
    let (chat, _folder) = Chat::start(&server, Options::default()).await;
    server.text(OWNER, OWNER, "hello?");
    chat.until(ANSWERED, 1).await;
    let polls = server.calls("getUpdates");
    let gap = |n: usize| (polls[n + 1].at - polls[n].at) * SPEED;
    assert!(gap(0) >= Duration::from_secs(5) && gap(0) < Duration::from_secs(8), "{:?}", gap(0));
    assert!(gap(1) >= Duration::from_secs(10) && gap(1) < Duration::from_secs(15), "{:?}", gap(1));
}

#[tokio::test]
async fn case_d02_a_second_poller_is_shown_while_sending_goes_on() {
    let server = TelegramServer::start().await;
    let (chat, _folder) = Chat::start(&server, Options::default()).await;
    server.text(OWNER, OWNER, "first?");
    chat.until(ANSWERED, 1).await;
    server.fault("getUpdates", vec![Fault::Conflict; 500]);
    // The poll on its way ends by itself; the next one meets the other program.
    state(&chat, SourceState::Conflict).await;
    assert_eq!(chat.health.status().reason.as_deref(), Some("another program uses this bot token"));
    let now = chat.clock.now();
    chat.store
        .write("test", unavez::store::Durability::Full, move |tx| {
            unavez::outbox::enqueue_notice(tx, now, unavez::domain::ids::ConversationId(1), "sent meanwhile")
        })
        .await
        .unwrap();
    server.until("sending works", |server| server.received(OWNER).contains(&"sent meanwhile".to_owned())).await;
    let before = server.calls("getUpdates").len();
    pause(3000).await;
    let polls = server.calls("getUpdates").len() - before;
    assert!(polls <= 3, "30 s of conflict: {polls} polls");
    server.clear_faults();
    state(&chat, SourceState::Receiving).await;
}

#[tokio::test]
async fn case_d03_a_replay_of_everything_changes_nothing() {
    let server = TelegramServer::start().await;
    let (chat, folder) = Chat::start(&server, Options::default()).await;
    for text in ["one?", "/status", "two?"] {
        server.text(OWNER, OWNER, text);
    }
    let tap = server.tap(OWNER, OWNER, 5, "a:none");
    chat.until(ANSWERED, 1).await;
    server.until("replies", |server| server.received(OWNER).len() == 2).await;
    chat.stop().await;
    server.redeliver();
    // The cursor is lost too: the rows know what they have seen.
    let database = folder.path().join("data/unavez.db");
    rusqlite::Connection::open(database).unwrap().execute("DELETE FROM channel_cursors", []).unwrap();
    let chat = Chat::open(&folder, &server, Options::default()).await;
    server.until("all confirmed again", |server| server.unconfirmed() == 0).await;
    pause(600).await;
    assert_eq!(chat.count("SELECT COUNT(*) FROM inbound").await, 4, "tap {tap} too");
    assert_eq!(chat.count("SELECT COUNT(*) FROM turns").await, 1);
    assert_eq!(server.received(OWNER).len(), 2);
}

#[tokio::test]
async fn case_a04_a_message_stored_before_a_crash_runs_once_after_it() {
    let server = TelegramServer::start().await;
    let (chat, folder) = Chat::start(&server, Options::default()).await;
    server.text(OWNER, OWNER, "call a plumber tomorrow 8:00");
    server.until("it is confirmed", |server| server.unconfirmed() == 0 && !server.calls("getUpdates").is_empty()).await;
    chat.stop().await;
    for _ in 0..2 {
        let chat = Chat::open(&folder, &server, Options::default()).await;
        chat.until(ANSWERED, 1).await;
        server.until("the reply", |server| server.received(OWNER).len() == 1).await;
        pause(300).await;
        assert_eq!(server.received(OWNER), ["done"]);
        assert_eq!(chat.count("SELECT COUNT(*) FROM turns").await, 1);
        chat.stop().await;
    }
}

#[tokio::test]
async fn case_d04_nothing_is_confirmed_before_it_is_stored() {
    let server = TelegramServer::start().await;
    let folder = tempfile::tempdir().unwrap();
    let data = unavez::store::DataFolder::open(folder.path().join("data")).unwrap();
    drop(unavez::store::Store::open(&data, unavez::store::StoreMode::Inline).unwrap());
    // The disk refuses what comes in.
    let raw = rusqlite::Connection::open(data.database()).unwrap();
    raw.execute_batch("CREATE TRIGGER full BEFORE INSERT ON channel_cursors BEGIN SELECT RAISE(ABORT, 'disk'); END")
        .unwrap();
    let chat = Chat::open(&folder, &server, Options::default()).await;
    for text in ["a", "b", "c?"] {
        server.text(OWNER, OWNER, text);
    }
    server.until("fetched again and again", |server| server.calls("getUpdates").len() >= 3).await;
    assert_eq!(server.unconfirmed(), 3);
    assert_eq!(chat.count("SELECT COUNT(*) FROM inbound").await, 0);
    raw.execute_batch("DROP TRIGGER full").unwrap();
    drop(raw);
    chat.until(ANSWERED, 1).await;
    server.until("confirmed", |server| server.unconfirmed() == 0).await;
    assert_eq!(chat.asked(), ["a\nb\nc?"]);
}

#[tokio::test]
async fn case_d05_a_poison_update_is_recorded_and_passed_over() {
    let server = TelegramServer::start().await;
    let (chat, _folder) = Chat::start(&server, Options::default()).await;
    server.text(OWNER, OWNER, "thirty");
    server.update(json!({ "message": { "message_id": "not a number", "text": 31 } }));
    server.text(OWNER, OWNER, "thirty-two?");
    chat.until(ANSWERED, 1).await;
    assert_eq!(chat.asked(), ["thirty\nthirty-two?"]);
    let failed = chat.texts("SELECT json_extract(parts, '$.raw') FROM inbound WHERE state = 'failed'").await;
    assert!(failed.len() == 1 && failed[0].contains("not a number"), "{failed:?}");
    server.until("confirmed", |server| server.unconfirmed() == 0).await;
}

#[tokio::test]
async fn case_d06_a_backlog_is_judged_by_the_senders_dates() {
    let server = TelegramServer::start().await;
    for n in 0..61 {
        server.old_text(OWNER, OWNER, &format!("note {n}"), Duration::from_secs(20 * 3600 - n * 60));
    }
    server.old_text(OWNER, OWNER, "in 10 minutes send the offer to a@example.test", Duration::from_secs(19 * 3600));
    let (chat, _folder) = Chat::start(&server, Options::default()).await;
    chat.until("SELECT COUNT(*) FROM inbound WHERE state = 'merged'", 62).await;
    chat.until("SELECT COUNT(*) FROM bursts WHERE state <> 'answered'", 0).await;
    assert_eq!(chat.count("SELECT COUNT(*) FROM inbound WHERE stale = 1").await, 62);
    assert_eq!(chat.count("SELECT MIN(stale) FROM turns").await, 1, "effects of these turns are asked for");
    server.old_text(OWNER, OWNER, "and now?", Duration::from_secs(240));
    chat.until("SELECT COUNT(*) FROM bursts WHERE state = 'answered' AND stale = 0", 1).await;
    server.until("confirmed", |server| server.unconfirmed() == 0).await;
}

#[tokio::test]
async fn case_d07_a_message_typed_during_a_restart_is_handled_once() {
    let server = TelegramServer::start().await;
    let (chat, folder) = Chat::start(&server, Options::default()).await;
    server.text(OWNER, OWNER, "hello?");
    chat.until(ANSWERED, 1).await;
    server.until("confirmed", |server| server.unconfirmed() == 0).await;
    chat.stop().await;
    server.text(OWNER, OWNER, "buy milk");
    let chat = Chat::open(&folder, &server, Options::default()).await;
    chat.until(ANSWERED, 2).await;
    assert_eq!(chat.asked(), ["buy milk"]);
    for call in server.calls("getUpdates") {
        assert!(call.body["offset"].as_i64().is_none_or(|offset| offset >= 0), "pending updates are never dropped");
    }
}

#[tokio::test]
async fn case_d08_a_gap_of_more_than_a_day_is_told() {
    let server = TelegramServer::start().await;
    let (chat, folder) = Chat::start(&server, Options::default()).await;
    server.text(OWNER, OWNER, "hello?");
    chat.until(ANSWERED, 1).await;
    server.until("the reply", |server| server.received(OWNER).len() == 1).await;
    chat.stop().await;
    let database = folder.path().join("data/unavez.db");
    let thirty_hours: i64 = 30 * 3600 * 1000;
    rusqlite::Connection::open(database)
        .unwrap()
        .execute("UPDATE channel_cursors SET last_poll_at = last_poll_at - ?1", [thirty_hours])
        .unwrap();
    let chat = Chat::open(&folder, &server, Options::default()).await;
    server
        .until("the gap is told", |server| server.received(OWNER).iter().any(|text| text.contains("more than a day")))
        .await;
    chat.stop().await;
    let _chat = Chat::open(&folder, &server, Options::default()).await;
    pause(400).await;
    let told = server.received(OWNER).iter().filter(|text| text.contains("more than a day")).count();
    assert_eq!(told, 1, "once");
}

#[tokio::test]
async fn update_ids_that_restart_lose_nothing() {
    let server = TelegramServer::start().await;
    let (chat, _folder) = Chat::start(&server, Options::default()).await;
    server.renumber_updates(9_000);
    server.text(OWNER, OWNER, "before?");
    chat.until(ANSWERED, 1).await;
    server.until("confirmed", |server| server.unconfirmed() == 0).await;
    let offset = server.calls("getUpdates").last().unwrap().body["offset"].clone();
    assert_eq!(offset, json!(9_001));
}

#[tokio::test]
async fn case_d19_a_poll_that_hangs_is_given_up_and_made_again() {
    let server = TelegramServer::start().await;
    server.fault("getUpdates", [Fault::Hang]);
    let (chat, _folder) = Chat::start(&server, Options::default()).await;
    let started = Instant::now();
    server.text(OWNER, OWNER, "anybody?");
    chat.until(ANSWERED, 1).await;
    assert!(started.elapsed() * SPEED < Duration::from_secs(150), "{:?}", started.elapsed());
    server.until("the reply", |server| server.received(OWNER) == ["done"]).await;
}

#[tokio::test]
async fn a_refused_token_waits_for_another_one_and_a_new_bot_starts_from_its_own_offset() {
    let server = TelegramServer::start().await;
    let folder = tempfile::tempdir().unwrap();
    let options = Options { token: "1:wrong", ..Options::default() };
    let chat = Chat::open(&folder, &server, options).await;
    state(&chat, SourceState::Unauthorized).await;
    chat.stop().await;

    server.renumber_updates(70_000);
    let chat = Chat::open(&folder, &server, Options { token: TOKEN, ..Options::default() }).await;
    server.text(OWNER, OWNER, "hello?");
    chat.until(ANSWERED, 1).await;
    chat.stop().await;

    // Its updates count from below: the old bot's offset must not hide them.
    server.become_bot("77:other", 77);
    server.renumber_updates(5);
    let chat = Chat::open(&folder, &server, Options { token: "77:other", ..Options::default() }).await;
    server.text(OWNER, OWNER, "hello?");
    chat.until(ANSWERED, 2).await;
    assert_eq!(chat.texts("SELECT account FROM channel_cursors ORDER BY account").await, ["4242", "77"]);
}

#[tokio::test]
async fn bad_answers_to_polls_are_offline_and_pass() {
    let server = TelegramServer::start().await;
    // The library waits 10 s after a 5xx by the machine's clock: one is enough.
    server.fault("getUpdates", [Fault::CutBefore, Fault::CutAfter, Fault::Flood(3)]);
    let (chat, _folder) = Chat::start(&server, Options::default()).await;
    state(&chat, SourceState::Offline).await;
    server.text(OWNER, OWNER, "hello?");
    chat.until(ANSWERED, 1).await;
    state(&chat, SourceState::Receiving).await;
    assert!(chat.health.status().last_poll_at.is_some());
}

#[tokio::test]
async fn case_e16_a_start_without_network_connects_later_by_itself() {
    let server = TelegramServer::start().await;
    // Nobody answers at this address.
    let nowhere = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = nowhere.local_addr().unwrap();
    drop(nowhere);
    let mut proxied = TelegramServer::start().await;
    proxied.url = format!("http://{address}");
    let (chat, _folder) = Chat::start(&proxied, Options::default()).await;
    state(&chat, SourceState::Offline).await;
    // The network comes up: what listens there now passes on to the server.
    let listener = tokio::net::TcpListener::bind(address).await.unwrap();
    let target = server.url.trim_start_matches("http://").to_owned();
    let proxy = tokio::spawn(async move {
        loop {
            let (mut near, _) = listener.accept().await.unwrap();
            let mut far = tokio::net::TcpStream::connect(&target).await.unwrap();
            tokio::spawn(async move { tokio::io::copy_bidirectional(&mut near, &mut far).await });
        }
    });
    server.text(OWNER, OWNER, "hello?");
    chat.until(ANSWERED, 1).await;
    state(&chat, SourceState::Receiving).await;
    proxy.abort();
}

#[tokio::test]
async fn an_idle_program_polls_once_per_long_poll_and_never_twice_at_once() {
    let server = TelegramServer::start().await;
    let (chat, _folder) = Chat::start(&server, Options { poll: Duration::from_secs(1), ..Options::default() }).await;
    state(&chat, SourceState::Receiving).await;
    let before = server.calls("getUpdates").len();
    pause(3200).await;
    let polls = server.calls("getUpdates").len() - before;
    assert!((2..=4).contains(&polls), "{polls} polls in 3.2 s of 1 s each");
    // The server ends an older poll with 409 when a second one comes: it never had to.
    assert_eq!(chat.health.status().state, SourceState::Receiving);
}
