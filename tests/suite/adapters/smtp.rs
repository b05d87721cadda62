//! Sending over the wire: every phase broken in every way, and what the server saw of it.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use secrecy::SecretString;
use unavez::domain::action::SendEmail;
use unavez::domain::effect::{Outcome, Performed, RecipientState};
use unavez::domain::mail::FrozenMail;
use unavez::domain::ports::{MailSender, Secrets};
use unavez::domain::time::Wall;
use unavez::mail::compose::Composer;
use unavez::mail::credential::{Credential, CredentialError, TokenSource};
use unavez::mail::net::Tls;
use unavez::mail::smtp::{SmtpSender, SmtpSettings};
use unavez::runtime::secrets::MemorySecrets;

use crate::support::smtp::{Act, At, Mode, Server};

const EXTENSIONS: &[&str] = &["8BITMIME", "SMTPUTF8", "AUTH PLAIN LOGIN XOAUTH2"];

fn settings(server: &Server) -> SmtpSettings {
    SmtpSettings {
        host: "localhost".into(),
        port: server.address.port(),
        tls: Tls::None,
        step_timeout: Duration::from_secs(2),
        final_reply_timeout: Duration::from_secs(2),
        connect_timeout: Duration::from_secs(2),
        roots: server.certificates.roots.clone(),
        ..SmtpSettings::default()
    }
}

fn sender(settings: SmtpSettings, credential: Credential) -> SmtpSender {
    SmtpSender::new(settings, credential, "ana@example.test".into(), Composer::new("/nonexistent", ""))
}

fn mail(to: &[&str], body: &str) -> SendEmail {
    SendEmail {
        from: "Ana <ana@example.test>".into(),
        to: to.iter().map(|address| (*address).to_owned()).collect(),
        cc: vec![],
        bcc: vec![],
        subject: "Offer".into(),
        body: body.into(),
        html: None,
        attachments: vec![],
        in_reply_to: None,
        references: vec![],
        thread: None,
    }
}

fn frozen(sender: &SmtpSender, mail: &SendEmail) -> FrozenMail {
    sender.freeze(mail, "token", Wall(1_796_000_000_000)).unwrap()
}

async fn send(server: &Server, to: &[&str]) -> Performed {
    let sender = sender(settings(server), Credential::None);
    let frozen = frozen(&sender, &mail(to, "hello"));
    sender.send(&frozen, &frozen.recipients, None).await
}

fn state(performed: &Performed, address: &str) -> RecipientState {
    performed.recipients.iter().find(|result| result.address == address).unwrap().state
}

fn name(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Accepted { .. } => "accepted",
        Outcome::Rejected { .. } => "rejected",
        Outcome::Retryable { .. } => "retryable",
        Outcome::Unknown { .. } => "unknown",
    }
}

const A: &str = "a@example.test";

