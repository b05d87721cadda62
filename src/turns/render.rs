//! Messages of a burst as the model reads them: the person's own words plain, everything else fenced with its origin.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, params};

use super::settings::Settings;
use super::speech;
use super::steps::Input;
use crate::domain::chat::ImagePart;
use crate::domain::conversation::ConversationKind;
use crate::domain::ids::{BurstId, ConversationId};
use crate::domain::message::{Media, Parts, Transcript};
use crate::domain::time::{Now, Wall};
use crate::domain::untrusted::fence;
use crate::store::StoreError;

/// Within this time "in 5 minutes" needs no explanation.
const PROMPT: Duration = Duration::from_secs(120);
/// Longest quote of a message that is replied to.
const QUOTE: usize = 500;

/// One message of a burst.
#[derive(Clone, PartialEq, Debug)]
pub struct Message {
    pub sender_name: String,
    pub text: String,
    pub parts: Parts,
    pub sent_at: Wall,
    pub stale: bool,
    /// Of the channel; orders the pictures of an album.
    pub external_id: Option<String>,
    pub images: Vec<ImagePart>,
    /// Part of an album that an earlier turn began with.
    pub late: bool,
}

/// Reads the messages of `bursts` and renders them as one input.
pub fn input(
    connection: &Connection,
    now: Now,
    conversation: ConversationId,
    bursts: &[BurstId],
    settings: &Settings,
) -> Result<Input, StoreError> {
    let kind: String =
        connection.query_row("SELECT kind FROM conversations WHERE id = ?1", [conversation], |row| row.get(0))?;
    let group = kind == "group";
    let mut messages = Vec::new();
    for burst in bursts {
        messages.extend(messages_of(connection, conversation, *burst, bursts)?);
    }
    let conversation_kind = if group { ConversationKind::Group } else { ConversationKind::Private };
    let request = messages.iter().map(own_words).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n");
    let oldest = messages.iter().filter(|message| message.stale).map(|message| message.sent_at).min();
    Ok(Input {
        bursts: bursts.to_vec(),
        text: text(&messages, now, conversation_kind, settings),
        images: messages.iter().flat_map(|message| message.images.clone()).collect(),
        language: speech::language(&request, settings),
        request,
        stale_seconds: oldest.map(|at| i64::try_from(now.wall.since(at).as_secs()).unwrap_or(i64::MAX)),
        at_elapsed: now.elapsed.0,
    })
}

fn messages_of(
    connection: &Connection,
    conversation: ConversationId,
    burst: BurstId,
    together: &[BurstId],
) -> Result<Vec<Message>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT sender_name, text, parts, sent_at, stale, external_id FROM inbound
         WHERE burst_id = ?1 AND state = 'merged' ORDER BY id",
    )?;
    let rows = statement
        .query_map([burst], |row| {
            Ok((
                row.get::<_, String>(0)?,
                row.get::<_, String>(1)?,
                row.get::<_, String>(2)?,
                row.get::<_, Wall>(3)?,
                row.get::<_, bool>(4)?,
                row.get::<_, Option<String>>(5)?,
            ))
        })?
        .collect::<Result<Vec<_>, _>>()?;
    let mut messages = Vec::with_capacity(rows.len());
    for (sender_name, text, parts, sent_at, stale, external_id) in rows {
        let parts: Parts = serde_json::from_str(&parts)?;
        let images = images(connection, &parts)?;
        let late = match &parts.album {
            Some(album) => begun_before(connection, conversation, album, together)?,
            None => false,
        };
        messages.push(Message { sender_name, text, parts, sent_at, stale, external_id, images, late });
    }
    order_albums(&mut messages);
    Ok(messages)
}

/// The album began in a burst that had its turn already.
fn begun_before(
    connection: &Connection,
    conversation: ConversationId,
    album: &str,
    together: &[BurstId],
) -> Result<bool, StoreError> {
    let first = together.iter().map(|burst| burst.0).min().unwrap_or_default();
    Ok(connection
        .prepare_cached(
            "SELECT 1 FROM inbound WHERE conversation_id = ?1 AND burst_id < ?2 AND json_extract(parts, '$.album') = ?3",
        )?
        .exists(params![conversation, first, album])?)
}

