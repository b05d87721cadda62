//! Two programs on one data folder.

use std::time::Duration;

use crate::support::daemon::{Daemon, Place};

#[test]
fn case_e06_a_second_instance_ends_before_it_touches_anything() {
    let place = Place::new("");
    let first = Daemon::start(&place, &[]);
    let second = place.run(&["run"]);
    assert_eq!(second.status.code(), Some(3), "{second:?}");
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(said.contains("another instance"), "{said}");
    assert!(String::from_utf8_lossy(&second.stdout).is_empty());
    first.stop(Duration::from_secs(5));
    Daemon::start(&place, &[]).stop(Duration::from_secs(5));
}

#[test]
fn case_e07_two_starts_at_once_are_never_two_writers() {
    let place = Place::new("");
    for round in 0..25 {
        let race = |place: &Place| {
            let mut command = place.command(&["run"]);
            command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null());
            command.spawn().unwrap()
        };
        let mut both = [race(&place), race(&place)];
        // The loser ends by itself; the winner is killed hard, as a crash would end it.
        let deadline = std::time::Instant::now() + Duration::from_secs(20);
        let loser = loop {
            let ended = both.iter_mut().position(|child| child.try_wait().unwrap().is_some());
            match ended {
                Some(place) => break place,
                None => assert!(std::time::Instant::now() < deadline, "round {round}: both run"),
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        assert_eq!(both[loser].wait().unwrap().code(), Some(3), "round {round}");
        let winner = &mut both[1 - loser];
        assert!(winner.try_wait().unwrap().is_none(), "round {round}: nobody runs");
        winner.kill().unwrap();
        winner.wait().unwrap();
    }
    // No stale lock, and the database is whole.
    let daemon = Daemon::start(&place, &[]);
    let whole: String = place.read().query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(whole, "ok");
    daemon.stop(Duration::from_secs(5));
}
