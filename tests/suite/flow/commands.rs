//! The command line against a running instance and against the database alone.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::daemon::{Daemon, Place, eventually};

fn code(output: &std::process::Output) -> i32 {
    output.status.code().unwrap()
}

fn stderr(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Field names in order.
fn fields(row: &Value) -> Vec<&str> {
    row.as_object().unwrap().keys().map(String::as_str).collect()
}

/// One mail that waits for approval, and an event that exists.
async fn with_something_done(daemon: &Daemon) {
    daemon.say("s", "agéndame psicología mañana a las 15:00.", None).await.unwrap();
    let answer = daemon.say("s", "envía un correo a ana@example.test diciendo que llego tarde.", None).await.unwrap();
    assert_eq!(answer["approvals"], json!(["1"]));
}

#[tokio::test]
async fn commands_give_the_same_rows_running_and_stopped() {
    let place = Place::new("[evidence]\nhold = \"0s\"\n");
    let daemon = Daemon::start(&place, &[]);
    with_something_done(&daemon).await;
    let lists: [&[&str]; 7] = [
        &["evidence", "list"],
        &["approvals", "list"],
        &["duplicates", "list"],
        &["calendar", "list"],
        &["conversations", "list"],
        &["conversations", "show", "1"],
        &["audit", "export"],
    ];
    let running: Vec<Vec<Value>> = lists.iter().map(|list| place.rows(list)).collect();
    daemon.stop(Duration::from_secs(10));
    let stopped: Vec<Vec<Value>> = lists.iter().map(|list| place.rows(list)).collect();
    assert_eq!(running, stopped);

    let evidence = &running[0];
    assert_eq!(evidence.len(), 2);
    assert_eq!(
        fields(&evidence[0]),
        [
            "id",
            "tool",
            "account",
            "summary",
            "state",
            "partial",
            "idempotency_key",
            "attempts",
            "next_attempt_at",
            "message_id",
            "provider_id",
            "last_error",
            "conversation_id",
            "turn_id",
            "created_at",
            "updated_at"
        ]
    );
    assert_eq!(
        fields(&running[1][0]),
        [
            "id",
            "effect_id",
            "state",
            "summary",
            "marks",
            "requested_at",
            "expires_at",
            "decided_at",
            "decided_by",
            "surface"
        ]
    );
    assert_eq!(fields(&running[3][0]), ["id", "title", "start", "end", "all_day", "guests", "recurrence", "effect_id"]);
    assert_eq!(running[3][0]["effect_id"], evidence[1]["id"], "the event names the effect that made it");
    let detail = &place.rows(&["evidence", "show", evidence[1]["id"].as_str().unwrap()])[0];
    assert_eq!(detail["attempt_log"][0]["outcome"], "accepted");
    assert_eq!(fields(&detail["attempt_log"][0]), ["n", "phase", "reply", "outcome", "started_at", "ended_at"]);
    assert!(detail["receipt"]["provider_id"].is_string() && detail["intent"]["request"].is_string());
    // Options are taken before and after the command.
    let before = place.run(&["--json", "evidence", "list"]);
    let after = place.run(&["evidence", "list", "--json"]);
    assert_eq!(before.stdout, after.stdout);
}

#[tokio::test]
async fn case_f02_the_first_decision_wins_and_the_second_is_told_so() {
    let place = Place::new("[evidence]\nhold = \"0s\"\n");
    let daemon = Daemon::start(&place, &[]);
    with_something_done(&daemon).await;
    let approved = place.run(&["approvals", "approve", "1"]);
    assert_eq!(code(&approved), 0, "{}", stderr(&approved));
    let denied = place.run(&["approvals", "deny", "#1"]);
    assert_eq!(code(&denied), 1);
    assert!(stderr(&denied).contains("approved already"), "{}", stderr(&denied));
    let row = &place.rows(&["approvals", "list", "--all"])[0];
    assert_eq!((&row["state"], &row["surface"]), (&json!("approved"), &json!("cli")));
    eventually("the mail is written", Duration::from_secs(10), || {
        place.rows(&["evidence", "list", "--state", "accepted"]).iter().any(|row| row["tool"] == "send_email")
    });
    assert_eq!(code(&place.run(&["approvals", "approve", "99"])), 1);
    let settled = place.rows(&["evidence", "list"])[0]["id"].as_str().unwrap().to_owned();
    let resolved = place.run(&["evidence", "resolve", &settled, "not-sent"]);
    assert_eq!(code(&resolved), 1, "settled already");
    assert!(stderr(&resolved).contains("accepted"), "{}", stderr(&resolved));
}

#[tokio::test]
async fn case_f04_an_approval_survives_a_restart() {
    let place = Place::new("[evidence]\nhold = \"0s\"\n");
    let daemon = Daemon::start(&place, &[]);
    with_something_done(&daemon).await;
    daemon.kill();
    assert_eq!(place.rows(&["approvals", "list"]).len(), 1, "the database alone still knows it");
    let daemon = Daemon::start(&place, &[]);
    assert_eq!(code(&place.run(&["approvals", "approve", "1"])), 0);
    eventually("the mail is written", Duration::from_secs(10), || {
        place.rows(&["evidence", "list", "--state", "accepted"]).iter().any(|row| row["tool"] == "send_email")
    });
    daemon.stop(Duration::from_secs(10));
}

#[test]
fn exit_codes_tell_usage_from_failure_from_another_instance() {
    let place = Place::new("");
    for (arguments, expected) in [
        (vec![], 2),
        (vec!["nonsense"], 2),
        (vec!["approvals", "approve"], 2),
        (vec!["evidence", "list", "--state", "gone"], 2),
        (vec!["replay", "no-such-file"], 2),
        (vec!["audit", "export", "--since", "yesterday"], 2),
        (vec!["evidence", "show", "no-such-effect"], 1),
        (vec!["conversations", "show", "7"], 1),
        (vec!["audit", "verify", "no-such-file"], 1),
        (vec!["status"], 0),
        (vec!["--help"], 0),
        (vec!["config", "check"], 0),
    ] {
        let output = place.run(&arguments);
        assert_eq!(code(&output), expected, "{arguments:?}: {}", stderr(&output));
    }
    let _daemon = Daemon::start(&place, &[]);
    assert_eq!(code(&place.run(&["run"])), 3);
    let backup = place.folder.path().join("copy.db");
    assert_eq!(code(&place.run(&["backup", backup.to_str().unwrap()])), 0);
    assert_eq!(code(&place.run(&["restore", backup.to_str().unwrap()])), 3, "only while stopped");
}

#[test]
fn a_broken_configuration_names_file_line_and_key() {
    let place = Place::new("[debounce]\nclosd = \"1s\"\n");
    let output = place.run(&["run"]);
    assert_eq!(code(&output), 2);
    let text = stderr(&output);
    assert!(text.contains("config.toml:2:1: debounce.closd: unknown key closd; allowed: closed"), "{text}");
    let listed = place.run(&["config", "check", "--json"]);
    assert_eq!(code(&listed), 2);
    let problem: Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!((&problem["line"], &problem["key"]), (&json!(2), &json!("debounce.closd")));
    assert!(!place.data().join("unavez.db").exists(), "nothing was touched");
}

#[test]
fn config_show_reads_back_and_holds_no_secret() {
    let place = Place::new("[telegram]\ntoken = { env = \"MY_BOT\" }\n[debounce]\nclosed = \"2s\"\n");
    let output = place.run(&["config", "show"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let table: toml::Table = text.parse().unwrap();
    assert_eq!(table["debounce"]["closed"].as_str(), Some("2s"));
    assert_eq!(table["telegram"]["token"]["env"].as_str(), Some("MY_BOT"));
    let shown = &place.rows(&["config", "show"])[0];
    assert_eq!(shown["http"]["token"], json!({ "env": "UNAVEZ_TEST_TOKEN" }));
    assert!(!text.contains(crate::support::daemon::TOKEN));
}

#[tokio::test]
async fn case_e06_a_second_instance_ends_before_it_touches_anything() {
    let place = Place::new("");
    let daemon = Daemon::start(&place, &[]);
    with_something_done(&daemon).await;
    let before = place.count("SELECT count(*) FROM audit");
    let second = place.run(&["run"]);
    assert_eq!(code(&second), 3);
    assert!(stderr(&second).contains("another instance"), "{}", stderr(&second));
    assert_eq!(place.count("SELECT count(*) FROM audit"), before);
    // The first one goes on, control socket included.
    assert_eq!(place.rows(&["status"])[0]["running"], json!(true));
    daemon.say("s", "qué tengo mañana?", None).await.unwrap();
}

#[test]
fn case_e07_of_two_starts_at_once_exactly_one_runs() {
    let place = Place::new("");
    // The first start creates the database; fifty rounds race for the lock.
    for round in 0..50 {
        let children: Vec<_> = (0..2)
            .map(|_| {
                let mut command = place.command(&["run"]);
                command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null());
                command.spawn().unwrap()
            })
            .collect();
        let mut ready = 0;
        let mut refused = 0;
        let readers: Vec<_> = children
            .into_iter()
            .map(|mut child| {
                std::thread::spawn(move || {
                    let mut line = String::new();
                    let out = child.stdout.take().unwrap();
                    std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).unwrap();
                    (child, line)
                })
            })
            .collect();
        let mut alive = Vec::new();
        for reader in readers {
            let (mut child, line) = reader.join().unwrap();
            if line.starts_with("ready") {
                ready += 1;
                alive.push(child);
            } else {
                refused += i32::from(child.wait().unwrap().code() == Some(3));
            }
        }
        assert_eq!((ready, refused), (1, 1), "round {round}");
        for mut child in alive {
            // SIGKILL: the next start must find no stale lock.
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
    let verdict: String = place.read().query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok");
}
