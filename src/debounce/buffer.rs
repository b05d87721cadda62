//! The decision: when a buffer of messages becomes a burst, and why. Pure.

use std::time::Duration;

use rusqlite::types::{ToSql, ToSqlOutput};

use super::settings::Windows;
use super::signal::{Signal, signal, window};
use crate::domain::ids::InboundId;
use crate::domain::message::{Parts, Transcript};
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
    fn waits_for_transcript(&self) -> bool {
        self.parts.media.iter().any(|media| matches!(media.transcript, Some(Transcript::Pending)))
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
        let signal = signal(&last.text, &last.parts, windows.text_limit);
        (signal, window(signal, &last.text, windows))
    };
    let quiet = last.received.plus(window);
    let cap = first.received.plus(windows.max_wait);
    let (due, reason) = if taken.len() == most {
        (last.received, FlushReason::MaxMessages)
    } else if taken.iter().any(Buffered::waits_for_transcript) {
        (cap, FlushReason::MaxWait)
    } else if quiet <= cap {
        (quiet, FlushReason::Quiet)
    } else {
        (cap, FlushReason::MaxWait)
    };
    Some(Decision { due, signal, window, reason, take: taken.len() })
}
