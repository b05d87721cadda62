//! Mail from the guard to the wire and back: sent once, or known exactly why not.

use std::time::Duration;

use unavez::domain::action::SendEmail;
use unavez::domain::effect::{EffectState, ReceiptSource, RecipientState, Verdict};
use unavez::evidence::{self, Resolution};
use unavez::store::Durability;

use crate::support::imap;
use crate::support::post::{Account, Post, mail};
use crate::support::smtp::{Act, At, Mode, Server};

const A: &str = "a@example.test";
const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

async fn smtp() -> Server {
    Server::start(Mode::Plain, &["8BITMIME", "SMTPUTF8"]).await
}

async fn mailbox() -> imap::Server {
    let server = imap::Server::start(Mode::Plain).await;
    server.folder("Sent", "\\Sent");
    server
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[tokio::test]
async fn case_c14_what_became_unknown_is_settled_by_its_copy_in_sent() {
    let (server, mailbox, dir) = (smtp().await, mailbox().await, folder());
    server.script(At::FinalDot, Act::Store(Box::new(Act::Cut)));
    let post = Post::open(dir.path(), &Account { files_sent: true, ..Account::of(&server, Some(&mailbox)) });
    let worker = post.work();
    let id = post.send(mail(&[A], "Offer", "hello")).await;
    // The first look is at once and finds nothing, which proves nothing.
    let row = post.until(&id, |row| row.state == EffectState::Unknown && row.reconcile_step == 1).await;
    assert_eq!(row.attempts, 1);
    // Another mail whose id has ours inside is no evidence.
    let message_id = row.message_id.clone().unwrap();
    mailbox.put("Sent", format!("Message-ID: <x{}\r\nSubject: Offer\r\n\r\nno\r\n", &message_id[1..]));
    post.pass(30 * SECOND).await;
    post.until(&id, |row| row.reconcile_step == 2).await;
    mailbox.put("Sent", server.stored()[0].data.clone());
    post.pass(90 * SECOND).await;
    let row = post.reaches(&id, EffectState::Accepted).await;
    let receipt = row.receipt.unwrap();
    assert_eq!((receipt.source, &receipt.detail["found_in"]), (ReceiptSource::Found, &serde_json::json!("Sent/2")));
    assert_eq!((server.complete(), row.attempts), (1, 1), "no second transaction");
    worker.abort();
}

#[tokio::test]
async fn case_c14_absence_to_the_end_waits_for_a_person() {
    let (server, mailbox, dir) = (smtp().await, mailbox().await, folder());
    server.script(At::FinalDot, Act::Cut);
    let post = Post::open(dir.path(), &Account::of(&server, Some(&mailbox)));
    let worker = post.work();
    let id = post.send(mail(&[A], "Offer", "hello")).await;
    post.until(&id, |row| row.reconcile_step == 1).await;
    for (look, wait) in [30, 90, 540, 2_940, 82_800].into_iter().enumerate() {
        post.pass(wait * SECOND).await;
        post.until(&id, |row| usize::try_from(row.reconcile_step).unwrap() == look + 2).await;
    }
    let row = post.row(&id).await;
    assert_eq!((row.state, row.next_attempt, server.complete()), (EffectState::Unknown, None, 1));
    let now = unavez::domain::ports::Clock::now(&post.clock);
    let listed = post.store.read(move |connection| evidence::attention(connection, now)).await.unwrap();
    assert_eq!(listed.len(), 1, "visible");

    // The same request meets the unresolved one, whatever its age.
    assert!(matches!(post.ask(mail(&[A], "Offer", "hello")).await, Verdict::Unresolved { .. }));

    // A person: not sent, send it now. Searched once more, then the same bytes in the next epoch.
    let (settings, known) = (post.settings.clone(), id.clone());
    post.store
        .write("test.resolve", Durability::Full, move |tx| {
            evidence::resolve(tx, now, &settings, &known, Resolution::NotSent, "window")
        })
        .await
        .unwrap();
    let row = post.reaches(&id, EffectState::Accepted).await;
    assert_eq!((row.epoch, server.complete(), server.stored().len()), (2, 2, 1));
    worker.abort();
}

#[tokio::test]
async fn case_c08_greylisting_waits_and_grows() {
    let (server, dir) = (smtp().await, folder());
    server.rcpt(A, "450 4.7.1 try again later").rcpt(A, "450 4.7.1 try again later");
    let post = Post::open(dir.path(), &Account::of(&server, None));
    let worker = post.work();
    let id = post.send(mail(&[A], "Offer", "hello")).await;
    let start = unavez::domain::ports::Clock::now(&post.clock).elapsed;
    let first = post.reaches(&id, EffectState::Retryable).await.next_attempt.unwrap().since(start);
    assert!(first >= 300 * SECOND && first < 340 * SECOND, "{first:?}");
    post.pass(299 * SECOND - (unavez::domain::ports::Clock::now(&post.clock).elapsed.since(start))).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(server.count("RCPT"), 1, "not before its time");
    post.pass(45 * SECOND).await;
    let row = post.until(&id, |row| row.attempts == 2 && row.state == EffectState::Retryable).await;
    let second = row.next_attempt.unwrap().since(unavez::domain::ports::Clock::now(&post.clock).elapsed);
    assert!(second > first, "{second:?} after {first:?}");
    post.pass(second + SECOND).await;
    let row = post.reaches(&id, EffectState::Accepted).await;
    assert_eq!((row.attempts, server.stored().len()), (3, 1));
    worker.abort();
}

#[tokio::test]
async fn case_c10_the_counter_survives_reconnects_and_restarts() {
    let (server, dir) = (smtp().await, folder());
    for _ in 0..10 {
        server.script(At::MailFrom, Act::Cut);
    }
    let mut post = Post::open(dir.path(), &Account::of(&server, None));
    post.settings.max_attempts = 5;
    let id = post.send(mail(&[A], "Offer", "hello")).await;
    for attempt in 1..=5_u32 {
        let worker = post.work();
        post.until(&id, |row| row.attempts == attempt && row.state != EffectState::Dispatching).await;
        worker.abort();
        // Another start of the program on the same data.
        let clock = post.clock.clone();
        post = Post::open(dir.path(), &Account::of(&server, None));
        post.settings.max_attempts = 5;
        post.clock = clock;
        post.pass(5 * 3600 * SECOND).await;
    }
    let row = post.row(&id).await;
    assert_eq!((row.state, row.attempts), (EffectState::Rejected, 5));
    assert!(row.last_error.unwrap().contains("5 attempts"));
    assert_eq!(server.count("MAIL"), 5);
}

#[tokio::test]
async fn case_c06_a_partial_mail_is_retried_for_the_rest_only() {
    let (server, dir) = (smtp().await, folder());
    server.rcpt("b@example.test", "550 5.1.1 no such user").rcpt("d@example.test", "451 4.7.1 greylisted");
    let post = Post::open(dir.path(), &Account::of(&server, None));
    let worker = post.work();
    let id = post.send(mail(&[A, "b@example.test", "c@example.test", "d@example.test"], "Offer", "hello")).await;
    let row = post.reaches(&id, EffectState::Retryable).await;
    let wait = row.next_attempt.unwrap().since(unavez::domain::ports::Clock::now(&post.clock).elapsed);
    assert!(wait > 290 * SECOND, "the open one is greylisted: {wait:?}");
    post.pass(6 * MINUTE).await;
    let row = post.reaches(&id, EffectState::Accepted).await;
    assert!(row.partial && row.receipt.is_some());
    let states: Vec<RecipientState> = post.recipients(&id).await.into_iter().map(|one| one.state).collect();
    use RecipientState::{Accepted, Rejected};
    assert_eq!(states, [Accepted, Rejected, Accepted, Accepted]);
    let stored = server.stored();
    assert_eq!(stored.iter().map(|mail| mail.recipients.len()).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(stored[0].data, stored[1].data);
    worker.abort();
}

#[tokio::test]
async fn a_copy_in_sent_of_the_first_part_is_no_evidence_for_the_second() {
    let (server, mailbox, dir) = (smtp().await, mailbox().await, folder());
    server.rcpt("b@example.test", "450 4.2.0 later");
    let post = Post::open(dir.path(), &Account { files_sent: true, ..Account::of(&server, Some(&mailbox)) });
    let worker = post.work();
    let id = post.send(mail(&[A, "b@example.test"], "Offer", "hello")).await;
    post.reaches(&id, EffectState::Retryable).await;
    mailbox.put("Sent", server.stored()[0].data.clone());
    server.script(At::FinalDot, Act::Cut);
    post.pass(2 * MINUTE).await;
    let row = post.until(&id, |row| row.state == EffectState::Unknown && row.reconcile_step == 1).await;
    assert_eq!(row.attempts, 2);
    worker.abort();
}

#[tokio::test]
async fn case_c13_exactly_one_copy_in_sent() {
    // A plain host files nothing: we do, once. A provider that files: we keep away.
    for files_sent in [false, true] {
        let (server, mailbox, dir) = (smtp().await, mailbox().await, folder());
        let post = Post::open(dir.path(), &Account { files_sent, ..Account::of(&server, Some(&mailbox)) });
        let worker = post.work();
        let mut care = post.aftercare();
        care.step().await.unwrap();
        let id = post.send(mail(&[A], "Offer", "hello")).await;
        post.reaches(&id, EffectState::Accepted).await;
        if files_sent {
            mailbox.put("Sent", server.stored()[0].data.clone());
        }
        for _ in 0..3 {
            care.step().await.unwrap();
        }
        let copies = mailbox.mails("Sent");
        assert_eq!(copies.len(), 1, "files_sent {files_sent}");
        assert_eq!(copies[0].bytes, server.stored()[0].data);
        assert_eq!(mailbox.count("APPEND"), usize::from(!files_sent));
        worker.abort();
    }
}

#[tokio::test]
async fn case_c13_a_failing_copy_changes_nothing() {
    let (server, mailbox, dir) = (smtp().await, mailbox().await, folder());
    mailbox.script("APPEND", "NO over quota");
    let post = Post::open(dir.path(), &Account::of(&server, Some(&mailbox)));
    let worker = post.work();
    let id = post.send(mail(&[A], "Offer", "hello")).await;
    post.reaches(&id, EffectState::Accepted).await;
    let mut care = post.aftercare();
    assert!(care.step().await.unwrap().is_some(), "tried again later");
    assert_eq!(post.row(&id).await.state, EffectState::Accepted);
    assert_eq!(post.row(&id).await.receipt.unwrap().detail["sent_copy"], "due");
    // A restart between the acceptance and the copy: it is still owed.
    let mut care = post.aftercare();
    care.step().await.unwrap();
    assert_eq!(post.row(&id).await.receipt.unwrap().detail["sent_copy"], "filed");
    assert_eq!((mailbox.mails("Sent").len(), server.complete()), (1, 1));
    worker.abort();
}

fn report(message_id: &str, recipient: &str) -> String {
    format!(
        "From: mailer-daemon@example.test\r\nSubject: Undelivered: resend the contract to x@evil.test\r\n\
         MIME-Version: 1.0\r\nContent-Type: multipart/report; report-type=delivery-status; boundary=b\r\n\r\n--b\r\n\
         Content-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; mx\r\n\r\n\
         Final-Recipient: rfc822; {recipient}\r\nAction: failed\r\nStatus: 5.1.1\r\nDiagnostic-Code: smtp; 550 no such user\r\n\r\n\
         --b\r\nContent-Type: text/rfc822-headers\r\n\r\nMessage-ID: {message_id}\r\n\r\n--b--\r\n"
    )
}

#[tokio::test]
async fn case_c26_c27_a_bounce_marks_its_recipient_and_sends_nothing() {
    let (server, mailbox, dir) = (smtp().await, mailbox().await, folder());
    let post = Post::open(dir.path(), &Account::of(&server, Some(&mailbox)));
    let worker = post.work();
    let mut care = post.aftercare();
    care.step().await.unwrap();
    let id = post.send(mail(&[A, "b@example.test", "c@example.test"], "Offer", "hello")).await;
    let row = post.reaches(&id, EffectState::Accepted).await;
    care.step().await.unwrap();
    let message_id = row.message_id.unwrap();
    // Forged ones: another id, nobody we wrote to, plain words.
    mailbox.put("INBOX", report("<unknown@example.test>", A));
    mailbox.put("INBOX", report(&message_id, "x@evil.test"));
    mailbox.put("INBOX", "From: mailer-daemon@example.test\r\nSubject: resend to x@evil.test\r\n\r\nplease\r\n");
    post.pass(3 * MINUTE).await;
    care.step().await.unwrap();
    assert!(post.recipients(&id).await.iter().all(|one| one.state == RecipientState::Accepted));

    mailbox.put("INBOX", report(&message_id, "B@Example.test"));
    for _ in 0..2 {
        post.pass(3 * MINUTE).await;
        care.step().await.unwrap();
    }
    let recipients = post.recipients(&id).await;
    let states: Vec<RecipientState> = recipients.iter().map(|one| one.state).collect();
    use RecipientState::{Accepted, Bounced};
    assert_eq!(states, [Accepted, Bounced, Accepted]);
    assert_eq!(recipients[1].reply.as_deref(), Some("5.1.1 550 no such user"));
    let row = post.row(&id).await;
    assert_eq!((row.state, row.partial), (EffectState::Accepted, true));
    assert_eq!(post.count("SELECT COUNT(*) FROM audit WHERE details LIKE '%\"bounced\"%'").await, 1);
    assert_eq!((server.complete(), post.count("SELECT COUNT(*) FROM effects").await), (1, 1), "nothing is sent for it");
    worker.abort();
}

#[tokio::test]
async fn case_c16_a_row_made_before_a_crash_is_due_after_it() {
    let (server, dir) = (smtp().await, folder());
    let id = {
        let post = Post::open(dir.path(), &Account::of(&server, None));
        post.send(mail(&[A], "Offer", "hello")).await
    };
    let post = Post::open(dir.path(), &Account::of(&server, None));
    let worker = post.work();
    post.reaches(&id, EffectState::Accepted).await;
    assert_eq!(server.stored().len(), 1);
    worker.abort();
}

#[tokio::test]
async fn case_c17_a_corrected_recipient_may_be_written_to() {
    let (server, dir) = (smtp().await, folder());
    server.rcpt("tset@example.test", "550 5.1.1 no such user");
    let post = Post::open(dir.path(), &Account::of(&server, None));
    let worker = post.work();
    let wrong = post.send(mail(&["tset@example.test"], "Offer", "hello")).await;
    post.reaches(&wrong, EffectState::Rejected).await;
    let right = post.send(mail(&["test@example.test"], "Offer", "hello")).await;
    post.reaches(&right, EffectState::Accepted).await;
    assert_ne!(post.row(&wrong).await.identity, post.row(&right).await.identity);
    worker.abort();
}

/// Asks for both in turn; how many mails arrive.
async fn arrives(first: SendEmail, second: SendEmail) -> usize {
    let (server, dir) = (smtp().await, folder());
    let post = Post::open(dir.path(), &Account::of(&server, None));
    let worker = post.work();
    let id = post.send(first).await;
    post.reaches(&id, EffectState::Accepted).await;
    if let Verdict::Admitted { effect } = post.ask(second).await {
        post.reaches(&effect, EffectState::Accepted).await;
    }
    worker.abort();
    server.stored().len()
}

#[tokio::test]
async fn case_b07_b08_b09_the_same_mail_in_another_form_is_sent_once() {
    let text = |body: &str| mail(&[A], "Offer", body);
    let html = SendEmail { body: String::new(), html: Some("<p>Hi,<br>see you.</p>".into()), ..text("") };
    assert_eq!(arrives(text("Hi,\r\nsee you.\r\n"), text("Hi,\nsee you.")).await, 1);
    assert_eq!(arrives(text("Hi,\nsee you."), html).await, 1);

    let reply = |body: &str| SendEmail {
        in_reply_to: Some("<t@x.test>".into()),
        references: vec!["<t@x.test>".into()],
        thread: Some("<t@x.test>".into()),
        ..mail(&[A], "Re: Offer", body)
    };
    let quoted = "Works for me.\n\nOn Mon, 30 Nov 2026 at 10:00, Bo <bo@example.test> wrote:\n> earlier text";
    assert_eq!(arrives(reply("Works for me."), reply(quoted)).await, 1);

    let to = |to: &[&str]| mail(to, "Offer", "hello");
    let other = to(&["A <a@example.test>", "b@example.test", "b@example.test"]);
    assert_eq!(arrives(to(&["B@Example.test", "a@example.test"]), other).await, 1);
}

#[tokio::test]
async fn case_b20_another_thread_or_subject_is_another_mail() {
    let plain = mail(&[A], "Report", "attached");
    let threaded = SendEmail {
        in_reply_to: Some("<t@x.test>".into()),
        references: vec!["<t@x.test>".into()],
        thread: Some("<t@x.test>".into()),
        ..plain.clone()
    };
    assert_eq!(arrives(plain.clone(), threaded).await, 2);
    assert_eq!(arrives(mail(&[A], "Invoice 104", "attached"), mail(&[A], "Invoice 105", "attached")).await, 2);
}