fn images(connection: &Connection, parts: &Parts) -> Result<Vec<ImagePart>, StoreError> {
    let mut images = Vec::new();
    for row in parts.media.iter().filter_map(|media| media.attachment.as_deref()) {
        let found: Option<(String, String)> = connection
            .prepare_cached("SELECT mime, sha256 FROM attachments WHERE id = ?1 AND mime LIKE 'image/%'")?
            .query_row(params![row], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        images.extend(found.map(|(mime, sha256)| ImagePart { mime, sha256 }));
    }
    Ok(images)
}

/// The pictures of one album stand in the order of their message ids, where its first one came.
fn order_albums(messages: &mut Vec<Message>) {
    let mut ordered: Vec<Message> = Vec::with_capacity(messages.len());
    for message in messages.drain(..) {
        let number = |message: &Message| message.external_id.as_deref().and_then(|id| id.parse::<i64>().ok());
        let place = message.parts.album.as_ref().and_then(|album| {
            let same = |other: &Message| other.parts.album.as_ref() == Some(album);
            let first = ordered.iter().position(&same)?;
            let before = ordered[first..].iter().take_while(|other| same(other) && number(other) <= number(&message));
            Some(first + before.count())
        });
        ordered.insert(place.unwrap_or(ordered.len()), message);
    }
    *messages = ordered;
}

/// What the person wrote, without what they quote or pass on.
fn own_words(message: &Message) -> String {
    let mut words: Vec<&str> = Vec::new();
    if message.parts.forward.is_none() && !message.text.trim().is_empty() {
        words.push(message.text.trim());
    }
    for media in &message.parts.media {
        if let Some(Transcript::Done { text }) = &media.transcript {
            words.push(text.trim());
        }
    }
    words.join("\n")
}

/// The whole burst: one line or block per message, in send order.
pub fn text(messages: &[Message], now: Now, kind: ConversationKind, settings: &Settings) -> String {
    let mut lines = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let mut block = Vec::new();
        let late = now.wall.since(message.sent_at);
        let told = index > 0
            && messages[index - 1].sent_at.since(message.sent_at) + message.sent_at.since(messages[index - 1].sent_at)
                < PROMPT;
        if late >= PROMPT && !told {
            block.push(format!(
                "(sent at {}, {} ago; relative times in it count from then)",
                message.sent_at.rfc3339(&settings.zone),
                ago(late)
            ));
        }
        body(message, &mut block);
        let block = block.join("\n");
        match kind {
            ConversationKind::Private => lines.push(block),
            ConversationKind::Group => lines.push(format!("{}: {block}", message.sender_name)),
        }
    }
    lines.retain(|line| !line.is_empty());
    lines.join("\n")
}

fn body(message: &Message, block: &mut Vec<String>) {
    let parts = &message.parts;
    if let Some(slot) = &parts.schedule {
        block.push(format!("(this was scheduled earlier and is due now: {slot})"));
    }
    if message.late {
        block.push(
            "(a late part of the album that the person sent just before: it belongs to that one and its request)"
                .to_owned(),
        );
    }
    if let Some(before) = &parts.edited_from {
        block.push(format!(
            "(the person edited an earlier message that was answered already; it said {before:?} and now says:)"
        ));
    }
    if let Some(reply) = &parts.reply {
        let quoted: String = reply.text.chars().take(QUOTE).collect();
        let whose = if reply.to_assistant { "an earlier message of the assistant" } else { "an earlier message" };
        block.push(fence(&format!("{whose}, which the next text replies to"), &quoted));
    }
    let text = message.text.trim();
    if !text.is_empty() {
        block.push(match &parts.forward {
            Some(forward) => fence(&format!("message forwarded from {}", forward.origin), text),
            None => text.to_owned(),
        });
    }
    for media in &parts.media {
        block.push(medium(media));
        if let Some(text) = &media.text {
            let name = media.name.as_deref().unwrap_or("without a name");
            block.push(fence(&format!("document {name}"), text));
        }
    }
    if let Some(location) = &parts.location {
        let title = location.title.as_deref().unwrap_or("location");
        block.push(format!("[{title}: {}, {}]", location.latitude, location.longitude));
    }
    if let Some(contact) = &parts.contact {
        block.push(fence("shared contact", &format!("{} {}", contact.name, contact.phone)));
    }
}

fn medium(media: &Media) -> String {
    let name = media.name.as_deref().map(|name| format!(" {name:?}")).unwrap_or_default();
    match &media.transcript {
        Some(Transcript::Done { text }) => format!("[{}, as heard] {}", media.kind, text.trim()),
        Some(Transcript::Failed { reason }) => format!("[{}{name}: could not be understood ({reason})]", media.kind),
        Some(Transcript::Pending) => format!("[{}{name}: not heard yet]", media.kind),
        None if media.kind == "voice" => {
            "[voice: cannot be listened to, no transcription is set up; tell the person]".to_owned()
        }
        None => format!("[{}{name}]", media.kind),
    }
}

/// "40 min", "6 h", "3 d".
pub fn ago(time: Duration) -> String {
    match time.as_secs() / 60 {
        minutes @ 0..90 => format!("{minutes} min"),
        minutes @ 90..2880 => format!("{} h", minutes / 60),
        minutes => format!("{} d", minutes / 1440),
    }
}
