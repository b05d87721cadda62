//! Channels and conversations.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::ids::ConversationId;

/// A way in and out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ChannelKind {
    Telegram,
    Window,
    Http,
}

impl ChannelKind {
    pub const ALL: [Self; 3] = [Self::Telegram, Self::Window, Self::Http];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Telegram => "telegram",
            Self::Window => "window",
            Self::Http => "http",
        }
    }

    /// Longest text of one message in UTF-16 units; `None`: there is no limit.
    pub fn text_limit(self) -> Option<usize> {
        match self {
            // https://core.telegram.org/bots/api#sendmessage
            Self::Telegram => Some(4096),
            Self::Window | Self::Http => None,
        }
    }
}

/// What a channel can do in a conversation, right now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capabilities {
    /// Delivers at the moment of the call.
    pub immediate: bool,
    pub typing: bool,
    pub edit: bool,
    pub buttons: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ConversationKind {
    Private,
    Group,
}

/// Where a message comes from and goes to, in the channel's own terms.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Address {
    pub channel: ChannelKind,
    /// Bot id; `local` for window and http.
    pub account: String,
    /// Chat id or session id.
    pub contact: String,
    /// Topic id, empty for none.
    pub thread: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conversation {
    pub id: ConversationId,
    pub address: Address,
    pub kind: ConversationKind,
    pub title: String,
}
