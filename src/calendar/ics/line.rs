//! One content line: name, parameters, raw value (RFC 5545, section 3.1).

/// A property. The value stays as written; escaping is undone by [`Line::text`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// Upper case.
    pub name: String,
    /// In order; names in upper case, values without quotes.
    pub parameters: Vec<(String, String)>,
    pub value: String,
}

/// Octets per line, without the line break.
const FOLD_AT: usize = 75;

impl Line {
    /// A property with a raw value.
    pub fn new(name: &str, value: impl Into<String>) -> Self {
        Self { name: name.to_owned(), parameters: Vec::new(), value: value.into() }
    }

    /// A property whose value is text, escaped.
    pub fn text_of(name: &str, text: &str) -> Self {
        Self::new(name, escape(text))
    }

    pub fn with(mut self, parameter: &str, value: impl Into<String>) -> Self {
        self.parameters.push((parameter.to_owned(), value.into()));
        self
    }

    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The value as text, escapes undone.
    pub fn text(&self) -> String {
        unescape(&self.value)
    }

    /// Reads an unfolded line; `None` if it has no value.
    pub fn parse(line: &str) -> Option<Self> {
        let mut quoted = false;
        let mut cuts = Vec::new();
        let mut value_at = None;
        for (at, character) in line.char_indices() {
            match character {
                '"' => quoted = !quoted,
                ';' if !quoted => cuts.push(at),
                ':' if !quoted => {
                    value_at = Some(at);
                    break;
                }
                _other => {}
            }
        }
        let value_at = value_at?;
        cuts.push(value_at);
        let name = line[..cuts[0]].trim().to_ascii_uppercase();
        if name.is_empty() {
            return None;
        }
        let parameters = cuts
            .windows(2)
            .filter_map(|cut| line[cut[0] + 1..cut[1]].split_once('='))
            .map(|(name, value)| (name.trim().to_ascii_uppercase(), unquote(value)))
            .collect();
        Some(Self { name, parameters, value: line[value_at + 1..].to_owned() })
    }

    /// Appends the line, folded, with CRLF.
    pub fn print(&self, out: &mut String) {
        let mut line = self.name.clone();
        for (name, value) in &self.parameters {
            line.push(';');
            line.push_str(name);
            line.push('=');
            line.push_str(&quote(value));
        }
        line.push(':');
        line.push_str(&self.value);
        fold(&line, out);
    }
}

/// Joins folded lines; lone LF and CR count as line breaks too.
pub(super) fn unfold(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for raw in text.split('\n') {
        let raw = raw.strip_suffix('\r').unwrap_or(raw);
        match (raw.strip_prefix([' ', '\t']), lines.last_mut()) {
            (Some(rest), Some(last)) => last.push_str(rest),
            (Some(_), None) | (None, _) => lines.push(raw.to_owned()),
        }
    }
    lines.retain(|line| !line.trim().is_empty());
    lines
}

fn fold(line: &str, out: &mut String) {
    let mut width = 0;
    for character in line.chars() {
        if width + character.len_utf8() > FOLD_AT {
            out.push_str("\r\n ");
            width = 1;
        }
        out.push(character);
        width += character.len_utf8();
    }
    out.push_str("\r\n");
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.replace("\r\n", "\n").chars() {
        match character {
            '\\' => out.push_str("\\\\"),
            ';' => out.push_str("\\;"),
            ',' => out.push_str("\\,"),
            '\n' | '\r' => out.push_str("\\n"),
            // Other control characters cannot stand in a content line.
            control if control.is_control() && control != '\t' => {}
            other => out.push(other),
        }
    }
    out
}

fn unescape(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('n' | 'N') => out.push('\n'),
                Some(other) => out.push(other),
                None => out.push('\\'),
            },
            other => out.push(other),
        }
    }
    out
}

/// Several values of one parameter stay quoted as they were; one value loses its quotes.
fn unquote(value: &str) -> String {
    match value.strip_prefix('"').and_then(|value| value.strip_suffix('"')) {
        Some(inner) if !inner.contains('"') => inner.to_owned(),
        Some(_) | None => value.to_owned(),
    }
}

fn quote(value: &str) -> String {
    if value.contains('"') {
        return value.to_owned();
    }
    // A comma alone separates values of one parameter; the programs that write addresses there quote them.
    if value.contains([':', ';', ',']) { format!("\"{value}\"") } else { value.to_owned() }
}
