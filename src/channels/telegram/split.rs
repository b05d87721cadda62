//! Long messages in parts, cut in the Markdown source, so that a part never depends on what happened to another.

use unicode_segmentation::UnicodeSegmentation;

use super::format::format;

/// UTF-16 units of one message's text.
pub(super) const LIMIT: usize = 4096;
/// More entities than these are ignored by the server.
const MOST_ENTITIES: usize = 100;
/// Kept free for closing and opening a code fence that is cut.
const FENCE_ROOM: usize = 64;

/// Parts in order; their texts together are the message. Empty for a message without text.
pub fn split(markdown: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut rest = markdown.trim().to_owned();
    while !rest.is_empty() {
        if fits(&rest, LIMIT) {
            parts.push(rest);
            break;
        }
        let (part, left) = cut(&rest);
        parts.push(part);
        rest = left;
    }
    parts
}

/// Judged on the source too: a part that must be sent as plain text is the source itself.
fn fits(markdown: &str, limit: usize) -> bool {
    units(markdown) <= limit && format(markdown).entities.len() <= MOST_ENTITIES
}

fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// The first part of a text that is too long, and the rest.
fn cut(text: &str) -> (String, String) {
    let mut limit = LIMIT - FENCE_ROOM;
    loop {
        let at = boundary(text, limit);
        let (head, tail) = text.split_at(at);
        let fence = open_fence(head);
        let part = match &fence {
            Some(fence) => format!("{}\n{}", head.trim_end(), fence.mark),
            None => head.trim_end().to_owned(),
        };
        // Many small entities: a smaller part has fewer.
        if fits(&part, LIMIT) || limit <= MOST_ENTITIES {
            let tail = if fence.is_some() { tail.trim_start_matches('\n') } else { tail.trim_start() };
            let rest = match fence {
                Some(fence) => format!("{}{}\n{tail}", fence.mark, fence.info),
                None => tail.to_owned(),
            };
            return (part, rest);
        }
        limit /= 2;
    }
}

/// Where to cut, at most `limit` units from the start: after a paragraph, a line, a sentence, a word, or a character.
fn boundary(text: &str, limit: usize) -> usize {
    let mut used = 0;
    let mut end = 0;
    for grapheme in text.graphemes(true) {
        let size = units(grapheme);
        if used + size > limit {
            break;
        }
        used += size;
        end += grapheme.len();
    }
    if end == 0 {
        // One character cluster longer than a message: cut between its code points.
        return text
            .char_indices()
            .take_while(|(at, c)| at + c.len_utf8() <= limit)
            .last()
            .map_or(1, |(at, c)| at + c.len_utf8());
    }
    let window = &text[..end];
    // A cut far from the limit would waste messages.
    let least = end / 2;
    for mark in ["\n\n", "\n", ". ", "? ", "! ", "。", " "] {
        if let Some(at) = window.rfind(mark).filter(|at| *at >= least) {
            return at + mark.len();
        }
    }
    end
}

struct Fence {
    mark: String,
    info: String,
}

/// The code fence that `text` leaves open.
fn open_fence(text: &str) -> Option<Fence> {
    let mut open: Option<Fence> = None;
    for line in text.lines() {
        let line = line.trim_start();
        let Some(first) = line.chars().next().filter(|c| matches!(c, '`' | '~')) else { continue };
        let length = line.chars().take_while(|c| *c == first).count();
        if length < 3 {
            continue;
        }
        let (mark, info) = line.split_at(length);
        match &open {
            Some(fence)
                if fence.mark.starts_with(first) && mark.len() >= fence.mark.len() && info.trim().is_empty() =>
            {
                open = None;
            }
            Some(_) => {}
            None if first == '`' && info.contains('`') => {}
            None => {
                let info: String = info.trim().chars().take(32).collect();
                open = Some(Fence { mark: mark.chars().take(12).collect(), info });
            }
        }
    }
    open
}
