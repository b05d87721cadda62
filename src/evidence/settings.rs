//! Settings of the queue, with the defaults of `[evidence]`.

use std::time::Duration;

use jiff::tz::TimeZone;

use crate::domain::language::Language;

#[derive(Clone, Debug)]
pub struct Settings {
    /// Undo time before an approved or automatic mail leaves.
    pub hold: Duration,
    pub max_attempts: u32,
    pub give_up_after: Duration,
    /// Waits between attempts, the last one repeated.
    pub backoff: Vec<Duration>,
    /// First wait after a greylisting reply.
    pub greylist_first: Duration,
    /// When to look for evidence, counted from the moment the effect became unknown.
    pub reconcile: Vec<Duration>,
    /// Mails that may start per hour; retries of a mail do not count again.
    pub mails_per_hour: u32,
    /// Longer than the longest attempt: 10 minutes for the reply to a mail's final dot, and what comes before it.
    pub lease: Duration,
    /// Of the lines that tell an outcome.
    pub language: Language,
    pub zone: TimeZone,
}

impl Default for Settings {
    fn default() -> Self {
        const MINUTE: u64 = 60;
        const HOUR: u64 = 3600;
        let seconds = |list: &[u64]| list.iter().copied().map(Duration::from_secs).collect();
        Self {
            hold: Duration::from_secs(10),
            max_attempts: 8,
            give_up_after: Duration::from_secs(48 * HOUR),
            backoff: seconds(&[MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 4 * HOUR]),
            greylist_first: Duration::from_secs(5 * MINUTE),
            reconcile: seconds(&[0, 30, 2 * MINUTE, 11 * MINUTE, HOUR, 24 * HOUR]),
            mails_per_hour: 30,
            lease: Duration::from_secs(20 * MINUTE),
            language: Language::default(),
            zone: TimeZone::UTC,
        }
    }
}
