//! Settings with the defaults of `[guard]` and `calendar.look_before_create`.

use std::time::Duration;

use jiff::tz::TimeZone;

/// What is done with a call that resembles an earlier one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NearDuplicates {
    Ask,
    Off,
}

#[derive(Clone, Debug)]
pub struct Settings {
    /// From acceptance, half-open: at exactly this age a repetition is fresh.
    pub window: Duration,
    pub near_window: Duration,
    pub near_duplicates: NearDuplicates,
    pub look_before_create: bool,
    /// How long a call waits for the same action in flight.
    pub in_flight_wait: Duration,
    /// How long a calendar may take to answer a look.
    pub look_timeout: Duration,
    /// The user's zone.
    pub zone: TimeZone,
    /// Largest mail: text and HTML, in bytes; what a person can still read through before approving it.
    pub largest_body: usize,
    /// All attachments of a mail or message, in bytes: below what common providers take (25 MB with encoding).
    pub largest_attachments: i64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            window: Duration::from_secs(600),
            near_window: Duration::from_secs(24 * 3600),
            near_duplicates: NearDuplicates::Ask,
            look_before_create: true,
            in_flight_wait: Duration::from_secs(5),
            look_timeout: Duration::from_secs(5),
            zone: TimeZone::UTC,
            largest_body: 1024 * 1024,
            largest_attachments: 18 * 1024 * 1024,
        }
    }
}
