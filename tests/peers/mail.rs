//! Mail through a real Exim and a real Dovecot: sign-in and certificates, greylisting, the copy in Sent, and what settles
//! an unknown.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use unavez::domain::effect::{EffectState, ReceiptSource};
use unavez::domain::ids::EffectId;
use unavez::domain::mail::FrozenMail;
use unavez::domain::ports::{Clock, MailReader};
use unavez::mail::compose::Composer;
use unavez::mail::credential::Credential;
use unavez::mail::imap::{ImapReader, ImapSettings};
use unavez::mail::net::{ExtraRoots, Tls};
use unavez::mail::smtp::{SmtpSender, SmtpSettings};
use unavez::runtime::secrets::MemorySecrets;
use unavez::store::StoreError;

use super::daemon::{Daemon, Place, eventually};
use super::post::{ANA, Post, mail};
use super::servers::{MAIL_PASSWORD, MAIL_USER, MailServers};

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);
/// Long enough for a real server, short enough for one that died.
const PATIENCE: Duration = Duration::from_secs(30);

fn password(value: &str) -> Credential {
    Credential::Password { secrets: Arc::new(MemorySecrets::with([("mail", value)])), name: "mail".into() }
}

impl MailServers {
    fn roots(&self) -> ExtraRoots {
        vec![CertificateDer::from_pem_file(&self.ca).unwrap()]
    }

    fn smtp_settings(&self, tls: Tls) -> SmtpSettings {
        SmtpSettings {
            host: "localhost".into(),
            port: if tls == Tls::Implicit { self.smtp_tls } else { self.smtp },
            tls,
            user: MAIL_USER.into(),
            step_timeout: PATIENCE,
            final_reply_timeout: PATIENCE,
            connect_timeout: PATIENCE,
            roots: self.roots(),
            ..SmtpSettings::default()
        }
    }

    fn sender(&self, tls: Tls) -> SmtpSender {
        sender(self.smtp_settings(tls), password(MAIL_PASSWORD))
    }

    fn reader(&self, tls: Tls) -> Arc<dyn MailReader> {
        let settings = ImapSettings {
            host: "localhost".into(),
            port: if tls == Tls::Implicit { self.imap_tls } else { self.imap },
            tls,
            user: MAIL_USER.into(),
            roots: self.roots(),
            ..ImapSettings::default()
        };
        Arc::new(ImapReader::new(settings, password(MAIL_PASSWORD)))
    }

    /// How often a mail was delivered.
    fn copies(&self, message_id: &str) -> usize {
        self.delivered().iter().filter(|mail| mail.contains(message_id)).count()
    }
}

fn sender(settings: SmtpSettings, credential: Credential) -> SmtpSender {
    SmtpSender::new(settings, credential, ANA.into(), Composer::new("/nonexistent", ""))
}

fn post(folder: &Path, sender: SmtpSender, reader: Option<Arc<dyn MailReader>>) -> Post {
    Post::with(folder, Arc::new(sender), reader)
}

#[tokio::test(flavor = "multi_thread")]
async fn mail_greylisted_by_exim_arrives_once_at_the_second_attempt() {
    let Some(servers) = MailServers::start() else { return };
    let dir = tempfile::tempdir().unwrap();
    let post = post(dir.path(), servers.sender(Tls::StartTls), None);
    let worker = post.work();
    let id = post.send(mail(&["grey-eve@example.test", "bo@example.test"], "Offer", "hello")).await;
    // Bo has it, Eve's part waits for what greylisting wants.
    let row = post.reaches(&id, EffectState::Retryable).await;
    let wait = row.next_attempt.unwrap().since(post.clock.now().elapsed);
    assert!(wait > 4 * MINUTE && wait < 7 * MINUTE, "{wait:?}");
    post.pass(wait + MINUTE).await;
    let row = post.reaches(&id, EffectState::Accepted).await;
    assert_eq!((row.attempts, row.partial), (2, false));
    let message_id = row.message_id.unwrap();
    eventually("both parts are delivered", PATIENCE, || servers.copies(&message_id) == 2);
    let to: Vec<String> = servers.delivered().into_iter().filter(|mail| mail.contains(&message_id)).collect();
    for name in ["grey-eve@", "bo@"] {
        let header = format!("Envelope-to: {name}example.test");
        assert_eq!(to.iter().filter(|mail| mail.contains(&header)).count(), 1, "{name} once");
    }
    worker.abort();
}

