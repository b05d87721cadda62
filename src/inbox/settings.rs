//! Settings of the inbox.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::domain::conversation::ChannelKind;
use crate::domain::language::Language;

/// `telegram.groups`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Groups {
    /// Nothing said in groups reaches the agent.
    #[default]
    Off,
    /// Owners' messages that name or answer the assistant do.
    Mention,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    /// `inbox.stale_after`, by the sender's date.
    pub stale_after: Duration,
    /// Owners by configuration; paired ones are in the table `owners`.
    pub owners: BTreeSet<(ChannelKind, String)>,
    pub groups: Groups,
    /// Of the program's own lines.
    pub language: Language,
    pub zone: jiff::tz::TimeZone,
    /// Voice notes are listened to: their messages wait for the transcript.
    pub hear_voice: bool,
    /// Longest time a poll may take by itself.
    pub poll_timeout: Duration,
    /// A poll that takes this much longer is dead.
    pub poll_grace: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            stale_after: Duration::from_secs(3600),
            owners: BTreeSet::new(),
            groups: Groups::Off,
            language: Language::default(),
            zone: jiff::tz::TimeZone::UTC,
            hear_voice: false,
            poll_timeout: Duration::from_secs(30),
            poll_grace: Duration::from_secs(20),
        }
    }
}
