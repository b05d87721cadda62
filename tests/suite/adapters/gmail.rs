//! The Gmail API over real HTTP: never two sends, quotas told apart from refusals, lost answers found again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use secrecy::SecretString;
use serde_json::json;
use unavez::domain::action::SendEmail;
use unavez::domain::effect::{EffectState, Outcome, Performed, ReceiptSource};
use unavez::domain::ports::MailSender;
use unavez::domain::time::Wall;
use unavez::mail::compose::Composer;
use unavez::mail::credential::{CredentialError, TokenSource};
use unavez::mail::gmail::{GmailClient, GmailReader, GmailSender};

use crate::support::gmail::{Fault, Server};
use crate::support::post::{Post, mail};

const A: &str = "a@example.test";

/// A new token after each refusal.
#[derive(Default)]
struct Tokens(AtomicU32);

#[async_trait::async_trait]
impl TokenSource for Tokens {
    async fn access_token(&self) -> Result<SecretString, CredentialError> {
        Ok(SecretString::from(format!("ya29.token-{}", self.0.load(Ordering::SeqCst))))
    }
    async fn forget(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn client(server: &Server) -> Arc<GmailClient> {
    Arc::new(GmailClient::new(&server.url(), Arc::new(Tokens::default())).unwrap())
}

fn sender(server: &Server) -> GmailSender {
    GmailSender::new(client(server), "ana@example.test".into(), Composer::new("/nonexistent", ""))
}

async fn send(server: &Server) -> Performed {
    let sender = sender(server);
    let frozen = sender.freeze(&mail(&[A], "Offer", "hello"), "token", Wall(0)).unwrap();
    sender.send(&frozen, &frozen.recipients, None).await
}

fn reason(name: &str) -> serde_json::Value {
    json!({ "error": { "code": 403, "message": "no", "errors": [{ "reason": name, "domain": "global" }] } })
}

#[tokio::test]
async fn a_mail_is_a_draft_and_then_that_draft() {
    let server = Server::start().await;
    let performed = send(&server).await;
    let Outcome::Accepted { receipt } = &performed.outcome else { panic!("{performed:?}") };
    assert_eq!(receipt.provider_id.as_deref(), Some("m2"));
    assert_eq!((server.count("drafts"), server.count("drafts/send"), server.drafts()), (1, 1, 0));
    assert_eq!(server.sent().len(), 1);

    // Hidden copies are in the headers for Gmail, which takes them out.
    let sender = sender(&server);
    let hidden = SendEmail { bcc: vec!["hidden@example.test".into()], ..mail(&[A], "Offer", "hello") };
    let frozen = sender.freeze(&hidden, "token", Wall(0)).unwrap();
    assert!(String::from_utf8_lossy(&frozen.bytes).contains("Bcc: hidden@example.test\r\n"));

    let plain = Server::start().await;
    plain.without_drafts();
    let performed = send(&plain).await;
    assert!(matches!(performed.outcome, Outcome::Accepted { .. }), "{performed:?}");
    assert_eq!((plain.count("messages/send"), plain.sent().len()), (1, 1));
}

#[tokio::test]
async fn case_c18_quotas_pass_and_missing_rights_do_not() {
    for call in ["drafts", "drafts/send"] {
        let server = Server::start().await;
        server.fault(call, Fault::Answer(429, json!({}), Some("30")));
        server.fault(call, Fault::Answer(403, reason("rateLimitExceeded"), None));
        let first = send(&server).await;
        let Outcome::Retryable { retry_after, .. } = first.outcome else { panic!("{first:?}") };
        assert_eq!(retry_after, Some(Duration::from_secs(30)), "{call}");
        let second = send(&server).await;
        assert!(matches!(second.outcome, Outcome::Retryable { .. }), "{call} {second:?}");

        // Asked twice, because a new token could have helped.
        server.fault(call, Fault::Answer(403, reason("insufficientPermissions"), None));
        server.fault(call, Fault::Answer(403, reason("insufficientPermissions"), None));
        let third = send(&server).await;
        let Outcome::Rejected { reason } = third.outcome else { panic!("{call} {third:?}") };
        assert!(reason.contains("sign in again"), "{reason}");
        assert!(server.sent().is_empty());
    }
}

#[tokio::test]
async fn a_refused_token_is_renewed_once() {
    let server = Server::start().await;
    server.fault("drafts", Fault::Answer(401, json!({}), None));
    assert!(matches!(send(&server).await.outcome, Outcome::Accepted { .. }));
    assert_eq!(server.tokens()[..2], ["Bearer ya29.token-0", "Bearer ya29.token-1"]);
    for _ in 0..2 {
        server.fault("drafts", Fault::Answer(401, json!({}), None));
    }
    let performed = send(&server).await;
    assert!(matches!(performed.outcome, Outcome::Rejected { .. }), "{performed:?}");
    assert_eq!(server.sent().len(), 1);
}

#[tokio::test]
async fn what_left_without_an_answer_is_unknown_and_a_draft_is_no_mail() {
    for (call, fault, expected) in [
        ("drafts", Fault::Cut, "retryable"),
        ("drafts", Fault::DoneThenCut, "retryable"),
        ("drafts", Fault::DoneThen(503), "retryable"),
        ("drafts/send", Fault::Cut, "unknown"),
        ("drafts/send", Fault::DoneThenCut, "unknown"),
        ("drafts/send", Fault::DoneThen(503), "unknown"),
        ("drafts/send", Fault::Answer(400, json!({}), None), "rejected"),
    ] {
        let server = Server::start().await;
        server.fault(call, fault.clone());
        let performed = send(&server).await;
        let outcome = match performed.outcome {
            Outcome::Accepted { .. } => "accepted",
            Outcome::Rejected { .. } => "rejected",
            Outcome::Retryable { .. } => "retryable",
            Outcome::Unknown { .. } => "unknown",
        };
        assert_eq!(outcome, expected, "{call} {fault:?}");
        assert!(server.count("drafts/send") <= 1 && server.count("messages/send") == 0, "{call} {fault:?}");
    }
}

#[tokio::test]
async fn case_b12_a_lost_answer_is_found_and_nothing_is_sent_again() {
    for fault in [Fault::DoneThen(503), Fault::DoneThenCut] {
        let (server, dir) = (Server::start().await, tempfile::tempdir().unwrap());
        server.fault("drafts/send", fault);
        let client = client(&server);
        let sender = GmailSender::new(client.clone(), "ana@example.test".into(), Composer::new("/nonexistent", ""));
        let post = Post::with(dir.path(), Arc::new(sender), Some(Arc::new(GmailReader::new(client))));
        let worker = post.work();
        let id = post.send(mail(&[A], "Offer", "hello")).await;
        let row = post.reaches(&id, EffectState::Accepted).await;
        let receipt = row.receipt.unwrap();
        assert_eq!((receipt.source, &receipt.detail["found_in"]), (ReceiptSource::Found, &json!("Sent/m2")));
        assert_eq!((server.count("drafts/send"), server.sent().len(), row.attempts), (1, 1, 1));
        worker.abort();
    }
}

#[tokio::test]
async fn the_same_draft_is_used_again_and_its_absence_is_not_taken_for_a_failure() {
    let (server, dir) = (Server::start().await, tempfile::tempdir().unwrap());
    server.fault("drafts/send", Fault::Answer(429, json!({}), None));
    let client = client(&server);
    let sender = GmailSender::new(client.clone(), "ana@example.test".into(), Composer::new("/nonexistent", ""));
    let post = Post::with(dir.path(), Arc::new(sender), Some(Arc::new(GmailReader::new(client))));
    let worker = post.work();
    let id = post.send(mail(&[A], "Offer", "hello")).await;
    let row = post.reaches(&id, EffectState::Retryable).await;
    assert_eq!(row.provider_id.as_deref(), Some("draft:r-1"));
    post.pass(Duration::from_secs(120)).await;
    let row = post.reaches(&id, EffectState::Accepted).await;
    assert_eq!((server.count("drafts"), server.count("drafts/send"), server.sent().len()), (1, 2, 1));
    assert_eq!(row.provider_id.as_deref(), Some("m2"));
    worker.abort();
}
