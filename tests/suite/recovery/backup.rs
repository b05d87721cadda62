//! Backup while running, and a restore that does nothing again by itself.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use unavez::audit::invariants;
use unavez::domain::time::{Elapsed, Now, Wall};

use crate::support::daemon::{Daemon, Place, holds_files};

/// Approved mails wait an hour, so that one is under way when the backup is made.
const CONFIG: &str = "[evidence]\nhold = \"1h\"\n";

fn run(place: &Place, arguments: &[&str]) -> String {
    let output = place.run(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn check_clean(database: &Path) {
    let connection = rusqlite::Connection::open(database).unwrap();
    let verdict: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok");
    let now = Now { wall: Wall(0), elapsed: Elapsed(0) };
    let broken = invariants::check(&connection, now, Duration::from_secs(600)).unwrap();
    assert!(broken.is_empty(), "{broken:?}");
}

async fn ask_for_two_mails(daemon: &Daemon) {
    for (name, text) in [("ana", "que llego tarde"), ("leo", "que no voy")] {
        let message = format!("envía un correo a {name}@example.test diciendo {text}.");
        let answer = daemon.say("s", &message, None).await.unwrap();
        assert_eq!(answer["approvals"].as_array().unwrap().len(), 1);
    }
}

fn states(place: &Place) -> Vec<Value> {
    let mut states: Vec<Value> = place.rows(&["evidence", "list"]).iter().map(|row| row["state"].clone()).collect();
    states.sort_by_key(ToString::to_string);
    states
}

#[tokio::test]
async fn after_a_restore_nothing_is_sent_and_nothing_is_hidden() {
    let place = Place::new(CONFIG);
    let daemon = Daemon::start(&place, &[]);
    daemon.say("s", "agéndame psicología mañana a las 15:00.", None).await.unwrap();
    ask_for_two_mails(&daemon).await;
    run(&place, &["approvals", "approve", "1"]);
    assert_eq!(states(&place), [json!("accepted"), json!("awaiting_approval"), json!("ready")]);

    let backup = place.folder.path().join("copy.db");
    run(&place, &["backup", backup.to_str().unwrap()]);
    assert_eq!(std::fs::metadata(&backup).unwrap().permissions().mode() & 0o777, 0o600);
    check_clean(&backup);
    let again = place.run(&["backup", backup.to_str().unwrap()]);
    assert_eq!(again.status.code(), Some(1), "a backup is never written over");

    // Life goes on after the backup, and then the disk is replaced.
    daemon.say("s", "agéndame dentista mañana a las 18:00.", None).await.unwrap();
    daemon.stop(Duration::from_secs(10));
    let told: Value = serde_json::from_str(&run(&place, &["--json", "restore", backup.to_str().unwrap()])).unwrap();
    assert_eq!(told, json!({ "unknown": 1, "expired": 1, "uncertain": 0 }));
    assert_eq!(states(&place), [json!("accepted"), json!("expired"), json!("unknown")]);
    assert!(place.data().join("unavez.db.before-restore").exists());

    let daemon = Daemon::start(&place, &[]);
    // The unknown one is looked for and stays as it is; nothing leaves.
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(states(&place), [json!("accepted"), json!("expired"), json!("unknown")]);
    assert!(!holds_files(&place.data().join("maildir")), "no mail left by itself");
    // It blocks the same mail, whoever asks.
    let answer = daemon.say("s", "envía un correo a ana@example.test diciendo que llego tarde.", None).await.unwrap();
    assert_eq!(answer["approvals"], json!([]), "{answer}");
    assert_eq!(place.rows(&["duplicates", "list"])[0]["verdict"], "unresolved");
    // And a person settles it.
    let unknown = place.rows(&["evidence", "list", "--state", "unknown"])[0]["id"].as_str().unwrap().to_owned();
    run(&place, &["evidence", "resolve", &unknown, "drop"]);
    daemon.stop(Duration::from_secs(10));

    assert_eq!(place.count("SELECT count(*) FROM audit WHERE kind = 'restored'"), 1);
    run(&place, &["audit", "verify"]);
    check_clean(&place.database());
}

#[tokio::test]
async fn a_backup_made_under_load_is_consistent() {
    let place = Place::new("[debounce]\nclosed = \"0s\"\nneutral = \"0s\"\nopen = \"0s\"\n");
    let daemon = Daemon::start(&place, &[]);
    let talk = async {
        for n in 0..30 {
            let hour = 8 + n % 10;
            let message = format!("agéndame cita {n} mañana a las {hour}:00.");
            daemon.say(&format!("s{n}"), &message, None).await.unwrap();
        }
    };
    let copies = async {
        let mut files: Vec<PathBuf> = Vec::new();
        for n in 0..6 {
            let file = place.folder.path().join(format!("copy{n}.db"));
            let mut command = tokio::process::Command::from(place.command(&["backup", file.to_str().unwrap()]));
            assert!(command.status().await.unwrap().success());
            files.push(file);
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
        files
    };
    let ((), files) = tokio::join!(talk, copies);
    for file in &files {
        let connection = rusqlite::Connection::open(file).unwrap();
        let verdict: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(verdict, "ok");
        assert_eq!(unavez::audit::verify(&connection, None).unwrap().bad, None);
    }
    daemon.stop(Duration::from_secs(10));
    check_clean(&place.database());
}

#[test]
fn what_is_no_backup_is_refused_and_changes_nothing() {
    let place = Place::new("");
    run(&place, &["status"]);
    let before = std::fs::read(place.database()).unwrap();
    let file = place.folder.path().join("other");
    std::fs::write(&file, "not a database at all").unwrap();
    for path in [file.to_str().unwrap(), "/nonexistent"] {
        let output = place.run(&["restore", path]);
        assert_eq!(output.status.code(), Some(1));
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.contains("is not a backup"), "{text}");
    }
    let foreign = place.folder.path().join("foreign.db");
    rusqlite::Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    assert_eq!(place.run(&["restore", foreign.to_str().unwrap()]).status.code(), Some(1));
    assert_eq!(std::fs::read(place.database()).unwrap(), before);
}
