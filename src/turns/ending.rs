//! How turns end, as stored.

use serde::{Deserialize, Serialize};

/// Column `turns.ending`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, ts_rs::TS)]
#[serde(rename_all = "snake_case")]
#[ts(rename = "TurnEnding")]
pub enum Ending {
    Answered,
    /// A person stopped it.
    Stopped,
    /// A new message took its place, its partial state stays.
    Interrupted,
    Failed,
    Limited,
}

impl Ending {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Stopped => "stopped",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
            Self::Limited => "limited",
        }
    }
}

/// Why a turn ended without the model's own answer. A variant exists because the person is told something else.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Reason {
    /// Tried again until there was no point.
    ModelUnavailable {
        detail: String,
    },
    ModelCut,
    ModelUnauthorized {
        detail: String,
    },
    ModelRefused {
        detail: String,
    },
    /// Longer than the model reads, even after summarising.
    TooLong,
    /// The model answered nothing, twice.
    NoAnswer,
    TooManyCalls {
        limit: u32,
    },
    TooLongTime {
        seconds: u64,
    },
    TooManyTokens {
        limit: i64,
    },
    /// The same calls with the same results again and again.
    Loop {
        tool: String,
    },
    Budget {
        per_day: String,
    },
    StoppedByPerson,
    NewMessage,
    /// A fault of the program itself; the detail is in the log.
    Fault {
        detail: String,
    },
}

impl Reason {
    pub fn ending(&self) -> Ending {
        match self {
            Self::ModelUnavailable { .. }
            | Self::ModelCut
            | Self::ModelUnauthorized { .. }
            | Self::ModelRefused { .. }
            | Self::TooLong
            | Self::NoAnswer
            | Self::Fault { .. } => Ending::Failed,
            Self::TooManyCalls { .. }
            | Self::TooLongTime { .. }
            | Self::TooManyTokens { .. }
            | Self::Loop { .. }
            | Self::Budget { .. } => Ending::Limited,
            Self::StoppedByPerson => Ending::Stopped,
            Self::NewMessage => Ending::Interrupted,
        }
    }
}

/// The last step of a turn.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Closing {
    pub ending: Ending,
    /// What was said at the end; empty when the message tool had said it all.
    #[serde(default)]
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
}