/// Every step x every way to fail: the outcome, and whether the server could have the mail.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_phase_is_judged_by_what_can_have_left() {
    let before_the_dot = [At::Greeting, At::Ehlo, At::MailFrom, At::AnyRcpt, At::Data, At::Body(40)];
    let mut cases = Vec::new();
    for at in before_the_dot {
        for act in [Act::Cut, Act::Reset, Act::Silence] {
            cases.push((at.clone(), act, "retryable"));
        }
        if !matches!(at, At::Body(_)) {
            cases.push((at.clone(), Act::Reply("421 4.3.2 shutting down"), "retryable"));
            cases.push((at.clone(), Act::Reply("450 4.2.0 later"), "retryable"));
            cases.push((at.clone(), Act::Reply("471 4.7.1 odd code"), "retryable"));
            cases.push((at.clone(), Act::Reply("550 5.1.1 no"), "rejected"));
            cases.push((at.clone(), Act::Reply("571 5.7.1 odd code"), "rejected"));
            cases.push((at, Act::Reply("complete nonsense"), "retryable"));
        }
    }
    for (act, outcome) in [
        (Act::Cut, "unknown"),
        (Act::Reset, "unknown"),
        (Act::Silence, "unknown"),
        (Act::Store(Box::new(Act::Cut)), "unknown"),
        (Act::Store(Box::new(Act::Reset)), "unknown"),
        (Act::Store(Box::new(Act::Silence)), "unknown"),
        (Act::Reply("complete nonsense"), "unknown"),
        (Act::Reply("354 again?"), "unknown"),
        (Act::Reply("451 4.4.2 timeout waiting for data"), "retryable"),
        (Act::Reply("471 4.7.1 odd code"), "retryable"),
        (Act::Reply("554 5.7.1 content rejected"), "rejected"),
        (Act::Reply("571 5.7.1 odd code"), "rejected"),
        (Act::Reply("250 2.0.0 queued as Q9"), "accepted"),
    ] {
        cases.push((At::FinalDot, act, outcome));
    }
    let runs = cases.into_iter().map(|(at, act, expected)| async move {
        let server = Server::start(Mode::Plain, EXTENSIONS).await;
        server.script(at.clone(), act.clone());
        // Larger than what the sockets hold, so that a cut in the body is noticed before its end.
        let body = if matches!(at, At::Body(_)) { "word word\n".repeat(1_500_000) } else { "hello".to_owned() };
        // Only silence is waited out.
        let silent = format!("{act:?}").contains("Silence");
        let wait = Duration::from_secs(if silent { 1 } else { 30 });
        let patient = SmtpSettings { step_timeout: wait, final_reply_timeout: wait, ..settings(&server) };
        let sender = sender(patient, Credential::None);
        let frozen = frozen(&sender, &mail(&[A], &body));
        let performed = sender.send(&frozen, &frozen.recipients, None).await;
        assert_eq!(name(&performed.outcome), expected, "{at:?} {act:?}: {performed:?}");
        if expected == "retryable" || expected == "rejected" {
            assert!(server.stored().is_empty(), "{at:?} {act:?}");
        }
        assert!(server.connections() <= 1, "no attempt repeats itself: {at:?} {act:?}");
    });
    futures::stream::iter(runs).for_each_concurrent(8, |run| run).await;
}

#[tokio::test]
async fn case_c01_a_cut_in_the_body_is_retryable() {
    let server = Server::start(Mode::Plain, EXTENSIONS).await;
    server.script(At::Body(1_000_000), Act::Cut);
    let sender = sender(settings(&server), Credential::None);
    let frozen = frozen(&sender, &mail(&[A], &"word word\n".repeat(1_500_000)));
    let performed = sender.send(&frozen, &frozen.recipients, None).await;
    assert_eq!((name(&performed.outcome), performed.phase.as_str()), ("retryable", "body"), "{performed:?}");
    assert_eq!((server.complete(), state(&performed, A)), (0, RecipientState::Open));
}

#[tokio::test]
async fn case_c02_c03_the_reply_to_the_final_dot_decides() {
    let server = Server::start(Mode::Plain, EXTENSIONS).await;
    server.script(At::FinalDot, Act::Reply("451 4.4.2 Timeout waiting for data"));
    server.script(At::FinalDot, Act::Reply("554 5.7.1 content rejected"));
    let performed = send(&server, &[A]).await;
    assert!(matches!(performed.outcome, Outcome::Retryable { greylisted: false, .. }), "{performed:?}");
    let performed = send(&server, &[A]).await;
    let Outcome::Rejected { reason } = &performed.outcome else { panic!("{performed:?}") };
    assert_eq!(reason, "554 5.7.1 content rejected");
    assert_eq!(performed.phase, "final_dot");
}

