//! Cuts a message into the things it asks for.

use jiff::ZonedDateTime;

use super::dates::{self, When};
use super::text::{Kind, Token};
use super::words::words_of;
use crate::domain::language::Language;

/// Sentences: lines, and what full stops and semicolons end.
pub(super) fn sentences(tokens: &[Token]) -> Vec<std::ops::Range<usize>> {
    let ends = |at: usize| {
        let token = &tokens[at];
        match token.kind {
            Kind::Break => true,
            // Not the point in "10.30" or in "p.m.".
            Kind::Mark if [".", ";", "!", "?"].contains(&token.fold.as_str()) => {
                let inner = tokens.get(at + 1).is_some_and(|next| next.glued && next.kind != Kind::Mark);
                let letter =
                    at > 0 && tokens[at - 1].fold.len() == 1 && tokens[at - 1].kind == Kind::Word && token.is(".");
                !inner && !letter
            }
            Kind::Mark | Kind::Word | Kind::Number | Kind::Email | Kind::Quoted => false,
        }
    };
    let mut found = Vec::new();
    let mut start = 0;
    for (at, token) in tokens.iter().enumerate() {
        if ends(at) {
            // The question mark stays: it tells a question from an order.
            let keep = at + usize::from(token.is("?"));
            found.push(start..keep);
            start = at + 1;
        }
    }
    found.push(start..tokens.len());
    found.retain(|sentence| {
        tokens[sentence.clone()]
            .iter()
            .any(|token| matches!(token.kind, Kind::Word | Kind::Number | Kind::Email | Kind::Quoted))
    });
    found
}

/// Cuts a sentence that names several events ("dentist at 5 and dinner at 8") into one part per event.
/// A new part begins where the one before has a time already and the next brings a title and a time of its own.
pub(super) fn events<'a>(tokens: &'a [Token], language: Language, now: &ZonedDateTime) -> Vec<&'a [Token]> {
    let whole = dates::scan(tokens, language, now);
    let mut cuts = vec![0];
    for at in 0..tokens.len() {
        if separates(tokens, at, language) && !whole.used[at] {
            cuts.push(at);
        }
    }
    cuts.push(tokens.len());
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for pair in cuts.windows(2) {
        let piece = &tokens[pair[0]..pair[1]];
        let when = dates::scan(piece, language, now);
        let begins = match parts.last() {
            None => true,
            Some((start, end)) => {
                let current = dates::scan(&tokens[*start..*end], language, now);
                let own = titled(piece, &when, language);
                current.has_time()
                    && own > 0
                    && (when.has_time() || own > 1 && later_has_time(tokens, pair[1], language, now))
            }
        };
        match parts.last_mut() {
            Some(last) if !begins => last.1 = pair[1],
            _ => parts.push((pair[0], pair[1])),
        }
    }
    parts.into_iter().map(|(start, end)| &tokens[start..end]).collect()
}

fn separates(tokens: &[Token], at: usize, language: Language) -> bool {
    let token = &tokens[at];
    let word = words_of(language).and.contains(&token.fold.as_str())
        || ["tambien", "luego", "despues", "ademas", "also", "then", "plus"].contains(&token.fold.as_str());
    let mark = [",", ";"].contains(&token.fold.as_str());
    (token.kind == Kind::Word && word) || (token.kind == Kind::Mark && mark)
}

/// Words of a piece that could be a title.
fn titled(piece: &[Token], when: &When, language: Language) -> usize {
    piece
        .iter()
        .enumerate()
        .filter(|(at, token)| {
            matches!(token.kind, Kind::Word | Kind::Quoted) && !when.used[*at] && !separates(piece, *at, language)
        })
        .count()
}

fn later_has_time(tokens: &[Token], from: usize, language: Language, now: &ZonedDateTime) -> bool {
    dates::scan(&tokens[from..], language, now).has_time()
}