/// A server that keeps a mail and says 450 makes two of it. Both have one Message-ID, so that a mailbox can tell.
#[tokio::test(flavor = "multi_thread")]
async fn mail_that_exim_kept_and_denied_goes_again_under_the_same_id() {
    let Some(servers) = MailServers::start() else { return };
    let dir = tempfile::tempdir().unwrap();
    let post = post(dir.path(), servers.sender(Tls::Implicit), None);
    let worker = post.work();
    let id = post.send(mail(&["kept-later-bo@example.test"], "Offer", "hello")).await;
    let row = post.reaches(&id, EffectState::Retryable).await;
    post.pass(HOUR).await;
    let row = post.until(&id, |now| now.attempts == 2 && now.state == EffectState::Retryable && now != &row).await;
    let message_id = row.message_id.unwrap();
    eventually("kept twice", PATIENCE, || servers.copies(&message_id) == 2);
    let body = |mail: &String| mail.split_once("\n\n").map(|(_, body)| body.to_owned());
    let bodies: Vec<_> = servers.delivered().iter().map(body).collect();
    assert_eq!(bodies[0], bodies[1], "the same bytes");
    worker.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn mail_accounts_that_cannot_be_used_say_why_and_send_nothing() {
    let Some(servers) = MailServers::start() else { return };
    for tls in [Tls::StartTls, Tls::Implicit] {
        servers.sender(tls).check().await.unwrap();
        let wrong = sender(servers.smtp_settings(tls), password("wrong")).check().await.unwrap_err();
        assert!(wrong.contains("check user and password"), "{wrong}");
        let stranger = SmtpSettings { roots: Vec::new(), ..servers.smtp_settings(tls) };
        let untrusted = sender(stranger, password(MAIL_PASSWORD)).check().await.unwrap_err();
        assert!(untrusted.contains("no protected connection"), "{untrusted}");
    }
    // Without a sign-in Exim takes nothing.
    let dir = tempfile::tempdir().unwrap();
    let nobody = SmtpSettings { user: String::new(), ..servers.smtp_settings(Tls::StartTls) };
    let post = post(dir.path(), sender(nobody, Credential::None), None);
    let worker = post.work();
    let row = post.reaches(&post.send(mail(&["bo@example.test"], "Offer", "hello")).await, EffectState::Rejected).await;
    assert!(row.last_error.as_deref().unwrap_or_default().contains("authentication required"), "{:?}", row.last_error);
    assert!(servers.delivered().is_empty());
    worker.abort();
}

/// Exim files nothing in Sent, so we do: once, whoever looks after it and how often.
#[tokio::test(flavor = "multi_thread")]
async fn case_c13_mail_stands_once_in_the_sent_folder_of_dovecot() {
    let Some(servers) = MailServers::start() else { return };
    for (tls, subject) in [(Tls::StartTls, "One"), (Tls::Implicit, "Two")] {
        let dir = tempfile::tempdir().unwrap();
        let reader = servers.reader(tls);
        let post = post(dir.path(), servers.sender(tls), Some(reader.clone()));
        let worker = post.work();
        let id = post.send(mail(&["bo@example.test"], subject, "hello")).await;
        let message_id = post.reaches(&id, EffectState::Accepted).await.message_id.unwrap();
        for _ in 0..3 {
            post.aftercare().step().await.unwrap();
        }
        assert!(reader.find_sent(&message_id).await.unwrap().is_some(), "found by its id");
        // Somebody files it once more: what stands there is left alone.
        let again = frozen(&post, &id, &message_id).await;
        reader.file_sent(&again).await.unwrap();
        let found = reader.search(&format!("in:sent subject:{subject}"), 10).await.unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].message_id.as_deref(), Some(message_id.as_str()));
        let read = reader.read(&found[0].id).await.unwrap();
        assert!(read.text.contains("hello"), "{read:?}");
        worker.abort();
    }
}