#[tokio::test]
async fn case_c04_a_reset_on_quit_changes_nothing() {
    for act in [Act::Reset, Act::Cut, Act::Silence, Act::Reply("500 no")] {
        let server = Server::start(Mode::Plain, EXTENSIONS).await;
        server.script(At::Quit, act);
        let performed = send(&server, &[A]).await;
        let Outcome::Accepted { receipt } = &performed.outcome else { panic!("{performed:?}") };
        assert_eq!(receipt.provider_id.as_deref(), Some("Q1"));
        assert_eq!(receipt.detail["reply"], "250 2.0.0 queued as Q1");
        assert_eq!((server.stored().len(), server.connections()), (1, 1));
    }
}

#[tokio::test]
async fn case_c05_the_final_reply_is_waited_for() {
    let server = Server::start(Mode::Plain, EXTENSIONS).await;
    // Longer than any other step is waited for.
    server.script(At::FinalDot, Act::DelayReply(Duration::from_millis(2_600), "250 OK id=X1"));
    let patient = SmtpSettings { final_reply_timeout: Duration::from_secs(10), ..settings(&server) };
    let sender = sender(patient, Credential::None);
    let frozen = frozen(&sender, &mail(&[A], "hello"));
    let performed = sender.send(&frozen, &frozen.recipients, None).await;
    let Outcome::Accepted { receipt } = &performed.outcome else { panic!("{performed:?}") };
    assert_eq!(receipt.provider_id.as_deref(), Some("X1"));
    assert_eq!(server.stored().len(), 1);
    assert_eq!(SmtpSettings::default().final_reply_timeout, Duration::from_secs(600));
}

#[tokio::test]
async fn case_c06_each_recipient_has_its_own_result() {
    let server = Server::start(Mode::Plain, EXTENSIONS).await;
    server.rcpt("b@example.test", "550 5.1.1 no such user").rcpt("d@example.test", "450 4.2.1 busy");
    let to = ["a@example.test", "b@example.test", "c@example.test", "d@example.test"];
    let sender = sender(settings(&server), Credential::None);
    let frozen = frozen(&sender, &mail(&to, "hello"));
    let performed = sender.send(&frozen, &frozen.recipients, None).await;
    assert_eq!(name(&performed.outcome), "accepted", "with the receipt of a and c: {performed:?}");
    let states: Vec<RecipientState> = to.iter().map(|address| state(&performed, address)).collect();
    use RecipientState::{Accepted, Open, Rejected};
    assert_eq!(states, [Accepted, Rejected, Accepted, Open]);
    assert_eq!(performed.recipients[1].reply.as_deref(), Some("550 5.1.1 no such user"));
    assert_eq!(performed.recipients[0].reply.as_deref(), Some("250 2.0.0 queued as Q1"));

    // The retry speaks of nobody else, with the same bytes.
    let performed = sender.send(&frozen, &["d@example.test".to_owned()], None).await;
    assert_eq!(name(&performed.outcome), "accepted");
    let stored = server.stored();
    assert_eq!(stored[0].recipients, ["a@example.test", "c@example.test"]);
    assert_eq!(stored[1].recipients, ["d@example.test"]);
    assert_eq!(stored[0].data, stored[1].data);
}

#[tokio::test]
async fn case_c07_without_a_recipient_there_is_no_data() {
    let server = Server::start(Mode::Plain, EXTENSIONS).await;
    server.rcpt(A, "550 5.1.1 no").rcpt("b@example.test", "553 5.1.3 no");
    let performed = send(&server, &[A, "b@example.test"]).await;
    assert_eq!((name(&performed.outcome), server.count("DATA")), ("rejected", 0));
}

#[tokio::test]
async fn case_c08_c09_greylisting_is_known_and_the_first_digit_decides() {
    let server = Server::start(Mode::Plain, EXTENSIONS).await;
    server.rcpt(A, "450 4.7.1 try again later").rcpt(A, "422 4.2.2 Greylisted");
    server.script(At::MailFrom, Act::Delay(Duration::ZERO)).script(At::MailFrom, Act::Delay(Duration::ZERO));
    server.script(At::MailFrom, Act::Reply("451 4.7.1 greylisted, come back"));
    for _ in 0..3 {
        let performed = send(&server, &[A]).await;
        assert!(matches!(performed.outcome, Outcome::Retryable { greylisted: true, .. }), "{performed:?}");
    }
    assert_eq!(server.count("DATA"), 0);
}

