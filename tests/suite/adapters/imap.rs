//! Reading over the wire: searches, exact hits, late indexes, Sent copies, bounces, and what a failure says.

use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use unavez::domain::mail::FrozenMail;
use unavez::domain::ports::{MailReadError, MailReader, Secrets};
use unavez::mail::credential::{Credential, CredentialError, TokenSource};
use unavez::mail::imap::{ImapReader, ImapSettings};
use unavez::mail::net::Tls;
use unavez::runtime::secrets::MemorySecrets;

use crate::support::imap::{PATIENCE, Server};
use crate::support::smtp::Mode;

async fn password() -> Credential {
    let secrets = MemorySecrets::default();
    secrets.set("mail.imap.password", SecretString::from("hunter2hunter2")).await.unwrap();
    Credential::Password { secrets: Arc::new(secrets), name: "mail.imap.password".into() }
}

fn settings(server: &Server, tls: Tls) -> ImapSettings {
    ImapSettings {
        host: "localhost".into(),
        port: server.address.port(),
        tls,
        user: "ana".into(),
        timeout: PATIENCE,
        connect_timeout: PATIENCE,
        roots: server.certificates.roots.clone(),
        ..ImapSettings::default()
    }
}

async fn reader(server: &Server) -> ImapReader {
    ImapReader::new(settings(server, Tls::None), password().await)
}

fn mail(id: &str, subject: &str, text: &str) -> String {
    format!(
        "From: Bo <bo@example.test>\r\nTo: ana@example.test\r\nSubject: {subject}\r\nMessage-ID: {id}\r\n\
         Date: Mon, 30 Nov 2026 10:00:00 +0000\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n{text}\r\n"
    )
}

fn frozen(id: &str) -> FrozenMail {
    let bytes = mail(id, "Offer", "hello").into_bytes();
    FrozenMail::restored(id.into(), "ana@example.test".into(), vec!["bo@example.test".into()], bytes)
}

#[tokio::test]
async fn mails_are_found_and_read_without_touching_them() {
    let server = Server::start(Mode::Plain).await;
    server.put("INBOX", mail("<1@x.test>", "Lunch", "at noon?"));
    server.put("INBOX", mail("<2@x.test>", "Reunión", "mañana a las 9"));
    server.put(
        "INBOX",
        mail("<3@x.test>", "Re: Lunch", "yes").replace("Message-ID", "References: <1@x.test>\r\nMessage-ID"),
    );
    let reader = reader(&server).await;
    let found = reader.search("subject:lunch", 10).await.unwrap();
    assert_eq!(found.iter().map(|mail| mail.subject.as_str()).collect::<Vec<_>>(), ["Re: Lunch", "Lunch"]);
    assert_eq!(reader.search("lunch", 1).await.unwrap().len(), 1);
    let accented = reader.search("reunión", 10).await.unwrap();
    assert_eq!(accented.len(), 1, "words beyond ASCII are compared here");
    let thread = reader.search("thread:<1@x.test>", 10).await.unwrap();
    assert_eq!(thread.len(), 2);

    let read = reader.read(&accented[0].id).await.unwrap();
    assert_eq!(read.text.trim(), "mañana a las 9");
    assert_eq!(
        (read.summary.from.as_str(), read.summary.message_id.as_deref()),
        ("Bo <bo@example.test>", Some("<2@x.test>"))
    );
    assert!(server.mails("INBOX").iter().all(|mail| !mail.seen));
    assert_eq!((server.count("SELECT"), server.count("STORE")), (0, 0));

    server.renumber("INBOX");
    let stale = reader.read(&accented[0].id).await;
    assert!(matches!(stale, Err(MailReadError::NotFound { .. })), "another numbering is another mailbox: {stale:?}");
    for nonsense in ["", "7", "x.y.INBOX", "1.1700000000.No such"] {
        assert!(reader.read(nonsense).await.is_err(), "{nonsense}");
    }
}

