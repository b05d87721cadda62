//! When to try again: pure arithmetic over durable counters.

use std::time::Duration;

use super::settings::Settings;
use crate::domain::time::Elapsed;
use crate::runtime::backoff;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NextAttempt {
    At(Elapsed),
    /// Attempts or time are used up.
    GiveUp,
}

/// After the `attempts`-th attempt (from 1) came back retryable.
///
/// A provider's `retry_after` is a lower bound. After greylisting the waits start at `greylist_first` and go on with
/// the longer ones of the schedule, so that they grow. `fraction` (0..1) adds jitter, never takes away.
pub fn next_attempt(
    settings: &Settings,
    attempts: u32,
    first_attempt: Elapsed,
    now: Elapsed,
    retry_after: Option<Duration>,
    greylisted: bool,
    fraction: f64,
) -> NextAttempt {
    if attempts >= settings.max_attempts {
        return NextAttempt::GiveUp;
    }
    let done = usize::try_from(attempts.saturating_sub(1)).unwrap_or(usize::MAX);
    let wait = if greylisted {
        let mut waits = vec![settings.greylist_first];
        waits.extend(settings.backoff.iter().copied().filter(|wait| *wait > settings.greylist_first));
        backoff::scheduled(&waits, done, fraction)
    } else {
        backoff::scheduled(&settings.backoff, done, fraction)
    };
    let at = now.plus(wait.max(retry_after.unwrap_or_default()));
    if at.since(first_attempt) > settings.give_up_after { NextAttempt::GiveUp } else { NextAttempt::At(at) }
}
