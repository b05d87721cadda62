//! The parts of an update that are read, everything optional that a server may leave out.

use serde::Deserialize;
use serde_json::Value;

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Message {
    pub message_id: i64,
    /// Unix seconds.
    #[serde(default)]
    pub date: i64,
    pub edit_date: Option<i64>,
    pub chat: Chat,
    pub from: Option<User>,
    pub sender_chat: Option<Chat>,
    pub message_thread_id: Option<i64>,
    #[serde(default)]
    pub is_topic_message: bool,
    pub text: Option<String>,
    pub caption: Option<String>,
    #[serde(default)]
    pub entities: Vec<Entity>,
    #[serde(default)]
    pub caption_entities: Vec<Entity>,
    pub media_group_id: Option<String>,
    pub forward_origin: Option<Origin>,
    pub reply_to_message: Option<Box<Message>>,
    pub quote: Option<Quote>,
    #[serde(default)]
    pub photo: Vec<File>,
    pub document: Option<File>,
    pub voice: Option<File>,
    pub audio: Option<File>,
    pub video: Option<File>,
    pub video_note: Option<File>,
    pub animation: Option<File>,
    pub sticker: Option<File>,
    pub location: Option<Location>,
    pub venue: Option<Venue>,
    pub contact: Option<Contact>,
    pub poll: Option<Poll>,
    pub migrate_to_chat_id: Option<i64>,
    pub migrate_from_chat_id: Option<i64>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Chat {
    pub id: i64,
    /// private | group | supergroup | channel
    #[serde(rename = "type", default)]
    pub kind: String,
    pub title: Option<String>,
    pub first_name: Option<String>,
    pub last_name: Option<String>,
    pub username: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct User {
    pub id: i64,
    #[serde(default)]
    pub first_name: String,
    pub last_name: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Entity {
    #[serde(rename = "type")]
    pub kind: String,
    pub offset: usize,
    pub length: usize,
    pub user: Option<User>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Origin {
    pub sender_user: Option<User>,
    pub sender_user_name: Option<String>,
    pub sender_chat: Option<Chat>,
    pub chat: Option<Chat>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Quote {
    pub text: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct File {
    pub file_id: String,
    pub file_name: Option<String>,
    pub mime_type: Option<String>,
    pub file_size: Option<i64>,
    pub width: Option<i64>,
    /// Of a sticker.
    pub emoji: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Location {
    pub latitude: f64,
    pub longitude: f64,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Venue {
    pub title: String,
    pub address: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Contact {
    pub phone_number: String,
    #[serde(default)]
    pub first_name: String,
    pub last_name: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Poll {
    pub question: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct CallbackQuery {
    pub id: String,
    pub from: User,
    /// May be inaccessible: then only chat and id are there.
    pub message: Option<Value>,
    pub data: Option<String>,
}

impl Chat {
    pub fn name(&self) -> String {
        self.title.clone().unwrap_or_else(|| {
            let name = [self.first_name.as_deref(), self.last_name.as_deref()];
            let name = name.into_iter().flatten().collect::<Vec<_>>().join(" ");
            if name.is_empty() { self.username.clone().unwrap_or_default() } else { name }
        })
    }
}

impl User {
    pub fn name(&self) -> String {
        match &self.last_name {
            Some(last) => format!("{} {last}", self.first_name),
            None => self.first_name.clone(),
        }
    }
}
