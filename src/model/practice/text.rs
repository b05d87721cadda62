//! A message as tokens: what was written, and its folded form for comparing.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Word,
    Number,
    Mark,
    Email,
    /// Text within quotation marks, kept whole.
    Quoted,
    /// The end of a line.
    Break,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Token {
    pub kind: Kind,
    /// Lower case without accents.
    pub fold: String,
    /// As written; without the marks of a quotation.
    pub raw: String,
    /// No space between this token and the one before.
    pub glued: bool,
}

impl Token {
    pub fn number(&self) -> Option<i64> {
        (self.kind == Kind::Number).then(|| self.fold.parse().ok()).flatten()
    }
    pub fn is(&self, fold: &str) -> bool {
        self.fold == fold && self.kind != Kind::Quoted
    }
}

/// Lower case, accents dropped: "Mañana" and "manana" compare equal.
pub(super) fn fold(text: &str) -> String {
    text.nfd().filter(|c| !is_combining_mark(*c)).flat_map(char::to_lowercase).collect()
}

const QUOTES: [(char, char); 4] = [('"', '"'), ('«', '»'), ('“', '”'), ('„', '“')];

pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut found = Vec::new();
    let mut rest = text;
    let mut spaced = true;
    while let Some(first) = rest.chars().next() {
        if first == '\n' {
            found.push(Token { kind: Kind::Break, fold: "\n".into(), raw: "\n".into(), glued: false });
            rest = &rest[1..];
            spaced = true;
            continue;
        }
        if first.is_whitespace() {
            rest = &rest[first.len_utf8()..];
            spaced = true;
            continue;
        }
        let (kind, length, raw) = next(rest, first);
        found.push(Token { kind, fold: fold(raw), raw: raw.to_owned(), glued: !spaced });
        rest = &rest[length..];
        spaced = false;
    }
    found
}

/// Kind, bytes taken, and what of them counts.
fn next(rest: &str, first: char) -> (Kind, usize, &str) {
    if let Some((open, close)) = QUOTES.iter().find(|(open, _)| *open == first) {
        let start = open.len_utf8();
        if let Some(length) = rest[start..].find(*close).filter(|length| *length > 0) {
            return (Kind::Quoted, start + length + close.len_utf8(), &rest[start..start + length]);
        }
    }
    if let Some(length) = email(rest) {
        return (Kind::Email, length, &rest[..length]);
    }
    let run = |keep: fn(char) -> bool| rest.find(|c: char| !keep(c)).unwrap_or(rest.len());
    if first.is_ascii_digit() {
        let length = run(|c| c.is_ascii_digit());
        return (Kind::Number, length, &rest[..length]);
    }
    if first.is_alphabetic() {
        let length = run(|c| c.is_alphabetic() || c == '\'' || c == '’' || is_combining_mark(c));
        return (Kind::Word, length, &rest[..length]);
    }
    let length = first.len_utf8();
    (Kind::Mark, length, &rest[..length])
}

/// Length of an address at the start, if one stands there.
fn email(rest: &str) -> Option<usize> {
    let end = rest.find(|c: char| c.is_whitespace() || "<>()[]\"«»“”,;".contains(c)).unwrap_or(rest.len());
    let word = rest[..end].trim_end_matches(['.', ':', '!', '?', '\'']);
    let (local, domain) = word.split_once('@')?;
    let plain = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || "._+-%'".contains(c));
    (plain(local) && plain(domain) && domain.contains('.')).then_some(word.len())
}

/// The tokens back as text, spaces as they were; quotations get plain marks.
pub(super) fn joined<'a>(tokens: impl IntoIterator<Item = &'a Token>) -> String {
    let mut out = String::new();
    for token in tokens {
        if !out.is_empty() && !token.glued && token.kind != Kind::Break && !out.ends_with('\n') {
            out.push(' ');
        }
        match token.kind {
            Kind::Quoted => out.extend(["\"", &token.raw, "\""]),
            Kind::Word | Kind::Number | Kind::Mark | Kind::Email | Kind::Break => out.push_str(&token.raw),
        }
    }
    out
}

/// Does `phrase` (folded words) stand at `at`? Its length in tokens.
pub(super) fn phrase(tokens: &[Token], at: usize, phrase: &str) -> Option<usize> {
    let mut length = 0;
    for word in phrase.split(' ') {
        if !tokens.get(at + length)?.is(word) {
            return None;
        }
        length += 1;
    }
    Some(length)
}

/// The longest of `phrases` that stands at `at`.
pub(super) fn any_phrase(tokens: &[Token], at: usize, phrases: &[&str]) -> Option<usize> {
    phrases.iter().filter_map(|words| phrase(tokens, at, words)).max()
}
