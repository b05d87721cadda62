//! One update as one input of the domain. Pure.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::bot::Me;
use super::wire::{CallbackQuery, Entity, File, Message, Origin};
use crate::domain::conversation::{Address, ChannelKind, ConversationKind};
use crate::domain::message::{
    Command, Forward, InputKind, Location, Media, NewInput, Parts, Reply, SharedContact, Tap,
};
use crate::domain::time::Wall;
use crate::runtime::hash::sha256_hex;

/// Kept of an update that cannot be read.
const LONGEST_RAW: usize = 20_000;

/// The input in `raw`; `None` for kinds of updates that are none of ours.
pub(super) fn input(raw: Value, me: &Me) -> Option<NewInput> {
    let read = if let Some(message) = raw.get("message") {
        parsed(message).map(|message| of_message(message, me, InputKind::Message))
    } else if let Some(message) = raw.get("edited_message") {
        parsed(message).map(|message| of_message(message, me, InputKind::Edit))
    } else if let Some(query) = raw.get("callback_query") {
        parsed(query).and_then(|query| of_tap(query, me))
    } else if raw.get("update_id").is_some() {
        // A kind that was not asked for, or that nobody knows yet: confirmed with the batch and passed over.
        tracing::debug!("an update of another kind is passed over");
        return None;
    } else {
        Err("it has no update id".to_owned())
    };
    Some(read.unwrap_or_else(|error| poison(&raw, me, &error)))
}

fn parsed<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    serde_json::from_value(value.clone()).map_err(|error| error.to_string())
}

fn poison(raw: &Value, me: &Me, error: &str) -> NewInput {
    let text = raw.to_string();
    tracing::warn!(error, "an update cannot be read and is set aside");
    NewInput {
        address: None,
        conversation_kind: ConversationKind::Private,
        conversation_title: String::new(),
        kind: InputKind::Poison,
        dedupe_key: format!("telegram:{}:unread:{}", me.id, sha256_hex(&text)),
        external_id: None,
        sender_id: String::new(),
        sender_name: String::new(),
        owner: false,
        text: String::new(),
        parts: Parts { raw: Some(text.chars().take(LONGEST_RAW).collect()), ..Parts::default() },
        sent_at: Wall(0),
    }
}

fn seconds(seconds: i64) -> Wall {
    Wall(seconds.saturating_mul(1000))
}

fn address(me: &Me, message: &Message) -> Address {
    // Only a topic has a thread of its own: a reply's thread id means something else, and 1 is General.
    let thread = message.message_thread_id.filter(|id| message.is_topic_message && *id != 1);
    Address {
        channel: ChannelKind::Telegram,
        account: me.id.to_string(),
        contact: message.chat.id.to_string(),
        thread: thread.map(|id| id.to_string()).unwrap_or_default(),
    }
}

fn conversation_kind(message: &Message) -> ConversationKind {
    // Ids of users are positive, those of groups negative.
    if message.chat.kind == "private" || (message.chat.kind.is_empty() && message.chat.id > 0) {
        ConversationKind::Private
    } else {
        ConversationKind::Group
    }
}