#[tokio::test]
async fn case_c11_the_provider_s_own_id_is_kept() {
    let server = Server::start(Mode::Plain, EXTENSIONS).await;
    server.script(At::FinalDot, Act::Reply("250 Ok 010f-abc-000000"));
    let performed = send(&server, &[A]).await;
    let Outcome::Accepted { receipt } = &performed.outcome else { panic!("{performed:?}") };
    assert_eq!(receipt.provider_id.as_deref(), Some("010f-abc-000000"));
    assert!(receipt.detail["provider_message_id"].is_null(), "an unknown provider's rule is not invented");
}

#[tokio::test]
async fn case_c12_every_attempt_sends_the_same_bytes() {
    let server = Server::start(Mode::Plain, EXTENSIONS).await;
    server.script(At::FinalDot, Act::Reply("451 4.3.0 later"));
    let sender = sender(settings(&server), Credential::None);
    let frozen = frozen(&sender, &mail(&[A], "hello"));
    for _ in 0..2 {
        sender.send(&frozen, &frozen.recipients, None).await;
    }
    assert_eq!((server.complete(), server.stored().len()), (2, 1));
    assert_eq!(server.stored()[0].data, frozen.bytes);
}

#[tokio::test]
async fn case_c19_c20_nothing_hostile_reaches_the_server() {
    let server = Server::start(Mode::Plain, EXTENSIONS).await;
    let sender = sender(settings(&server), Credential::None);
    for subject in ["Hi\r\nBcc: x@evil.test", "Hi\rBcc: x@evil.test", "=?utf-8?Q?Hi=0D=0ABcc:_x@evil.test?="] {
        let hostile = SendEmail { subject: subject.into(), ..mail(&[A], "hello") };
        assert!(sender.freeze(&hostile, "token", Wall(0)).is_err());
    }
    // An encoded word without a line break is text like any other: shown as written, never decoded into a header.
    let odd = SendEmail { subject: "=?utf-8?Q?Hi_Bcc:?=".into(), ..mail(&[A], "hello") };
    let frozen = frozen(&sender, &odd);
    sender.send(&frozen, &frozen.recipients, None).await;
    assert_eq!((server.count("RCPT"), server.stored().len()), (1, 1));
    let text = String::from_utf8_lossy(&server.stored()[0].data).to_lowercase();
    assert!(!text.contains("\r\nbcc:"), "{text}");
}

#[tokio::test]
async fn case_c21_c22_dots_and_line_ends_arrive_as_written() {
    for (body, expected) in [
        ("hello\r\n.\r\nworld\r\n.test\r\n..x", "hello\r\n.\r\nworld\r\n.test\r\n..x\r\n"),
        ("a\n.\nb", "a\r\n.\r\nb\r\n"),
        (".\n..\n...\n", ".\r\n..\r\n...\r\n"),
        ("a\r.\rb\r\n", "a\r\n.\r\nb\r\n"),
        ("ends\n\n.\n", "ends\r\n\r\n.\r\n"),
    ] {
        let server = Server::start(Mode::Plain, EXTENSIONS).await;
        let sender = sender(settings(&server), Credential::None);
        let frozen = frozen(&sender, &mail(&[A], body));
        sender.send(&frozen, &frozen.recipients, None).await;
        let stored = server.stored();
        assert_eq!(stored.len(), 1, "one message: {body:?}");
        assert_eq!(stored[0].data, frozen.bytes);
        let text = String::from_utf8(stored[0].data.clone()).unwrap();
        assert_eq!(text.split_once("\r\n\r\n").unwrap().1, expected, "{body:?}");
        let wire = String::from_utf8(stored[0].wire.clone()).unwrap();
        assert!(!wire.replace("\r\n", "").contains(['\r', '\n']), "canonical line ends only");
        let inner = wire.strip_suffix("\r\n.\r\n").unwrap();
        assert!(inner.split("\r\n").all(|line| !line.starts_with('.') || line.starts_with("..")), "stuffed: {wire}");
    }
}

