//! The decision: when a buffer of messages becomes a burst, and why. Pure.

use std::time::Duration;

use rusqlite::types::{ToSql, ToSqlOutput};

use super::settings::Windows;
use super::signal::{Signal, signal, window};
use crate::domain::ids::InboundId;
use crate::domain::message::Parts;
use crate::domain::time::{Elapsed, Wall};

/// One waiting message.
#[derive(Clone, PartialEq, Debug)]
pub struct Buffered {
    pub id: InboundId,
    pub text: String,
    pub parts: Parts,
    pub received: Elapsed,
    pub sent_at: Wall,
    pub stale: bool,
    /// A due slot of a schedule: nobody is typing the rest of it.
    pub scheduled: bool,
}

impl Buffered {
    /// When the last of it was there: a voice note is as good as typed when its transcript arrives.
    fn complete_at(&self) -> Elapsed {
        self.parts.heard_at.map_or(self.received, |heard| self.received.max(Elapsed(heard)))
    }

    fn words(&self) -> String {
        if self.text.trim().is_empty() { self.parts.heard() } else { self.text.clone() }
    }
}

/// Names as in `bursts.flush_reason`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlushReason {
    Quiet,
    MaxWait,
    MaxMessages,
    /// The time had passed before the program was there.
    Restart,
}

impl FlushReason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Quiet => "quiet",
            Self::MaxWait => "max_wait",
            Self::MaxMessages => "max_messages",
            Self::Restart => "restart",
        }
    }
}

impl ToSql for FlushReason {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.as_str().into())
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decision {
    pub due: Elapsed,
    pub signal: Signal,
    pub window: Duration,
    pub reason: FlushReason,
    /// How many of the messages, from the first.
    pub take: usize,
}

/// When the messages of one buffer, in the order they came, are merged. `None` for an empty buffer.
pub fn decide(messages: &[Buffered], windows: &Windows) -> Option<Decision> {
    let most = windows.max_messages.max(1);
    let taken = &messages[..messages.len().min(most)];
    let (first, last) = (taken.first()?, taken.last()?);
    let (signal, window) = if last.scheduled {
        (Signal::None, Duration::ZERO)
    } else {
        let words = last.words();
        let signal = signal(&words, &last.parts, windows.text_limit);
        (signal, window(signal, &words, windows))
    };
    let complete = taken.iter().map(Buffered::complete_at).max().unwrap_or(last.received);
    let quiet = complete.plus(window);
    let cap = first.received.plus(windows.max_wait);
    let (due, reason) = if taken.len() == most {
        (last.received, FlushReason::MaxMessages)
    } else if taken.iter().any(|message| message.parts.waits_for_transcript()) {
        (cap, FlushReason::MaxWait)
    } else if quiet <= cap {
        (quiet, FlushReason::Quiet)
    } else {
        (cap, FlushReason::MaxWait)
    };
    Some(Decision { due, signal, window, reason, take: taken.len() })
}