/// The lost reply: a copy with our exact id in Sent settles it, a longer id with ours inside does not.
#[tokio::test(flavor = "multi_thread")]
async fn case_c14_mail_unknown_to_exim_is_settled_by_dovecot() {
    let Some(servers) = MailServers::start() else { return };
    let dir = tempfile::tempdir().unwrap();
    let reader = servers.reader(Tls::Implicit);
    let post = post(dir.path(), servers.sender(Tls::StartTls), Some(reader.clone()));
    let worker = post.work();
    let id = post.send(mail(&["dot-dies-bo@example.test"], "Offer", "hello")).await;
    let row = post.until(&id, |row| row.state == EffectState::Unknown && row.reconcile_step == 1).await;
    let message_id = row.message_id.unwrap();
    let real = frozen(&post, &id, &message_id).await;

    let longer = format!("<x{}", &message_id[1..]);
    let text = String::from_utf8(real.bytes.clone()).unwrap().replace(&message_id, &longer);
    let decoy = FrozenMail { message_id: longer, bytes: text.into_bytes(), ..real.clone() };
    reader.file_sent(&decoy).await.unwrap();
    post.pass(MINUTE / 2).await;
    post.until(&id, |row| row.reconcile_step == 2).await;
    assert_eq!(post.row(&id).await.state, EffectState::Unknown);

    reader.file_sent(&real).await.unwrap();
    post.pass(2 * MINUTE).await;
    let row = post.reaches(&id, EffectState::Accepted).await;
    assert_eq!((row.receipt.unwrap().source, row.attempts), (ReceiptSource::Found, 1));
    assert_eq!(servers.copies(&message_id), 0, "it was not sent again");
    worker.abort();
}

/// The bytes that were fixed for this effect.
async fn frozen(post: &Post, id: &EffectId, message_id: &str) -> FrozenMail {
    let id = id.clone();
    let bytes: Vec<u8> = post
        .store
        .read(move |connection| {
            connection
                .query_row("SELECT payload FROM effects WHERE id = ?1", [id], |row| row.get(0))
                .map_err(StoreError::from)
        })
        .await
        .unwrap();
    FrozenMail::restored(message_id.to_owned(), ANA.to_owned(), vec!["bo@example.test".to_owned()], bytes)
}

/// The program itself, from the words of a person to the mailbox, with the certificates of the computer.
#[tokio::test(flavor = "multi_thread")]
async fn mail_from_words_to_mailbox_by_the_program_itself() {
    let Some(servers) = MailServers::start() else { return };
    let place = Place::new(&format!(
        r#"
        [assistant]
        language = "en"
        [evidence]
        hold = "0s"
        [mail]
        backend = "smtp"
        from = "Me <{MAIL_USER}>"
        [mail.smtp]
        host = "localhost"
        port = {}
        tls = "starttls"
        user = "{MAIL_USER}"
        password = {{ env = "MAIL_PASSWORD" }}
        [mail.imap]
        host = "localhost"
        port = {}
        user = "{MAIL_USER}"
        password = {{ env = "MAIL_PASSWORD" }}
        "#,
        servers.smtp, servers.imap_tls
    ));
    let ca = servers.ca.to_string_lossy().into_owned();
    let daemon = Daemon::start(&place, &[("MAIL_PASSWORD", MAIL_PASSWORD), ("SSL_CERT_FILE", &ca)]);
    let answer = daemon.say("desk", "Send an email to bo@example.test saying the key is under the mat", None).await;
    let approval = answer.unwrap()["approvals"][0].as_str().unwrap().to_owned();
    assert!(place.run(&["approvals", "approve", &approval]).status.success());
    eventually("the mail is accepted", PATIENCE, || {
        place.count("SELECT count(*) FROM effects WHERE state = 'accepted'") == 1
    });
    let message_id: String = place.read().query_row("SELECT message_id FROM effects", [], |row| row.get(0)).unwrap();
    eventually("the mail is delivered", PATIENCE, || servers.copies(&message_id) == 1);
    let reader = servers.reader(Tls::Implicit);
    let mut filed = false;
    for _ in 0..60 {
        filed = reader.find_sent(&message_id).await.unwrap().is_some();
        if filed {
            break;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    assert!(filed, "the copy is in Sent");
    daemon.stop(PATIENCE);
    assert_eq!(reader.search("in:sent", 10).await.unwrap().len(), 1);
}
