//! The Telegram channel against a server that is not ours, through a proxy with scripted faults.

use std::time::Duration;

use serde_json::{Value, json};

use super::daemon::{Daemon, Place, eventually};
use super::faults::{Fault, Proxy, raw_update};
use super::servers::{BOT_TOKEN, Crabline};

const ANN: i64 = 555;
const STRANGER: i64 = 777;

fn practice(api_url: &str) -> Place {
    Place::new(&format!(
        r#"
        [assistant]
        timezone = "Europe/Madrid"
        language = "en"
        [telegram]
        enabled = true
        token = {{ env = "BOT_TOKEN" }}
        api_url = "{api_url}"
        poll_timeout = "5s"
        owners = [{ANN}]
        [debounce]
        closed = "200ms"
        neutral = "300ms"
        open = "500ms"
        "#
    ))
}

fn start(place: &Place) -> Daemon {
    Daemon::start(place, &[("BOT_TOKEN", BOT_TOKEN)])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tap_approves_exactly_once_and_the_card_closes() {
    let Some(telegram) = Crabline::start() else { return };
    let proxy = Proxy::start(&telegram.url).await;
    let place = practice(&proxy.url);
    let daemon = start(&place);
    telegram.say(ANN, "schedule lunch on 2031-03-03 at 12:00 with bo@example.test").await;
    eventually("a card was sent", Duration::from_secs(30), || {
        place.count("SELECT count(*) FROM outbound WHERE kind = 'card' AND state = 'delivered'") == 1
    });
    let token: String =
        place.read().query_row("SELECT token FROM approvals WHERE state = 'pending'", [], |row| row.get(0)).unwrap();
    let message: Value = serde_json::from_str(
        &place
            .read()
            .query_row::<String, _, _>("SELECT external_ids FROM outbound WHERE kind = 'card'", [], |row| row.get(0))
            .unwrap(),
    )
    .unwrap();
    let message: i64 = message[0].as_str().unwrap().rsplit(':').next().unwrap().parse().unwrap();
    let tap = |id: &str, from: i64, data: String| {
        raw_update(&json!({ "callback_query": {
            "id": id, "from": { "id": from, "is_bot": false, "first_name": "Ann" }, "chat_instance": "1", "data": data,
            "message": { "message_id": message, "date": 1, "chat": { "id": ANN, "type": "private", "first_name": "Ann" }, "text": "card" },
        }}))
    };
    // A stranger's tap decides nothing.
    telegram.say(ANN, &tap("t1", STRANGER, format!("a:{token}"))).await;
    eventually("the stranger's tap was answered", Duration::from_secs(20), || {
        proxy.passed("/answercallbackquery") >= 1
    });
    assert_eq!(place.count("SELECT count(*) FROM approvals WHERE state = 'pending'"), 1);
    for (id, data) in [("t2", "a"), ("t3", "a"), ("t4", "d")] {
        telegram.say(ANN, &tap(id, ANN, format!("{data}:{token}"))).await;
    }
    eventually("the event stands", Duration::from_secs(30), || {
        place.count("SELECT count(*) FROM calendar_events") == 1
    });
    eventually("every tap was answered", Duration::from_secs(20), || proxy.passed("/answercallbackquery") >= 4);
    assert_eq!(place.count("SELECT count(*) FROM approvals WHERE state = 'approved'"), 1);
    assert_eq!(place.count("SELECT count(*) FROM audit WHERE kind = 'approval_decided'"), 1);
    assert_eq!(place.count("SELECT count(*) FROM effects WHERE state = 'accepted'"), 1);
    eventually("the card was closed", Duration::from_secs(20), || proxy.passed("/editmessage") >= 1);
    daemon.stop(Duration::from_secs(5));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_is_uncertain_and_a_refused_one_is_tried_again() {
    let Some(telegram) = Crabline::start() else { return };
    let proxy = Proxy::start(&telegram.url).await;
    let place = practice(&proxy.url);
    let daemon = start(&place);
    proxy.next("/sendmessage", Fault::Status(429, json!({ "ok": false, "error_code": 429, "description": "Too Many Requests: retry after 1", "parameters": { "retry_after": 1 } })));
    telegram.say(ANN, "help").await;
    eventually("sent after the wait", Duration::from_secs(30), || {
        place.count("SELECT count(*) FROM outbound WHERE state = 'delivered'") == 1
    });
    proxy.next("/sendmessage", Fault::CutAfter);
    telegram.say(ANN, "thanks").await;
    eventually("uncertain", Duration::from_secs(30), || {
        place.count("SELECT count(*) FROM outbound WHERE state = 'uncertain'") == 1
    });
    // Polling goes on after a lost answer, and the update is handled once.
    proxy.next("/getupdates", Fault::CutAfter);
    telegram.say(ANN, "hello").await;
    eventually("answered", Duration::from_secs(40), || {
        place.count("SELECT count(*) FROM outbound WHERE state = 'delivered'") == 2
    });
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(telegram.calls_of("sendMessage").len(), 3, "one per answer, none repeated");
    assert_eq!(place.count("SELECT count(*) FROM inbound"), 3);
    daemon.stop(Duration::from_secs(5));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_handled_before_a_kill_is_not_handled_again() {
    let Some(telegram) = Crabline::start() else { return };
    let place = practice(&telegram.url);
    let daemon = start(&place);
    telegram.say(ANN, "schedule dentist on 2031-03-03 at 10:00").await;
    eventually("scheduled", Duration::from_secs(30), || place.count("SELECT count(*) FROM calendar_events") == 1);
    daemon.kill();
    telegram.say(ANN, "schedule dentist on 2031-03-03 at 10:00").await;
    let daemon = start(&place);
    eventually("both turns", Duration::from_secs(30), || {
        place.count("SELECT count(*) FROM turns WHERE state = 'ended'") == 2
    });
    assert_eq!(place.count("SELECT count(*) FROM calendar_events"), 1);
    assert_eq!(place.count("SELECT count(*) FROM prevented WHERE verdict <> 'replayed'"), 1);
    assert_eq!(place.count("SELECT count(*) FROM inbound"), 2);
    daemon.stop(Duration::from_secs(5));
}