#[tokio::test]
async fn case_c14_only_the_exact_id_counts() {
    let server = Server::start(Mode::Plain).await;
    server.folder("Sent", "\\Sent");
    // A search for a@x hits aa@x and a@x.test as well.
    server.put("Sent", mail("<aa@x.test>", "Offer", "other"));
    server
        .put("Sent", mail("<a@x.test.example>", "Offer", "other").replace("Subject", "X-Note: <a@x.test>\r\nSubject"));
    let reader = reader(&server).await;
    assert_eq!(reader.find_sent("<a@x.test>").await.unwrap(), None);
    let uid = server.put("Sent", mail("<a@x.test>", "Offer", "this"));
    assert_eq!(reader.find_sent("<a@x.test>").await.unwrap(), Some(format!("Sent/{uid}")));
    server.blind_searches(4);
    assert_eq!(
        reader.find_sent("<a@x.test>").await.unwrap(),
        Some(format!("Sent/{uid}")),
        "the newest are compared where the index lags"
    );
}

#[tokio::test]
async fn case_c11_a_replaced_id_is_found_by_the_original_one() {
    for header in ["X-Google-Original-Message-ID", "X-Microsoft-Original-Message-ID", "X-Original-Message-ID"] {
        let server = Server::start(Mode::Plain).await;
        server.folder("[Gmail]/Sent Mail", "\\HasNoChildren \\Sent");
        let replaced = mail("<theirs@mail.provider.test>", "Offer", "hello")
            .replace("Subject", &format!("{header}: <ours@example.test>\r\nSubject"));
        let uid = server.put("[Gmail]/Sent Mail", replaced);
        let reader = reader(&server).await;
        let found = reader.find_sent("<ours@example.test>").await.unwrap();
        assert_eq!(found, Some(format!("[Gmail]/Sent Mail/{uid}")), "{header}");
        // It is not the mail of whoever has this original id as a part of another.
        assert_eq!(reader.find_sent("<urs@example.test>").await.unwrap(), None);
    }
}

#[tokio::test]
async fn case_c13_a_copy_is_filed_once() {
    let server = Server::start(Mode::Plain).await;
    server.folder("Elementos enviados", "");
    let reader = reader(&server).await;
    for _ in 0..2 {
        reader.file_sent(&frozen("<a@x.test>")).await.unwrap();
    }
    let filed = server.mails("Elementos enviados");
    assert_eq!((filed.len(), filed[0].seen), (1, true));
    assert_eq!(filed[0].bytes, frozen("<a@x.test>").bytes);

    server.script("APPEND", "NO over quota");
    let refused = reader.file_sent(&frozen("<b@x.test>")).await.unwrap_err();
    assert!(matches!(refused, MailReadError::Refused { .. } | MailReadError::Unreachable { .. }), "{refused:?}");
    let without = Server::start(Mode::Plain).await;
    let nowhere = self::reader(&without).await.file_sent(&frozen("<a@x.test>")).await.unwrap_err();
    assert!(nowhere.to_string().contains("mail.imap.sent"), "{nowhere}");
}

#[tokio::test]
async fn a_configured_folder_wins_over_the_attribute() {
    let server = Server::start(Mode::Plain).await;
    server.folder("Sent", "\\Sent").folder("Entw&APw-rfe", "");
    let settings = ImapSettings { sent: "Entwürfe".into(), ..settings(&server, Tls::None) };
    ImapReader::new(settings, password().await).file_sent(&frozen("<a@x.test>")).await.unwrap();
    assert_eq!((server.mails("Sent").len(), server.mails("Entw&APw-rfe").len()), (0, 1));
}