fn of_message(message: Message, me: &Me, kind: InputKind) -> NewInput {
    let text = message.text.clone().or_else(|| message.caption.clone()).unwrap_or_default();
    let entities = if message.text.is_some() { &message.entities } else { &message.caption_entities };
    let mut parts = Parts {
        media: media(&message),
        album: message.media_group_id.clone(),
        forward: message.forward_origin.as_ref().map(|origin| Forward { origin: origin_name(origin) }),
        reply: reply(&message, me),
        migrated_to: message.migrate_to_chat_id.map(|id| id.to_string()),
        edited_at: message.edit_date,
        location: location(&message),
        contact: message.contact.as_ref().map(|contact| SharedContact {
            name: format!("{} {}", contact.first_name, contact.last_name.as_deref().unwrap_or_default())
                .trim()
                .to_owned(),
            phone: contact.phone_number.clone(),
        }),
        ..Parts::default()
    };
    let text = match &message.poll {
        Some(poll) if text.is_empty() => format!("[poll] {}", poll.question),
        Some(_) | None => text,
    };
    parts.command = command(&text, entities, me);
    parts.mentions_assistant =
        mentions(&text, entities, me) || parts.reply.as_ref().is_some_and(|reply| reply.to_assistant);
    let says_something =
        !text.trim().is_empty() || !parts.media.is_empty() || parts.location.is_some() || parts.contact.is_some();
    let (sender_id, sender_name) = match (&message.from, &message.sender_chat) {
        // Written as a chat: the user behind it is a placeholder.
        (_, Some(chat)) => (format!("chat:{}", chat.id), chat.name()),
        (Some(user), None) => (user.id.to_string(), user.name()),
        (None, None) => (String::new(), String::new()),
    };
    let identity = format!("telegram:{}:{}:{}", me.id, message.chat.id, message.message_id);
    let (kind, dedupe_key, sent_at) = match kind {
        InputKind::Edit => {
            // The date has whole seconds: two edits within one are told apart by what they say.
            let content = sha256_hex(format!("{text}\n{:?}", parts.media));
            let date = message.edit_date.unwrap_or(message.date);
            (InputKind::Edit, format!("{identity}:edit:{date}:{}", &content[..16]), seconds(date))
        }
        _ if message.migrate_to_chat_id.is_some() || message.migrate_from_chat_id.is_some() || !says_something => {
            (InputKind::Service, identity, seconds(message.date))
        }
        _ if parts.command.is_some() => (InputKind::Command, identity, seconds(message.date)),
        _ => (InputKind::Message, identity, seconds(message.date)),
    };
    NewInput {
        address: Some(address(me, &message)),
        conversation_kind: conversation_kind(&message),
        conversation_title: message.chat.name(),
        kind,
        dedupe_key,
        external_id: Some(message.message_id.to_string()),
        sender_id,
        sender_name,
        owner: false,
        text,
        parts,
        sent_at,
    }
}

fn of_tap(query: CallbackQuery, me: &Me) -> Result<NewInput, String> {
    let carrier: Option<Message> = query.message.as_ref().map(parsed).transpose()?;
    let address = match &carrier {
        Some(message) => address(me, message),
        None => Address {
            channel: ChannelKind::Telegram,
            account: me.id.to_string(),
            contact: query.from.id.to_string(),
            thread: String::new(),
        },
    };
    Ok(NewInput {
        address: Some(address),
        conversation_kind: carrier.as_ref().map_or(ConversationKind::Private, conversation_kind),
        conversation_title: carrier.as_ref().map(|message| message.chat.name()).unwrap_or_default(),
        kind: InputKind::Tap,
        dedupe_key: format!("telegram:{}:tap:{}", me.id, query.id),
        external_id: None,
        sender_id: query.from.id.to_string(),
        sender_name: query.from.name(),
        owner: false,
        text: String::new(),
        parts: Parts {
            tap: Some(Tap {
                callback_id: query.id,
                data: query.data.unwrap_or_default(),
                external_id: carrier.as_ref().map(|message| message.message_id.to_string()),
            }),
            ..Parts::default()
        },
        sent_at: seconds(carrier.map_or(0, |message| message.date)),
    })
}

fn origin_name(origin: &Origin) -> String {
    origin
        .sender_user
        .as_ref()
        .map(super::wire::User::name)
        .or_else(|| origin.sender_user_name.clone())
        .or_else(|| origin.sender_chat.as_ref().or(origin.chat.as_ref()).map(super::wire::Chat::name))
        .unwrap_or_default()
}

