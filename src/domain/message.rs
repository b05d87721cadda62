//! What came in, with everything it carries.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::conversation::{Address, ConversationKind};
use super::time::Wall;

/// Kind of an accepted input. Names as in the table `inbound`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum InputKind {
    Message,
    Edit,
    /// A press of a button.
    Tap,
    Command,
    /// A due slot of a schedule.
    Schedule,
    /// Membership, migration and the like.
    Service,
    /// Could not be understood; recorded and passed over.
    Poison,
}

/// One input as a channel hands it to the inbox.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct NewInput {
    /// `None` for poison input that names no chat.
    pub address: Option<Address>,
    pub conversation_kind: ConversationKind,
    pub conversation_title: String,
    pub kind: InputKind,
    /// The channel's own identity of this input, e.g. `telegram:BOT:CHAT:MESSAGE`.
    pub dedupe_key: String,
    /// The channel's message id.
    pub external_id: Option<String>,
    pub sender_id: String,
    pub sender_name: String,
    /// The channel vouches that the sender is an owner (window, bearer token). Telegram leaves it to the inbox.
    pub owner: bool,
    pub text: String,
    pub parts: Parts,
    /// The sender's date.
    pub sent_at: Wall,
}

/// Everything beside the text.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct Parts {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<Media>,
    /// Shared by the messages of one album.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub album: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forward: Option<Forward>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply: Option<Reply>,
    /// The message names or answers the assistant (groups).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub mentions_assistant: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tap: Option<Tap>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Command>,
    /// The new id of this chat (group became supergroup).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub migrated_to: Option<String>,
    /// Text before this edit, filled by the inbox when the original's turn is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edited_from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edited_at: Option<i64>,
    /// When the transcript of a voice note arrived, on the elapsed clock: as if it had been typed then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heard_at: Option<i64>,
    /// `schedule:ID:SLOT` of a due slot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contact: Option<SharedContact>,
    /// Raw input, kept for poison only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, TS)]
pub struct Media {
    /// photo | document | voice | audio | video | animation | sticker
    pub kind: String,
    /// The channel's reference, to fetch the bytes with.
    pub file: String,
    pub name: Option<String>,
    pub mime: Option<String>,
    pub bytes: Option<i64>,
    /// Row of `attachments` once fetched.
    pub attachment: Option<String>,
    /// Why it was not fetched, for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// What a plain-text document says, up to a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Of a voice note: pending until heard.
    pub transcript: Option<Transcript>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, TS)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Transcript {
    Pending,
    Done { text: String },
    Failed { reason: String },
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, TS)]
pub struct Forward {
    /// Who wrote the original, as the channel says.
    pub origin: String,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, TS)]
pub struct Reply {
    pub external_id: String,
    /// Text of the message replied to, or the quoted part of it.
    pub text: String,
    pub to_assistant: bool,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, TS)]
pub struct Tap {
    /// To answer the tap with.
    pub callback_id: String,
    pub data: String,
    /// Message that carries the button.
    pub external_id: Option<String>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, TS)]
pub struct Command {
    /// Without the slash and without `@bot`, lower case.
    pub name: String,
    pub argument: String,
}

impl Parts {
    /// What was heard in voice notes.
    pub fn heard(&self) -> String {
        let texts = self.media.iter().filter_map(|media| match &media.transcript {
            Some(Transcript::Done { text }) => Some(text.trim()),
            Some(Transcript::Pending | Transcript::Failed { .. }) | None => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    pub fn waits_for_transcript(&self) -> bool {
        self.media.iter().any(|media| matches!(media.transcript, Some(Transcript::Pending)))
    }
}

impl Command {
    /// `/name argument`; anything else is no command: a path like `/usr/bin`, or `/name@who`, which the channel
    /// resolves before.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (head, argument) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let name = head.strip_prefix('/')?;
        let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        plain.then(|| Self { name: name.to_ascii_lowercase(), argument: argument.trim().to_owned() })
    }
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, TS)]
pub struct Location {
    pub latitude: f64,
    pub longitude: f64,
    pub title: Option<String>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, TS)]
pub struct SharedContact {
    pub name: String,
    pub phone: String,
}
