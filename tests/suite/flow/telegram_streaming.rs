//! Answers that grow while they are written: what the server sees, and what a crash, a stop or a refusal leaves.

use std::time::Duration;

use unavez::model::scripted::{Line, ScriptedError};
use unavez::turns::{DoubleTexting, Settings};

use crate::support::chat::{Chat, OWNER, Options, SPEED};
use crate::support::telegram::{Call, Fault, TelegramServer};

const ANSWERED: &str = "SELECT COUNT(*) FROM bursts WHERE state = 'answered'";
const REPLIES: &str = "SELECT state || ' ' || content FROM outbound WHERE kind = 'reply' ORDER BY id";

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// An answer of `words` words.
fn long(words: usize) -> String {
    (1..=words).map(|n| format!("word{n}")).collect::<Vec<_>>().join(" ")
}

fn says(lines: impl IntoIterator<Item = Line>) -> Options {
    Options { script: lines.into_iter().collect(), ..Options::default() }
}

async fn shows(server: &TelegramServer, text: &str) {
    server
        .until("the whole answer", |server| {
            (1000..1020).any(|id| server.shows(OWNER, id).is_some_and(|(shown, _)| shown == text))
        })
        .await;
}

/// Requests that show text, in the order they came.
fn requests(server: &TelegramServer) -> Vec<Call> {
    let mut all = server.calls("sendMessage");
    all.extend(server.calls("editMessageText"));
    all.sort_by_key(|call| call.at);
    all
}

#[tokio::test]
async fn a_long_answer_grows_by_edits_no_closer_than_the_interval_and_ends_whole() {
    let server = TelegramServer::start().await;
    let text = long(60);
    let (chat, _folder) = Chat::start(&server, says([Line::say(&text).over(seconds(9))])).await;
    server.text(OWNER, OWNER, "tell me everything.");
    chat.until(ANSWERED, 1).await;
    shows(&server, &text).await;
    chat.until("SELECT COUNT(*) FROM outbound WHERE state = 'delivered'", 1).await;
    assert_eq!(server.received(OWNER).len(), 1, "one message");
    assert_eq!(chat.texts(REPLIES).await, [format!("delivered {text}")]);
    let requests = requests(&server);
    assert!((4..=8).contains(&requests.len()), "{}", requests.len());
    for pair in requests.windows(2) {
        let apart = pair[1].at.duration_since(pair[0].at) * SPEED;
        assert!(apart >= Duration::from_millis(1400), "{apart:?}");
        assert!(pair[1].text().starts_with(&pair[0].text()), "it only grows");
    }
    assert!(requests[0].text().len() < text.len());
    let told = chat.count("SELECT COUNT(*) FROM audit WHERE kind = 'message_delivered'").await;
    assert_eq!(told, 1);
}

#[tokio::test]
async fn an_answer_that_is_whole_at_once_is_sent_once() {
    let server = TelegramServer::start().await;
    let (chat, _folder) =
        Chat::start(&server, says([Line::say("short and sweet").over(Duration::from_millis(900))])).await;
    server.text(OWNER, OWNER, "hello?");
    chat.until(ANSWERED, 1).await;
    shows(&server, "short and sweet").await;
    tokio::time::sleep(seconds(3) / SPEED).await;
    assert_eq!(requests(&server).len(), 1);
}

#[tokio::test]
async fn what_one_message_does_not_hold_follows_in_the_next() {
    let server = TelegramServer::start().await;
    let text = long(900);
    let (chat, _folder) = Chat::start(&server, says([Line::say(&text).over(seconds(6))])).await;
    server.text(OWNER, OWNER, "tell me everything.");
    chat.until("SELECT COUNT(*) FROM outbound WHERE state = 'delivered' AND parts_done = 2", 1).await;
    let sent = server.calls("sendMessage");
    assert_eq!(sent.len(), 2);
    let (first, _) = server.shows(OWNER, 1002).or_else(|| server.shows(OWNER, 1001)).unwrap();
    let whole = format!("{first} {}", sent[1].text());
    assert_eq!(whole.split_whitespace().collect::<Vec<_>>(), text.split_whitespace().collect::<Vec<_>>());
}

#[tokio::test]
async fn a_failing_edit_never_makes_a_second_copy() {
    let faults = [
        vec![Fault::CutAfter, Fault::CutBefore],
        vec![Fault::Flood(3)],
        vec![Fault::Page(502)],
        vec![Fault::Refuse("Bad Request: message can't be edited")],
    ];
    for faults in faults {
        let server = TelegramServer::start().await;
        let text = long(40);
        server.fault("editMessageText", faults);
        let (chat, _folder) = Chat::start(&server, says([Line::say(&text).over(seconds(6))])).await;
        server.text(OWNER, OWNER, "tell me everything.");
        chat.until(ANSWERED, 1).await;
        shows(&server, &text).await;
        chat.until("SELECT COUNT(*) FROM outbound WHERE state = 'delivered'", 1).await;
        assert_eq!(server.calls("sendMessage").len(), 1);
        assert_eq!(chat.texts(REPLIES).await, [format!("delivered {text}")]);
    }
}

