//! Where the targets of an action come from: who wrote the address, account, calendar or URL that it names.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// What kind of target; names as in `known_targets.kind`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum TargetKind {
    /// A mail address: recipient or guest.
    Mail,
    Calendar,
    Url,
}

impl TargetKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mail => "mail",
            Self::Calendar => "calendar",
            Self::Url => "url",
        }
    }
}

/// Who wrote it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, TS)]
#[serde(tag = "source", rename_all = "snake_case")]
pub enum TargetSource {
    /// An owner, in their own words (not forwarded, not quoted), or a contact they confirmed.
    Owner,
    Configuration,
    /// Text that no owner wrote; `carrier` says which: a mail, an event, a forwarded message, a tool's output.
    Untrusted {
        carrier: String,
    },
    /// Nothing that was read has it: the model made it up or pieced it together.
    Unseen,
    /// Nobody wrote it, and nothing but people's own words was ever read in this conversation: the model named it by
    /// itself, and no outsider can have put it there.
    Model,
}

/// One target of an action with its source.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, TS)]
pub struct TargetOrigin {
    pub kind: TargetKind,
    /// As it stands in the arguments.
    pub target: String,
    #[serde(flatten)]
    pub source: TargetSource,
}
