//! What an account needs.

use std::time::Duration;

use secrecy::SecretString;

/// One CalDAV account.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `https://dav.example.org/calendars/`, `dav.example.org`, or `name@example.org`.
    pub url: String,
    /// Empty: no sign-in.
    pub user: String,
    pub password: Option<SecretString>,
    /// Display name, path or last part of the path of the default calendar; the first writable one if empty.
    pub calendar: String,
    /// Named as organizer of events with guests; the user, if that is an address, when empty.
    pub organizer: String,
    pub connect_timeout: Duration,
    /// For a whole request, from its first byte to the last of the answer.
    pub timeout: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            url: String::new(),
            user: String::new(),
            password: None,
            calendar: String::new(),
            organizer: String::new(),
            connect_timeout: Duration::from_secs(10),
            timeout: Duration::from_secs(30),
        }
    }
}

impl Settings {
    pub(super) fn organizer(&self) -> Option<String> {
        [&self.organizer, &self.user].into_iter().find(|text| text.contains('@')).cloned()
    }
}
