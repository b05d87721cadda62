//! Effects: what the model asked, what was decided, what happened.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use super::action::Action;
use super::ids::{AccountId, ApprovalId, ConversationId, EffectId, ExactKey, TurnId};

/// State of an effect row. The transitions are in `evidence::machine`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum EffectState {
    AwaitingApproval,
    Ready,
    /// Claimed; the outside may already have been touched.
    Dispatching,
    Retryable,
    /// It may or may not have happened; waits for evidence or a person.
    Unknown,
    Accepted,
    Rejected,
    Denied,
    Expired,
    Cancelled,
    /// Was accepted, then deleted or undone.
    Reverted,
}

impl EffectState {
    pub const ALL: [Self; 11] = [
        Self::AwaitingApproval,
        Self::Ready,
        Self::Dispatching,
        Self::Retryable,
        Self::Unknown,
        Self::Accepted,
        Self::Rejected,
        Self::Denied,
        Self::Expired,
        Self::Cancelled,
        Self::Reverted,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::AwaitingApproval => "awaiting_approval",
            Self::Ready => "ready",
            Self::Dispatching => "dispatching",
            Self::Retryable => "retryable",
            Self::Unknown => "unknown",
            Self::Accepted => "accepted",
            Self::Rejected => "rejected",
            Self::Denied => "denied",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
            Self::Reverted => "reverted",
        }
    }

    /// Still blocks its identity whatever its age.
    pub fn is_live(self) -> bool {
        matches!(self, Self::AwaitingApproval | Self::Ready | Self::Dispatching | Self::Retryable | Self::Unknown)
    }
}

/// What the model (or a person) asked for.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, TS)]
pub struct Intent {
    pub tool: String,
    /// The arguments as the model gave them.
    pub arguments: Value,
    /// The person's words that led to it, shortened.
    pub request: String,
    /// The burst was stale: age of its oldest message in seconds.
    pub stale_seconds: Option<i64>,
}

/// Where the right to ask comes from: a turn's call, or a person's act in a surface.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Origin {
    Turn {
        turn: TurnId,
        epoch: i64,
        /// Position of the call among the turn's tool calls, stable over replays.
        ordinal: i64,
        call_id: String,
    },
    /// "Do it anyway", undo, edit: `act` is unique per act.
    Person { act: String },
}

/// Stored verdict of an admission.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// Inserted as `ready`.
    Admitted {
        effect: EffectId,
    },
    /// Inserted as `awaiting_approval`.
    NeedsApproval {
        effect: EffectId,
        approval: ApprovalId,
        marks: Vec<Mark>,
    },
    /// Policy `deny`: no row.
    Denied {
        reason: String,
    },
    /// The same action waits for a decision already.
    Pending {
        effect: EffectId,
        approval: Option<ApprovalId>,
        differences: Vec<Difference>,
    },
    InFlight {
        effect: EffectId,
        state: EffectState,
        differences: Vec<Difference>,
    },
    /// An earlier attempt may have happened.
    Unresolved {
        effect: EffectId,
        differences: Vec<Difference>,
    },
    /// Done already, within the window.
    Duplicate {
        effect: EffectId,
        receipt: Receipt,
        age_seconds: i64,
        verified: bool,
        differences: Vec<Difference>,
    },
    /// Stands in the calendar already, whoever made it.
    Exists {
        event_id: String,
        effect: Option<EffectId>,
        differences: Vec<Difference>,
    },
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, TS)]
pub struct Difference {
    pub field: String,
    pub first: Value,
    pub now: Value,
}

/// Why a card carries a warning. Names are part of `approvals list`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    NewRecipient,
    UntrustedTarget,
    Stale,
    NearDuplicate,
    Repeat,
    Guests,
}

/// Proof that an effect happened.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, TS)]
pub struct Receipt {
    pub source: ReceiptSource,
    /// Event id, SMTP queue id, draft id...
    pub provider_id: Option<String>,
    /// What stands behind it, for a person: reply line, folder and UID, ETag, path.
    pub detail: Value,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ReceiptSource {
    /// The provider's reply to the request itself.
    Provider,
    /// Found by reading back.
    Found,
    /// A person said so.
    Person,
}

/// What one attempt came to.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    Accepted {
        receipt: Receipt,
    },
    Rejected {
        reason: String,
    },
    /// Nothing happened outside; may be tried again.
    Retryable {
        reason: String,
        #[serde(with = "opt_millis")]
        retry_after: Option<Duration>,
        greylisted: bool,
    },
    /// It may have happened.
    Unknown {
        reason: String,
    },
}

mod opt_millis {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(value: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
        value.map(|d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX)).serialize(serializer)
    }
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(deserializer)?.map(Duration::from_millis))
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum RecipientState {
    Open,
    Accepted,
    Rejected,
    /// Given up: attempts used up or cancelled while open.
    Failed,
    Bounced,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, TS)]
pub struct RecipientResult {
    pub address: String,
    pub state: RecipientState,
    pub reply: Option<String>,
}

/// A finished attempt.
#[derive(Clone, PartialEq, Debug)]
pub struct Performed {
    pub outcome: Outcome,
    /// How far it came: connect, tls, auth, mail_from, rcpt, data, final_dot, request, done.
    pub phase: String,
    /// The provider's words, redacted.
    pub reply: Option<String>,
    /// Mail only; the recipients this attempt spoke of.
    pub recipients: Vec<RecipientResult>,
    /// A handle at the provider that the next attempt and every look get back (a draft that was not sent yet).
    pub provider_id: Option<String>,
}

/// What a target gets to perform or reconcile.
#[derive(Clone, PartialEq, Debug)]
pub struct Dispatch {
    pub effect: EffectId,
    pub key: ExactKey,
    /// Raised by each claim; the first attempt has 1.
    pub epoch: i64,
    pub account: AccountId,
    pub action: Action,
    /// Frozen bytes, if the target made any.
    pub payload: Option<Vec<u8>>,
    pub message_id: Option<String>,
    /// Recipients still open (mail).
    pub open_recipients: Vec<String>,
    /// Provider-side handle stored earlier (draft id), if any.
    pub provider_id: Option<String>,
    /// The admission's look at the target is old, and nobody asked for a second one on purpose: look again for the
    /// same thing before acting (SPEC: "look again at dispatch if more than 60 s passed").
    pub look_first: bool,
}

/// What reading back showed.
#[derive(Clone, PartialEq, Debug)]
pub enum Found {
    Yes {
        receipt: Receipt,
    },
    /// `authoritative`: absence proves that it did not happen.
    No {
        authoritative: bool,
        detail: String,
    },
    Unreachable {
        reason: String,
    },
    /// There is nothing to read.
    CannotTell,
}

/// What a target can prove.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum DedupeClass {
    /// The provider refuses a second effect with our id.
    ClientId,
    /// It can be looked for afterwards.
    Readable,
    Neither,
}

/// Who is told how it ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listener {
    pub conversation: ConversationId,
}