#[tokio::test]
async fn case_c26_bounces_since_the_last_look() {
    let bounce = |id: &str| {
        format!(
            "From: mailer-daemon@example.test\r\nSubject: Undelivered\r\nMIME-Version: 1.0\r\n\
             Content-Type: multipart/report; report-type=delivery-status; boundary=b\r\n\r\n--b\r\n\
             Content-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; mx\r\n\r\n\
             Final-Recipient: rfc822; a@example.test\r\nAction: failed\r\nStatus: 5.1.1\r\n\r\n--b\r\n\
             Content-Type: text/rfc822-headers\r\n\r\nMessage-ID: {id}\r\n\r\n--b--\r\n"
        )
    };
    let server = Server::start(Mode::Plain).await;
    server.put("INBOX", bounce("<old@x.test>"));
    let reader = reader(&server).await;
    let (first, cursor) = reader.bounces(None).await.unwrap();
    assert!(first.is_empty(), "what was there before counts no more");
    server.put("INBOX", mail("<9@x.test>", "Hi", "delivery-status"));
    server.put("INBOX", bounce("<new@x.test>"));
    let (found, next) = reader.bounces(cursor.as_deref()).await.unwrap();
    assert_eq!(found.iter().map(|bounce| bounce.original_message_id.as_str()).collect::<Vec<_>>(), ["<new@x.test>"]);
    assert!(reader.bounces(next.as_deref()).await.unwrap().0.is_empty());
    server.renumber("INBOX");
    assert_eq!(reader.bounces(next.as_deref()).await.unwrap().0.len(), 2, "renumbered: all are looked at again");
}

struct FixedToken;

#[async_trait::async_trait]
impl TokenSource for FixedToken {
    async fn access_token(&self) -> Result<SecretString, CredentialError> {
        Ok(SecretString::from("ya29.secret-token"))
    }
}

#[tokio::test]
async fn every_way_in_works_and_says_what_failed() {
    for (mode, tls) in [(Mode::Implicit, Tls::Implicit), (Mode::StartTls, Tls::StartTls), (Mode::Plain, Tls::None)] {
        let server = Server::start(mode).await;
        server.folder("Sent", "\\Sent");
        let good = ImapReader::new(settings(&server, tls), password().await);
        assert_eq!(good.check().await.unwrap().as_deref(), Some("Sent"), "{mode:?}");
        if tls != Tls::None {
            let untrusting = ImapSettings { roots: Vec::new(), ..settings(&server, tls) };
            let before = server.count("LOGIN");
            let error = ImapReader::new(untrusting, password().await).check().await.unwrap_err();
            assert!(error.to_string().contains("certificate"), "{error}");
            assert_eq!(server.count("LOGIN"), before, "no password for a stranger");
        }
    }
    let server = Server::start(Mode::Plain).await;
    let token = ImapReader::new(settings(&server, Tls::None), Credential::Token(Arc::new(FixedToken)));
    token.check().await.unwrap();
    // user=ana^Aauth=Bearer ya29.secret-token^A^A
    let sent = "TOKEN dXNlcj1hbmEBYXV0aD1CZWFyZXIgeWEyOS5zZWNyZXQtdG9rZW4BAQ==";
    assert!(server.commands().contains(&sent.to_owned()), "{:?}", server.commands());

    let reader = reader(&server).await;
    server.script("LOGIN", "NO [AUTHENTICATIONFAILED] wrong password hunter2hunter2");
    let refused = reader.check().await.unwrap_err();
    assert!(matches!(refused, MailReadError::Unauthorized { .. }), "{refused:?}");
    assert!(!refused.to_string().contains("hunter2"), "{refused}");
    server.script("LIST", "");
    assert!(matches!(reader.check().await, Err(MailReadError::Unreachable { .. })));
    let closed = ImapSettings { port: 1, ..settings(&server, Tls::None) };
    let error = ImapReader::new(closed, password().await).check().await.unwrap_err();
    assert!(matches!(error, MailReadError::Unreachable { .. }), "{error:?}");
}

#[tokio::test]
async fn new_mail_is_noticed_by_idle() {
    let server = Server::start(Mode::Plain).await;
    let reader = reader(&server).await;
    let (noticed, ()) = tokio::join!(reader.wait_for_mail(None, PATIENCE), async {
        while server.count("IDLE") == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        server.put("INBOX", mail("<1@x.test>", "Hi", "there"));
    });
    assert!(noticed.unwrap());
    assert!(!reader.wait_for_mail(None, Duration::from_millis(100)).await.unwrap(), "nothing came");
}
