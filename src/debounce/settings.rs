//! Windows per channel, and the playground that explains them.

use std::collections::HashMap;
use std::time::Duration;

use serde::Serialize;
use ts_rs::TS;

use super::signal::{Signal, of_text, window};
use crate::domain::conversation::ChannelKind;

/// Windows of one channel. Zero turns a window off: the message is not waited after.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Windows {
    pub closed: Duration,
    pub neutral: Duration,
    /// After a greeting, a hanging sentence or a text near the length limit.
    pub open: Duration,
    /// After a part of an album, a forward, or media without text.
    pub structural: Duration,
    /// From the first message; bounds a person who keeps typing.
    pub max_wait: Duration,
    pub max_messages: usize,
    /// The channel's longest text in UTF-16 units, if it has one.
    pub text_limit: Option<usize>,
}

impl Default for Windows {
    fn default() -> Self {
        Self {
            closed: Duration::from_millis(1200),
            neutral: Duration::from_millis(2500),
            open: Duration::from_secs(4),
            structural: Duration::from_secs(1),
            max_wait: Duration::from_secs(10),
            max_messages: 50,
            text_limit: None,
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    /// For channels without windows of their own.
    pub windows: Windows,
    pub channels: HashMap<ChannelKind, Windows>,
    /// A message older than this, by its sender's date, makes its burst stale.
    pub stale_after: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { windows: Windows::default(), channels: HashMap::new(), stale_after: Duration::from_secs(3600) }
    }
}

impl Settings {
    pub fn of(&self, channel: ChannelKind) -> Windows {
        let mut windows = self.channels.get(&channel).unwrap_or(&self.windows).clone();
        if windows.text_limit.is_none() {
            windows.text_limit = channel.text_limit();
        }
        windows
    }
}

/// What debounce would do after a text: for the playground.
#[derive(Clone, PartialEq, Debug, Serialize, TS)]
pub struct Explained {
    pub signal: Signal,
    #[serde(rename = "window_ms", serialize_with = "millis")]
    #[ts(rename = "window_ms", type = "number")]
    pub window: Duration,
}

fn millis<S: serde::Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

/// Signal and window of `text` under the general windows.
pub fn explain(text: &str, settings: &Settings) -> Explained {
    let signal = of_text(text, Some(settings.windows.text_limit.unwrap_or(EXPLAINED_LIMIT)));
    Explained { signal, window: window(signal, text, &settings.windows) }
}

/// The strictest limit among the channels.
const EXPLAINED_LIMIT: usize = 4096;
