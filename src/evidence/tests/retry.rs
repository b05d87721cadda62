//! When to try again.

use std::time::Duration;

use super::{HOUR, MINUTE, SECOND};
use crate::domain::time::Elapsed;
use crate::evidence::{NextAttempt, Settings, next_attempt};

const START: Elapsed = Elapsed(5_000_000);

fn wait(attempts: u32, retry_after: Option<Duration>, greylisted: bool, fraction: f64) -> Option<Duration> {
    match next_attempt(&Settings::default(), attempts, START, START, retry_after, greylisted, fraction) {
        NextAttempt::At(at) => Some(at.since(START)),
        NextAttempt::GiveUp => None,
    }
}

#[test]
fn the_waits_grow_and_jitter_only_adds() {
    let minutes = [1, 5, 15, 60, 240, 240, 240];
    for (done, minutes) in minutes.into_iter().enumerate() {
        let attempts = u32::try_from(done + 1).unwrap();
        assert_eq!(wait(attempts, None, false, 0.0), Some(MINUTE * minutes));
        let most = wait(attempts, None, false, 1.0).unwrap();
        assert!(most > MINUTE * minutes && most <= (MINUTE * minutes).mul_f64(1.1001), "{most:?}");
    }
    assert_eq!(wait(8, None, false, 0.0), None, "eight attempts are all");
}

#[test]
fn greylisting_waits_five_minutes_first_and_then_longer() {
    let waits: Vec<_> = (1..5).map(|attempts| wait(attempts, None, true, 0.0).unwrap()).collect();
    assert_eq!(waits, [MINUTE * 5, MINUTE * 15, HOUR, HOUR * 4]);
}

#[test]
fn a_providers_wait_is_a_lower_bound() {
    assert_eq!(wait(1, Some(SECOND * 30), false, 0.0), Some(MINUTE));
    assert_eq!(wait(1, Some(HOUR), false, 0.0), Some(HOUR));
}

#[test]
fn after_two_days_nothing_is_tried_again() {
    let settings = Settings::default();
    let late = START.plus(HOUR * 47);
    assert_eq!(next_attempt(&settings, 5, START, late, None, false, 0.0), NextAttempt::GiveUp);
    assert!(matches!(next_attempt(&settings, 1, START, late, None, false, 0.0), NextAttempt::At(_)));
}