#[tokio::test]
async fn an_answer_whose_end_cannot_be_shown_is_uncertain_and_waits_for_a_person() {
    let server = TelegramServer::start().await;
    let text = long(40);
    server.fault("editMessageText", vec![Fault::Refuse("Bad Request: message to edit not found"); 20]);
    let (chat, _folder) = Chat::start(&server, says([Line::say(&text).over(seconds(4))])).await;
    server.text(OWNER, OWNER, "tell me everything.");
    chat.until("SELECT COUNT(*) FROM outbound WHERE state = 'uncertain' AND parts_done = 0", 1).await;
    assert_eq!(server.calls("sendMessage").len(), 1);
    assert_eq!(chat.texts(REPLIES).await, [format!("uncertain {text}")]);
}

#[tokio::test]
async fn a_beginning_without_an_answer_is_uncertain_and_never_sent_twice() {
    let server = TelegramServer::start().await;
    let text = long(40);
    server.fault("sendMessage", [Fault::CutAfter]);
    let (chat, _folder) = Chat::start(&server, says([Line::say(&text).over(seconds(6))])).await;
    server.text(OWNER, OWNER, "tell me everything.");
    chat.until(ANSWERED, 1).await;
    tokio::time::sleep(seconds(5) / SPEED).await;
    assert_eq!(requests(&server).len(), 1);
    assert_eq!(chat.texts(REPLIES).await, [format!("uncertain {text}")]);
}

#[tokio::test]
async fn a_crash_in_the_middle_goes_on_in_the_same_message() {
    let server = TelegramServer::start().await;
    let (first, second) = (long(40), format!("another wording, {}", long(30)));
    let (chat, folder) = Chat::start(&server, says([Line::say(&first).over(seconds(60))])).await;
    server.text(OWNER, OWNER, "tell me everything.");
    server.until("an edit", |server| !server.calls("editMessageText").is_empty()).await;
    chat.stop().await;
    let chat = Chat::open(&folder, &server, says([Line::say(&second).over(seconds(5))])).await;
    chat.until(ANSWERED, 1).await;
    shows(&server, &second).await;
    chat.until("SELECT COUNT(*) FROM outbound WHERE state = 'delivered'", 1).await;
    assert_eq!(server.calls("sendMessage").len(), 1);
    assert_eq!(chat.texts(REPLIES).await, [format!("delivered {second}")]);
}

#[tokio::test]
async fn a_reply_that_breaks_off_is_written_anew_in_the_same_message() {
    let server = TelegramServer::start().await;
    let text = long(40);
    let broken = Line { error: Some(ScriptedError::Cut), ..Line::say(long(20)).over(seconds(4)) };
    let (chat, _folder) = Chat::start(&server, says([broken, Line::say(&text).over(seconds(4))])).await;
    server.text(OWNER, OWNER, "tell me everything.");
    chat.until(ANSWERED, 1).await;
    shows(&server, &text).await;
    assert_eq!(server.calls("sendMessage").len(), 1);
    chat.until("SELECT COUNT(*) FROM outbound WHERE state = 'delivered'", 1).await;
}

#[tokio::test]
async fn streamed_text_fences_its_turn_and_a_stop_leaves_what_stands() {
    let server = TelegramServer::start().await;
    let options = Options {
        turns: Settings { double_texting: DoubleTexting::Rollback, ..Settings::default() },
        ..says([Line::say(long(40)).over(seconds(30))])
    };
    let (chat, _folder) = Chat::start(&server, options).await;
    server.text(OWNER, OWNER, "tell me everything.");
    server.until("its beginning", |server| server.calls("sendMessage").len() == 1).await;
    assert_eq!(chat.count("SELECT fenced FROM turns").await, 1);
    server.text(OWNER, OWNER, "and this too.");
    chat.until("SELECT COUNT(*) FROM bursts WHERE state = 'queued'", 1).await;
    tokio::time::sleep(seconds(3) / SPEED).await;
    assert_eq!(chat.count("SELECT MAX(epoch) FROM turns").await, 1, "nothing that was read is taken back");
    server.text(OWNER, OWNER, "/stop");
    chat.until("SELECT COUNT(*) FROM turns WHERE ending = 'stopped'", 1).await;
    server.until("the acknowledgement", |server| server.calls("sendMessage").len() == 2).await;
    tokio::time::sleep(seconds(4) / SPEED).await;
    let edits = server.calls("editMessageText").len();
    tokio::time::sleep(seconds(5) / SPEED).await;
    assert_eq!(server.calls("editMessageText").len(), edits, "it grows no more");
    let rows = chat.texts(REPLIES).await;
    let shown = requests(&server).iter().rev().map(Call::text).find(|text| text.starts_with("word1")).unwrap();
    assert_eq!(rows, [format!("delivered {shown}")]);
}

#[tokio::test]
async fn a_claim_is_not_shown_before_it_is_checked() {
    let server = TelegramServer::start().await;
    let claim = format!("I've sent the email to Ana. {}", long(30));
    let script = [Line::say(claim).over(seconds(6)), Line::say("Nothing was sent: shall I?")];
    let (chat, _folder) = Chat::start(&server, says(script)).await;
    server.text(OWNER, OWNER, "write to Ana.");
    chat.until(ANSWERED, 1).await;
    shows(&server, "Nothing was sent: shall I?").await;
    assert_eq!(requests(&server).len(), 1);
}