fn reply(message: &Message, me: &Me) -> Option<Reply> {
    let to = message.reply_to_message.as_deref()?;
    // In a topic every message answers the one that opened it.
    if message.is_topic_message && message.message_thread_id == Some(to.message_id) {
        return None;
    }
    let whole = to.text.clone().or_else(|| to.caption.clone()).unwrap_or_default();
    Some(Reply {
        external_id: to.message_id.to_string(),
        text: message.quote.as_ref().map_or(whole, |quote| quote.text.clone()),
        to_assistant: to.from.as_ref().is_some_and(|user| user.id == me.id),
    })
}

fn location(message: &Message) -> Option<Location> {
    let point = message.location.as_ref()?;
    let title = message.venue.as_ref().map(|venue| match &venue.address {
        Some(address) => format!("{}, {address}", venue.title),
        None => venue.title.clone(),
    });
    Some(Location { latitude: point.latitude, longitude: point.longitude, title })
}

fn media(message: &Message) -> Vec<Media> {
    let mut found = Vec::new();
    // The same picture in several sizes.
    if let Some(photo) = message.photo.iter().max_by_key(|size| (size.width, size.file_size)) {
        found.push(medium("photo", photo, Some("image/jpeg")));
    }
    // An animation comes with a document that is the same file.
    let document = message.document.as_ref().filter(|_| message.animation.is_none());
    for (kind, file, mime) in [
        ("document", document, None),
        ("voice", message.voice.as_ref(), Some("audio/ogg")),
        ("audio", message.audio.as_ref(), None),
        ("video", message.video.as_ref(), Some("video/mp4")),
        ("video", message.video_note.as_ref(), Some("video/mp4")),
        ("animation", message.animation.as_ref(), Some("video/mp4")),
        ("sticker", message.sticker.as_ref(), Some("image/webp")),
    ] {
        found.extend(file.map(|file| medium(kind, file, mime)));
    }
    found
}

fn medium(kind: &str, file: &File, mime: Option<&str>) -> Media {
    Media {
        kind: kind.to_owned(),
        file: file.file_id.clone(),
        name: file.file_name.clone().or_else(|| file.emoji.clone()),
        mime: file.mime_type.clone().or_else(|| mime.map(str::to_owned)),
        bytes: file.file_size,
        attachment: None,
        problem: None,
        text: None,
        transcript: None,
    }
}

/// A slice by UTF-16 offset and length; `None` if it does not fall between characters.
fn slice(text: &str, offset: usize, length: usize) -> Option<String> {
    let units: Vec<u16> = text.encode_utf16().skip(offset).take(length).collect();
    String::from_utf16(&units).ok().filter(|_| units.len() == length)
}

fn mentions(text: &str, entities: &[Entity], me: &Me) -> bool {
    let own = |name: &str| !me.username.is_empty() && name.eq_ignore_ascii_case(&me.username);
    entities.iter().any(|entity| match entity.kind.as_str() {
        "mention" => slice(text, entity.offset, entity.length).is_some_and(|name| own(name.trim_start_matches('@'))),
        "text_mention" => entity.user.as_ref().is_some_and(|user| user.id == me.id),
        "bot_command" => slice(text, entity.offset, entity.length)
            .and_then(|name| name.split_once('@').map(|(_, bot)| own(bot)))
            .unwrap_or(false),
        _ => false,
    })
}

/// A command at the start of the text, for us or for any bot, but not for another one.
fn command(text: &str, entities: &[Entity], me: &Me) -> Option<Command> {
    let at_start = entities.iter().any(|entity| entity.kind == "bot_command" && entity.offset == 0);
    // Emulators leave the entities out.
    if !at_start && !entities.is_empty() {
        return None;
    }
    let head = text.split_whitespace().next()?;
    match head.split_once('@') {
        Some((_, bot)) if !bot.eq_ignore_ascii_case(&me.username) => None,
        Some((name, _)) => Command::parse(&text.replacen(head, name, 1)),
        None => Command::parse(text),
    }
}
