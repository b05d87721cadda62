//! What an audit entry says.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use ts_rs::TS;

use crate::domain::ids::{ConversationId, EffectId, TurnId};

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    MessageReceived,
    MessageDiscarded,
    BurstMerged,
    TurnStarted,
    TurnEnded,
    EffectAdmitted,
    DuplicatePrevented,
    NearDuplicateHeld,
    ApprovalRequested,
    ApprovalDecided,
    ApprovalExpired,
    EffectDispatched,
    EffectOutcome,
    EffectReconciled,
    MessageDelivered,
    Stopped,
    SettingChanged,
    SecretUsed,
    SenderRefused,
    Restored,
}

impl Kind {
    pub const ALL: [Self; 20] = [
        Self::MessageReceived,
        Self::MessageDiscarded,
        Self::BurstMerged,
        Self::TurnStarted,
        Self::TurnEnded,
        Self::EffectAdmitted,
        Self::DuplicatePrevented,
        Self::NearDuplicateHeld,
        Self::ApprovalRequested,
        Self::ApprovalDecided,
        Self::ApprovalExpired,
        Self::EffectDispatched,
        Self::EffectOutcome,
        Self::EffectReconciled,
        Self::MessageDelivered,
        Self::Stopped,
        Self::SettingChanged,
        Self::SecretUsed,
        Self::SenderRefused,
        Self::Restored,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::MessageReceived => "message_received",
            Self::MessageDiscarded => "message_discarded",
            Self::BurstMerged => "burst_merged",
            Self::TurnStarted => "turn_started",
            Self::TurnEnded => "turn_ended",
            Self::EffectAdmitted => "effect_admitted",
            Self::DuplicatePrevented => "duplicate_prevented",
            Self::NearDuplicateHeld => "near_duplicate_held",
            Self::ApprovalRequested => "approval_requested",
            Self::ApprovalDecided => "approval_decided",
            Self::ApprovalExpired => "approval_expired",
            Self::EffectDispatched => "effect_dispatched",
            Self::EffectOutcome => "effect_outcome",
            Self::EffectReconciled => "effect_reconciled",
            Self::MessageDelivered => "message_delivered",
            Self::Stopped => "stopped",
            Self::SettingChanged => "setting_changed",
            Self::SecretUsed => "secret_used",
            Self::SenderRefused => "sender_refused",
            Self::Restored => "restored",
        }
    }
}

/// Who did it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Actor {
    /// The program itself.
    System,
    /// The model, within a turn.
    Model,
    /// A person, as `surface:who`, e.g. `telegram:42`, `window`, `cli`.
    Person(String),
}

impl Actor {
    pub fn text(&self) -> String {
        match self {
            Self::System => "system".to_owned(),
            Self::Model => "model".to_owned(),
            Self::Person(who) => format!("person:{who}"),
        }
    }
}

/// An entry to append. Build with [`Entry::new`] and the `with_` functions.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    pub kind: Kind,
    pub actor: Actor,
    pub conversation: Option<ConversationId>,
    pub turn: Option<TurnId>,
    pub effect: Option<EffectId>,
    /// Not personal: states, counts, hashes, ids.
    pub details: Map<String, Value>,
    /// Names, addresses, texts: (field, value), kept beside the chain.
    pub personal: Vec<(&'static str, String)>,
}

impl Entry {
    pub fn new(kind: Kind, actor: Actor) -> Self {
        Self { kind, actor, conversation: None, turn: None, effect: None, details: Map::new(), personal: Vec::new() }
    }
    pub fn in_conversation(mut self, id: ConversationId) -> Self {
        self.conversation = Some(id);
        self
    }
    pub fn in_turn(mut self, id: &TurnId) -> Self {
        self.turn = Some(id.clone());
        self
    }
    pub fn of_effect(mut self, id: &EffectId) -> Self {
        self.effect = Some(id.clone());
        self
    }
    pub fn detail(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.details.insert(name.to_owned(), value.into());
        self
    }
    /// A value that a person may want erased later.
    pub fn personal(mut self, field: &'static str, value: impl Into<String>) -> Self {
        self.personal.push((field, value.into()));
        self
    }
}