#[tokio::test]
async fn case_c23_a_domain_goes_out_in_ascii() {
    let server = Server::start(Mode::Plain, &[]).await;
    let performed = send(&server, &["a@bücher.test"]).await;
    assert_eq!(name(&performed.outcome), "accepted");
    assert_eq!(server.stored()[0].recipients, ["a@xn--bcher-kva.test"]);
    assert_eq!(server.stored()[0].parameters, "");
}

#[tokio::test]
async fn case_c24_letters_beyond_ascii_need_smtputf8() {
    let without = Server::start(Mode::Plain, &["8BITMIME"]).await;
    let performed = send(&without, &["jörg@example.test"]).await;
    let Outcome::Rejected { reason } = &performed.outcome else { panic!("{performed:?}") };
    assert!(reason.contains("SMTPUTF8"), "{reason}");
    assert_eq!(without.count("MAIL"), 0);

    let with = Server::start(Mode::Plain, EXTENSIONS).await;
    let performed = send(&with, &["jörg@example.test"]).await;
    assert_eq!(name(&performed.outcome), "accepted", "{performed:?}");
    let stored = &with.stored()[0];
    assert_eq!(stored.recipients, ["jörg@example.test"]);
    assert_eq!(stored.parameters, "BODY=8BITMIME SMTPUTF8");
    assert!(String::from_utf8_lossy(&stored.data).contains("To: jörg@example.test\r\n"));

    // Only a hidden copy needs it: the others get the mail.
    let sender = sender(settings(&without), Credential::None);
    let frozen = frozen(&sender, &SendEmail { bcc: vec!["jörg@example.test".into()], ..mail(&[A], "hello") });
    let performed = sender.send(&frozen, &frozen.recipients, None).await;
    assert_eq!(name(&performed.outcome), "accepted", "{performed:?}");
    assert_eq!(state(&performed, "jörg@example.test"), RecipientState::Rejected);
    assert_eq!(without.stored()[0].recipients, [A]);
}

async fn secrets() -> Credential {
    let secrets = MemorySecrets::default();
    secrets.set("mail.smtp.password", SecretString::from("hunter2hunter2")).await.unwrap();
    Credential::Password { secrets: Arc::new(secrets), name: "mail.smtp.password".into() }
}

#[tokio::test]
async fn tls_both_ways_with_a_real_certificate_check() {
    for (mode, tls) in [(Mode::Implicit, Tls::Implicit), (Mode::StartTls, Tls::StartTls)] {
        let server = Server::start(mode, EXTENSIONS).await;
        let with = |settings: SmtpSettings| SmtpSettings { tls, user: "ana".into(), ..settings };
        let good = sender(with(settings(&server)), secrets().await);
        let mail = frozen(&good, &mail(&[A], "hello"));
        let performed = good.send(&mail, &mail.recipients, None).await;
        assert_eq!(name(&performed.outcome), "accepted", "{mode:?} {performed:?}");
        // \0ana\0hunter2hunter2
        assert!(server.commands().iter().any(|line| line == "AUTH PLAIN AGFuYQBodW50ZXIyaHVudGVyMg=="), "{mode:?}");

        // Not trusted, and trusted for another name: nothing is said to it, and the reason is in words.
        let stranger = sender(SmtpSettings { roots: Vec::new(), ..with(settings(&server)) }, secrets().await);
        let impostor = Server::start_as("elsewhere.test", mode, EXTENSIONS).await;
        for (server, sender) in [(&server, stranger), (&impostor, sender_for(&impostor, tls).await)] {
            let before = server.count("AUTH");
            let performed = sender.send(&mail, &mail.recipients, None).await;
            assert_eq!((name(&performed.outcome), performed.phase.as_str()), ("retryable", "tls"), "{performed:?}");
            assert!(performed.reply.unwrap().contains("certificate"));
            assert_eq!(server.count("AUTH"), before);
        }
    }
}

