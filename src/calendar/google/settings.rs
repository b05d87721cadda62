//! What an account needs beside its sign-in.

use std::time::Duration;

/// What the sign-in has to ask for: reading and writing events, and the list of calendars.
pub const SCOPES: [&str; 2] = [
    "https://www.googleapis.com/auth/calendar.events",
    "https://www.googleapis.com/auth/calendar.calendarlist.readonly",
];

/// Whom Google writes to when an event with guests is created, changed or deleted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SendUpdates {
    #[default]
    All,
    /// Guests that do not use Google Calendar.
    ExternalOnly,
    None,
}

impl SendUpdates {
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::ExternalOnly => "externalOnly",
            Self::None => "none",
        }
    }
}

#[derive(Clone, Debug)]
pub struct Settings {
    pub api_url: String,
    /// Id or name of the default calendar.
    pub calendar: String,
    /// Names the account where it is shown and in identities; the calendar id otherwise.
    pub user: String,
    pub send_updates: SendUpdates,
    pub connect_timeout: Duration,
    pub timeout: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            api_url: "https://www.googleapis.com".into(),
            calendar: "primary".into(),
            user: String::new(),
            send_updates: SendUpdates::default(),
            connect_timeout: Duration::from_secs(10),
            timeout: Duration::from_secs(30),
        }
    }
}
