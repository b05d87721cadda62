//! Conversations and their timeline: what was said and, folded between, what happened.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::domain::conversation::{ChannelKind, ConversationKind};
use crate::domain::effect::EffectState;

#[derive(Clone, PartialEq, Debug, Serialize, TS)]
pub struct ConversationRow {
    pub id: String,
    pub channel: ChannelKind,
    pub kind: ConversationKind,
    pub title: String,
    pub last_text: String,
    pub last_at: i64,
    pub live: Live,
    pub turns_today: i64,
    pub prevented_today: i64,
    /// Why nothing can be delivered here.
    pub unreachable: Option<String>,
}

/// What a conversation is doing right now.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, TS)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Live {
    Idle,
    /// Waiting for the rest of the thought.
    Buffering {
        since: i64,
        until: i64,
        signal: String,
    },
    Thinking {
        since: i64,
    },
    Acting {
        since: i64,
    },
    /// An approval of this conversation waits for a person.
    Waiting {
        approval: String,
    },
}

/// Where to go on reading, older than everything shown. One position per source, so every page is an index walk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, TS)]
pub struct TimelineCursor {
    pub burst: i64,
    pub turn: i64,
    pub outbound: i64,
    /// Decisions are read by when they fell, and by id within one moment.
    pub decided: i64,
    pub approval: i64,
    pub control: i64,
}

#[derive(Clone, PartialEq, Debug, Serialize, TS)]
pub struct TimelinePage {
    /// Oldest first.
    pub entries: Vec<TimelineEntry>,
    pub older: Option<TimelineCursor>,
}

#[derive(Clone, PartialEq, Debug, Serialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TimelineEntry {
    Burst(BurstEntry),
    Turn(TurnEntry),
    Outbound(OutboundEntry),
    Decision(DecisionEntry),
    /// A command or a stop word: handled at once, beside the queue. Also what was discarded or could not be read.
    Control(ControlEntry),
}

#[derive(Clone, PartialEq, Debug, Serialize, TS)]
pub struct BurstEntry {
    pub id: String,
    pub at: i64,
    /// `buffered` while the window runs, then as the burst.
    pub state: String,
    pub messages: Vec<SaidMessage>,
    pub signal: String,
    pub window_ms: i64,
    pub waited_ms: i64,
    pub flush_reason: String,
    pub stale: bool,
    /// The buffer's deadline while it is still open.
    pub until: Option<i64>,
}

#[derive(Clone, PartialEq, Debug, Serialize, TS)]
pub struct SaidMessage {
    pub id: String,
    pub at: i64,
    pub sender: String,
    pub text: String,
    pub edited_from: Option<String>,
    pub forwarded_from: Option<String>,
    pub reply_to: Option<String>,
    /// Names of files, or kinds of media.
    pub media: Vec<String>,
}

#[derive(Clone, PartialEq, Debug, Serialize, TS)]
pub struct TurnEntry {
    pub id: String,
    pub at: i64,
    pub number: i64,
    pub state: String,
    pub ending: Option<String>,
    pub reason: Option<String>,
    pub model: String,
    pub input_tokens: i64,
    pub output_tokens: i64,
    pub millis: i64,
    pub steps: Vec<StepEntry>,
}

#[derive(Clone, PartialEq, Debug, Serialize, TS)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum StepEntry {
    Model {
        millis: i64,
        text: String,
    },
    Tool {
        name: String,
        fields: Vec<ToolField>,
        chip: Chip,
        /// How the new call differs from the first one.
        differing: Vec<String>,
        effect: Option<String>,
        approval: Option<String>,
        millis: i64,
    },
    /// A plain remark of the loop: summary made, correction asked.
    Remark {
        text: String,
    },
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, TS)]
pub struct ToolField {
    pub name: String,
    pub value: String,
}

/// The verdict shown at a tool call. Follows the effect while it moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Chip {
    /// A read, or still running without an effect row.
    Read,
    Running,
    Done,
    /// Written to a file by the maildir backend, not sent.
    Saved,
    Duplicate,
    Differs,
    NeedsApproval,
    Queued,
    Unknown,
    Denied,
    Failed,
    Cancelled,
    Reverted,
}

impl Chip {
    /// Chip of a call whose effect row is in `state`.
    pub fn of_effect(state: EffectState, saves_files: bool) -> Self {
        match state {
            EffectState::AwaitingApproval => Self::NeedsApproval,
            EffectState::Ready | EffectState::Retryable => Self::Queued,
            EffectState::Dispatching => Self::Running,
            EffectState::Unknown => Self::Unknown,
            EffectState::Accepted if saves_files => Self::Saved,
            EffectState::Accepted => Self::Done,
            EffectState::Rejected => Self::Failed,
            EffectState::Denied | EffectState::Expired => Self::Denied,
            EffectState::Cancelled => Self::Cancelled,
            EffectState::Reverted => Self::Reverted,
        }
    }
}

#[derive(Clone, PartialEq, Debug, Serialize, TS)]
pub struct OutboundEntry {
    pub id: String,
    pub at: i64,
    /// `message`, `reply`, `card`, `notice` or `control`.
    pub role: String,
    pub mode: String,
    pub fell_back: bool,
    pub state: String,
    pub content: String,
    pub error: Option<String>,
    pub sent_again: bool,
    pub delivered_at: Option<i64>,
}

#[derive(Clone, PartialEq, Debug, Serialize, TS)]
pub struct DecisionEntry {
    pub id: String,
    pub at: i64,
    pub state: String,
    pub summary: String,
    pub who: Option<String>,
    pub surface: Option<String>,
    pub effect: String,
}

#[derive(Clone, PartialEq, Debug, Serialize, TS)]
pub struct ControlEntry {
    pub id: String,
    pub at: i64,
    pub sender: String,
    pub text: String,
    /// `control`, `discarded` or `failed`.
    pub state: String,
    pub reason: Option<String>,
}

#[derive(Clone, PartialEq, Debug, Serialize, TS)]
pub struct SearchHit {
    pub topic: super::Topic,
    /// Conversation, effect or approval to open.
    pub id: String,
    pub title: String,
    pub snippet: String,
    pub at: i64,
}

/// What a stop did, to be told.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, TS)]
pub struct Stopped {
    pub text: String,
}
