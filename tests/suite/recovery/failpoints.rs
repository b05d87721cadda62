//! Every gap of the program, killed once: before and after each commit and each foreign call.
//!
//! The gaps are not listed here: a first run without a kill counts them (`UNAVEZ_FAILPOINT_LOG`), so a new one is tried
//! without a line of test. What became of each is one row of a table that a person can read.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use super::world::{Mail, World};

/// The story that passes the gaps: two events, one of them asked for twice, and a mail.
async fn story(mail: Mail) -> World {
    let mut world = World::new(mail).await;
    world.ask_event();
    world.ask_again();
    world.ask_mail();
    world
}

/// Names of the gaps in the order they are first passed, of start and work.
async fn gaps(mail: Mail) -> Vec<String> {
    let world = story(mail).await;
    let log = world.place.folder.path().join("gaps");
    let daemon = world.try_start(&[("UNAVEZ_FAILPOINT_LOG", log.to_string_lossy().into_owned())]).unwrap();
    assert!(world.until_quiet(Duration::from_secs(40)).await, "the story did not come to rest");
    drop(daemon);
    let mut names: Vec<String> = Vec::new();
    for name in std::fs::read_to_string(log).unwrap().lines() {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// One row: killed at its first pass of `gap`, restarted, at rest.
async fn killed_at(mail: Mail, gap: &str) -> (String, Vec<String>) {
    let world = story(mail).await;
    let died = match world.try_start(&[("UNAVEZ_FAILPOINT", gap.to_owned())]) {
        Err(_) => true,
        Ok(daemon) => daemon.wait_for_death(Duration::from_secs(20)),
    };
    let at_death = (world.in_calendar().values().sum::<usize>(), world.delivered().values().sum::<usize>());
    let daemon = world.start();
    let mut faults = world.settle(daemon).await;
    if !died {
        faults.push("it was not passed again".to_owned());
    }
    let letter = world.mails.first().and_then(|subject| world.state_of(subject)).unwrap_or_default();
    let delivered = world.delivered().values().sum::<usize>();
    let row = format!(
        "events {} then {}, mails {} then {} ({letter})",
        at_death.0,
        world.in_calendar().values().sum::<usize>(),
        at_death.1,
        delivered
    );
    (row, faults)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "one run of the program per gap: scripts/proof.sh"]
async fn proof_failpoints() {
    let mut table = String::new();
    let mut wrong = BTreeMap::new();
    let mut count = 0;
    for mail in [Mail::Blind, Mail::Folder] {
        let _ = writeln!(
            table,
            "\nmail {}",
            if mail == Mail::Blind { "by SMTP, unreadable afterwards" } else { "as files, readable afterwards" }
        );
        for gap in gaps(mail).await {
            let (row, faults) = killed_at(mail, &gap).await;
            let _ = writeln!(table, "  {gap:44} {row}{}", if faults.is_empty() { "" } else { "  WRONG" });
            count += 1;
            if !faults.is_empty() {
                wrong.insert(format!("{mail:?} {gap}"), faults);
            }
        }
    }
    println!("{table}");
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(count >= 48, "only {count} gaps in two worlds");
    println!("PROOF failpoints: {count} kills at named gaps, 0 duplicates, 0 losses");
}
