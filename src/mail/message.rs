//! Raw mail as the reading tools show it. What it says is data; nothing here follows it.

use mail_parser::{Address, Message, MessageParser, MimeHeaders, PartType};

use crate::domain::mail::{MailContent, MailSummary};
use crate::runtime::hash::sha256_parts;

/// Characters of a preview, and of a text handed to a model.
const PREVIEW: usize = 200;
const LONGEST_TEXT: usize = 20_000;

/// A parsed mail with its stable id.
pub struct Parsed<'a> {
    message: Message<'a>,
}

/// `None` when the bytes are no mail at all.
pub fn parse(bytes: &[u8]) -> Option<Parsed<'_>> {
    MessageParser::default().parse(bytes).map(|message| Parsed { message })
}

impl Parsed<'_> {
    /// With angle brackets.
    pub fn message_id(&self) -> Option<String> {
        self.message.message_id().map(bracketed)
    }

    /// The Message-ID, or for a mail without one an id derived from what it says: the same for every copy.
    pub fn stable_id(&self) -> String {
        self.message_id().unwrap_or_else(|| {
            let text = self.message.body_text(0).unwrap_or_default();
            let date = self.message.date().map(|date| date.to_rfc3339()).unwrap_or_default();
            let hash = sha256_parts(&[
                first_address(self.message.from()).as_bytes(),
                date.as_bytes(),
                self.message.subject().unwrap_or_default().as_bytes(),
                text.trim_end().as_bytes(),
            ]);
            format!("<{}@no-message-id.invalid>", &hash[..32])
        })
    }

    pub fn summary(&self, id: String) -> MailSummary {
        MailSummary {
            id,
            message_id: Some(self.stable_id()),
            from: addresses(self.message.from()).into_iter().next().unwrap_or_default(),
            to: addresses(self.message.to()),
            subject: self.message.subject().unwrap_or_default().to_owned(),
            date: self.message.date().map(|date| date.to_rfc3339()),
            preview: self.message.body_preview(PREVIEW).unwrap_or_default().into_owned(),
        }
    }

    pub fn content(&self, id: String) -> MailContent {
        let mut text = self.message.body_text(0).unwrap_or_default().into_owned();
        if let Some((at, _)) = text.char_indices().nth(LONGEST_TEXT) {
            text.truncate(at);
            text.push_str("\n[cut here: the mail is longer]");
        }
        let attachments = self
            .message
            .attachments()
            .map(|part| {
                let name = part.attachment_name().unwrap_or("attachment").to_owned();
                let mime = part.content_type().map_or_else(
                    || "application/octet-stream".to_owned(),
                    |kind| format!("{}/{}", kind.ctype(), kind.subtype().unwrap_or("octet-stream")),
                );
                (name, mime, i64::try_from(part.len()).unwrap_or(i64::MAX))
            })
            .collect();
        MailContent {
            summary: self.summary(id),
            cc: addresses(self.message.cc()),
            references: self.references(),
            text,
            attachments,
        }
    }

    /// Oldest first, with angle brackets; the parent is the last.
    pub fn references(&self) -> Vec<String> {
        let mut ids = id_list(self.message.references());
        for parent in id_list(self.message.in_reply_to()) {
            if !ids.contains(&parent) {
                ids.push(parent);
            }
        }
        ids
    }

    /// Value of a header of the mail itself, unfolded.
    pub fn header(&self, name: &str) -> Option<String> {
        self.message.header_raw(name.to_owned()).map(|value| value.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// Every part of type message/* that carries another mail or its headers, and the parts of a report.
    pub fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        self.message.parts.iter().map(|part| {
            let kind = part.content_type().map_or_else(String::new, |kind| {
                format!("{}/{}", kind.ctype(), kind.subtype().unwrap_or_default()).to_ascii_lowercase()
            });
            let raw = match &part.body {
                PartType::Message(inner) => inner.raw_message(),
                PartType::Text(text) | PartType::Html(text) => text.as_bytes(),
                PartType::Binary(bytes) | PartType::InlineBinary(bytes) => bytes.as_ref(),
                PartType::Multipart(_) => &[],
            };
            Part { kind, raw }
        })
    }
}

/// One MIME part, decoded.
pub struct Part<'a> {
    /// Lower case, e.g. `message/delivery-status`.
    pub kind: String,
    pub raw: &'a [u8],
}

fn bracketed(id: &str) -> String {
    format!("<{}>", id.trim().trim_start_matches('<').trim_end_matches('>'))
}

fn id_list(value: &mail_parser::HeaderValue<'_>) -> Vec<String> {
    match (value.as_text_list(), value.as_text()) {
        (Some(list), _) => list.iter().map(|id| bracketed(id)).collect(),
        (None, Some(one)) => vec![bracketed(one)],
        (None, None) => Vec::new(),
    }
}

fn addresses(list: Option<&Address<'_>>) -> Vec<String> {
    list.map(|list| {
        list.iter()
            .filter_map(|entry| {
                let address = entry.address()?;
                Some(match entry.name() {
                    Some(name) if !name.is_empty() => format!("{name} <{address}>"),
                    Some(_) | None => address.to_owned(),
                })
            })
            .collect()
    })
    .unwrap_or_default()
}

fn first_address(list: Option<&Address<'_>>) -> String {
    list.and_then(Address::first).and_then(|entry| entry.address()).unwrap_or_default().to_lowercase()
}
