//! What the last message says about whether more will follow.

use std::time::Duration;

use rusqlite::types::{ToSql, ToSqlOutput};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::settings::Windows;
use super::words;
use crate::domain::message::Parts;

/// In the order in which they are looked for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Signal {
    /// Part of an album, a forward, or media without text: a machine sends the rest.
    Structural,
    /// So long that the client may have cut it.
    Length,
    /// Only a greeting: the request follows.
    Opener,
    Hanging,
    /// A finished sentence.
    Closed,
    Neutral,
    /// Not waited for at all (a due slot of a schedule).
    None,
}

impl Signal {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Structural => "structural",
            Self::Length => "length",
            Self::Opener => "opener",
            Self::Hanging => "hanging",
            Self::Closed => "closed",
            Self::Neutral => "neutral",
            Self::None => "none",
        }
    }
}

impl ToSql for Signal {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.as_str().into())
    }
}

/// A text within so many UTF-16 units of the channel's limit may go on in another message.
const NEAR_LIMIT: usize = 96;

const CLOSED: &[char] = &['?', '!', '.', '？', '！', '。', '．', '｡', '؟', '।', '‼', '⁇', '⁈', '⁉'];
const HANGING: &[char] = &[
    ',', ';', ':', '-', '–', '—', '，', '、', '；', '：', '،', '؛', '(', '[', '{', '«', '“', '‘', '¿', '¡', '（', '［',
    '「', '『', '【', '《', '〈',
];
/// Closing quotes and brackets that may follow the end of a sentence.
const CLOSERS: &[char] =
    &['"', '\'', '”', '’', '»', '›', ')', ']', '}', '）', '］', '」', '』', '】', '》', '〉', '*', '_', '`'];

/// The signal of a message with this text and these parts on a channel that takes `limit` UTF-16 units.
pub fn signal(text: &str, parts: &Parts, limit: Option<usize>) -> Signal {
    let text = text.trim();
    if parts.album.is_some() || parts.forward.is_some() || (text.is_empty() && carries_something(parts)) {
        return Signal::Structural;
    }
    of_text(text, limit)
}

/// The signal of the text alone.
pub(super) fn of_text(text: &str, limit: Option<usize>) -> Signal {
    let text = text.trim();
    if limit.is_some_and(|limit| text.encode_utf16().count() + NEAR_LIMIT >= limit) {
        return Signal::Length;
    }
    if words::is_opener(text) {
        return Signal::Opener;
    }
    let bare = text.trim_end_matches(|c: char| CLOSERS.contains(&c) || c.is_whitespace());
    if bare.ends_with('…') || bare.ends_with("..") || bare.ends_with("。。") {
        return Signal::Hanging;
    }
    // After a closing mark these are part of a face or a heading, not a pause.
    if text.ends_with(HANGING) || words::ends_hanging(text) {
        return Signal::Hanging;
    }
    if bare.ends_with(CLOSED) {
        return Signal::Closed;
    }
    Signal::Neutral
}

fn carries_something(parts: &Parts) -> bool {
    !parts.media.is_empty() || parts.location.is_some() || parts.contact.is_some()
}

/// How long to wait after a message with this signal; `text` is its own text.
pub fn window(signal: Signal, text: &str, windows: &Windows) -> Duration {
    match signal {
        Signal::Structural if text.trim().is_empty() => windows.structural,
        Signal::Structural => windows.structural.max(window(of_text(text, windows.text_limit), text, windows)),
        Signal::Length | Signal::Opener | Signal::Hanging => windows.open,
        Signal::Closed => windows.closed,
        Signal::Neutral => windows.neutral,
        Signal::None => Duration::ZERO,
    }
}