async fn sender_for(server: &Server, tls: Tls) -> SmtpSender {
    sender(SmtpSettings { tls, user: "ana".into(), ..settings(server) }, secrets().await)
}

#[tokio::test]
async fn a_server_without_starttls_gets_no_password() {
    let server = Server::start(Mode::Plain, EXTENSIONS).await;
    let sender = sender_for(&server, Tls::StartTls).await;
    let mail = frozen(&sender, &mail(&[A], "hello"));
    let performed = sender.send(&mail, &mail.recipients, None).await;
    assert_eq!((name(&performed.outcome), performed.phase.as_str()), ("retryable", "tls"), "{performed:?}");
    assert_eq!((server.count("AUTH"), server.count("MAIL")), (0, 0));
}

struct FixedToken;

#[async_trait::async_trait]
impl TokenSource for FixedToken {
    async fn access_token(&self) -> Result<SecretString, CredentialError> {
        Ok(SecretString::from("ya29.secret-token"))
    }
}

#[tokio::test]
async fn every_sign_in_works_and_its_refusal_hides_the_secret() {
    let login = Server::start(Mode::Plain, &["AUTH LOGIN"]).await;
    let sender_login = sender_for(&login, Tls::None).await;
    assert_eq!(sender_login.check().await, Ok(()));
    assert!(login.commands().contains(&"aHVudGVyMmh1bnRlcjI=".to_owned()));

    let token = Server::start(Mode::Plain, &["AUTH XOAUTH2"]).await;
    let settings_token = SmtpSettings { user: "ana@example.test".into(), ..settings(&token) };
    let with_token = sender(settings_token, Credential::Token(Arc::new(FixedToken)));
    assert_eq!(with_token.check().await, Ok(()));
    assert_eq!(token.count("AUTH XOAUTH2"), 1);
    // {"status":"401","schemes":"Bearer"}
    token.script(At::Auth, Act::Reply("334 eyJzdGF0dXMiOiI0MDEiLCJzY2hlbWVzIjoiQmVhcmVyIn0="));
    let words = with_token.check().await.unwrap_err();
    assert!(words.contains("refused the sign-in") && words.contains("401"), "{words}");

    let refusing = Server::start(Mode::Plain, EXTENSIONS).await;
    refusing.script(At::Auth, Act::Reply("535 5.7.8 bad password hunter2hunter2 for ana"));
    let sender = sender_for(&refusing, Tls::None).await;
    let mail = frozen(&sender, &mail(&[A], "hello"));
    let performed = sender.send(&mail, &mail.recipients, None).await;
    let Outcome::Rejected { reason } = &performed.outcome else { panic!("{performed:?}") };
    assert!(reason.contains("sign-in") && reason.contains("5.7.8"), "{reason}");
    assert!(!format!("{performed:?}").contains("hunter2"), "{performed:?}");
    assert_eq!(refusing.count("MAIL"), 0);
}

#[tokio::test]
async fn what_cannot_be_reached_is_retryable_and_another_computer_needs_tls() {
    let closed = {
        let server = Server::start(Mode::Plain, EXTENSIONS).await;
        SmtpSettings { port: 1, ..settings(&server) }
    };
    let unreachable = sender(closed, Credential::None);
    let mail = frozen(&unreachable, &mail(&[A], "hello"));
    let performed = unreachable.send(&mail, &mail.recipients, None).await;
    assert_eq!((name(&performed.outcome), performed.phase.as_str()), ("retryable", "connect"), "{performed:?}");
}
