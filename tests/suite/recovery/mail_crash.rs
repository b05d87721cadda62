//! SIGKILL of a real process at every named point of an attempt, with a server that stored the mail and one that did not:
//! never a second transaction, and the right state after the restart.
//!
//! The test starts its own binary again as the program that dies; the servers live here.
#![cfg(feature = "proof")]

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use unavez::domain::effect::EffectState;

use crate::support::imap;
use crate::support::post::{Account, Post, mail};
use crate::support::smtp::{Act, At, Mode, Server};

/// Points of one attempt, in order, and what may be true after a death there: (the final dot can have left).
const POINTS: [(&str, bool); 16] = [
    ("guard.admit.after_commit", false),
    ("evidence.claim.before_commit", false),
    ("evidence.claim.after_commit", false),
    ("evidence.before_perform", false),
    ("smtp.before_connect", false),
    ("smtp.after_connect", false),
    ("smtp.after_mail_from", false),
    ("smtp.after_rcpt", false),
    ("smtp.after_data", false),
    ("smtp.before_dot", false),
    ("smtp.after_dot", true),
    ("smtp.after_reply", true),
    ("smtp.before_quit", true),
    ("evidence.after_perform", true),
    ("evidence.result.before_commit", true),
    ("evidence.result.after_commit", true),
];

fn account(smtp: u16, imap: u16) -> Account {
    Account { smtp_port: smtp, imap_port: Some(imap), files_sent: true, patience: Duration::from_secs(20) }
}

/// The program that dies: admits one mail and works on it until the failpoint kills it.
#[tokio::test]
#[ignore = "started by the tests below"]
async fn the_program() {
    let variable = |name: &str| std::env::var(name).unwrap();
    let port = |name: &str| variable(name).parse::<u16>().unwrap();
    let post = Post::open(Path::new(&variable("CRASH_FOLDER")), &account(port("CRASH_SMTP"), port("CRASH_IMAP")));
    let worker = post.work();
    let id = post.send(mail(&["a@example.test"], "Offer", "hello")).await;
    post.until(&id, |row| !matches!(row.state, EffectState::Ready | EffectState::Dispatching)).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    worker.abort();
}

async fn die_at(point: &str, folder: &Path, smtp: &Server, mailbox: &imap::Server) {
    let mut child = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "recovery::mail_crash::the_program", "--ignored", "--nocapture", "--test-threads=1"])
        .env("UNAVEZ_FAILPOINT", format!("{point}=kill"))
        .env("CRASH_FOLDER", folder)
        .env("CRASH_SMTP", smtp.address.port().to_string())
        .env("CRASH_IMAP", mailbox.address.port().to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let status = tokio::time::timeout(Duration::from_secs(60), child.wait()).await.unwrap().unwrap();
    use std::os::unix::process::ExitStatusExt;
    assert_eq!(status.signal(), Some(9), "{point} was not reached: {status:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn case_c15_a_kill_at_every_point_never_makes_a_second_transaction() {
    for (point, dot_left) in POINTS {
        for server_stores in [true, false] {
            if !server_stores && point == "smtp.after_reply" {
                // Passed after an acceptance only; `smtp.before_quit` follows a refusal.
                continue;
            }
            let dir = tempfile::tempdir().unwrap();
            let smtp = Server::start(Mode::Plain, &["8BITMIME"]).await;
            let mailbox = imap::Server::start(Mode::Plain).await;
            mailbox.folder("Sent", "\\Sent");
            if !server_stores {
                smtp.script(At::FinalDot, Act::Reply("451 4.3.0 not stored"));
            }
            die_at(point, dir.path(), &smtp, &mailbox).await;
            // The provider files what it took.
            for stored in smtp.stored() {
                mailbox.put("Sent", stored.data);
            }
            let before = (smtp.complete(), smtp.stored().len());

            let post = Post::open(dir.path(), &account(smtp.address.port(), mailbox.address.port()));
            let id: String = post
                .store
                .read(|connection| {
                    connection
                        .query_row("SELECT id FROM effects", [], |row| row.get(0))
                        .map_err(unavez::store::StoreError::from)
                })
                .await
                .unwrap();
            let id = id.as_str().into();
            let worker = post.work();
            // Three ticks of five minutes, and the schedule of looks.
            for _ in 0..3 {
                tokio::time::sleep(Duration::from_millis(200)).await;
                post.pass(Duration::from_secs(300)).await;
            }
            tokio::time::sleep(Duration::from_millis(300)).await;
            let row = post.row(&id).await;
            let told = format!("{point}, stored {server_stores}: {:?}, before {before:?}", row.state);
            if before.1 == 1 {
                assert_eq!(row.state, EffectState::Accepted, "{told}");
                assert_eq!((smtp.complete(), smtp.stored().len()), (1, 1), "{told}");
            } else if point.starts_with("guard.") || point == "evidence.claim.before_commit" {
                // Never claimed: nothing can have left, it simply goes on.
                assert!(matches!(row.state, EffectState::Accepted | EffectState::Retryable), "{told}");
                assert!(smtp.stored().len() <= 1, "{told}");
            } else if before.0 == 0 || point == "evidence.result.after_commit" {
                // Claimed, and nobody knows: it waits, unless its refusal was on disk.
                assert!(matches!(row.state, EffectState::Unknown | EffectState::Accepted), "{told}");
                assert!(dot_left || row.state == EffectState::Unknown, "{told}");
                assert!(row.state != EffectState::Unknown || smtp.complete() == before.0, "{told}");
                assert!(smtp.stored().len() <= 1, "{told}");
            } else {
                assert_eq!((row.state, smtp.complete()), (EffectState::Unknown, before.0), "{told}");
            }
            worker.abort();
        }
    }
}
