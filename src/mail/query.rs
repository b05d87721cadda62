//! What a person looks for in mail, in one small language for every backend:
//! words, `"a phrase"`, `from:`, `to:`, `subject:`, `since:2026-11-01`, `before:`, `thread:<id>`, `unread`, `in:sent`.

use jiff::civil::Date;

use crate::domain::mail::MailContent;

/// Every given condition must hold.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Query {
    pub from: Vec<String>,
    pub to: Vec<String>,
    pub subject: Vec<String>,
    pub words: Vec<String>,
    /// Message-ID of any mail of a thread.
    pub thread: Option<String>,
    pub since: Option<Date>,
    /// Exclusive.
    pub before: Option<Date>,
    pub unread: bool,
    pub sent: bool,
}

impl Query {
    /// Never fails: what is no condition is a word to look for. Control characters are dropped.
    pub fn parse(text: &str) -> Self {
        let mut query = Self::default();
        for token in tokens(text) {
            let (key, value) = match token.split_once(':') {
                Some((key, value)) if !value.is_empty() => (key.to_ascii_lowercase(), value.to_owned()),
                Some(_) | None => (String::new(), token.clone()),
            };
            match key.as_str() {
                "from" => query.from.push(value),
                "to" => query.to.push(value),
                "subject" => query.subject.push(value),
                "thread" => query.thread = Some(value),
                "since" | "after" => match value.replace('/', "-").parse() {
                    Ok(date) => query.since = Some(date),
                    Err(_) => query.words.push(token),
                },
                "before" | "until" => match value.replace('/', "-").parse() {
                    Ok(date) => query.before = Some(date),
                    Err(_) => query.words.push(token),
                },
                "is" if value == "unread" => query.unread = true,
                "in" if value == "sent" => query.sent = true,
                "in" if value == "inbox" => query.sent = false,
                _ if token.eq_ignore_ascii_case("unread") => query.unread = true,
                _ => query.words.push(token),
            }
        }
        query
    }

    /// For backends that search files themselves.
    pub fn matches(&self, mail: &MailContent) -> bool {
        let has = |haystack: &str, needle: &String| fold(haystack).contains(&fold(needle));
        let to = mail.summary.to.iter().chain(&mail.cc).cloned().collect::<Vec<_>>().join(" ");
        let day = mail.summary.date.as_deref().and_then(|date| date.get(..10)).and_then(|day| day.parse::<Date>().ok());
        let anywhere = [mail.summary.from.as_str(), &to, &mail.summary.subject, &mail.text].join("\n");
        self.from.iter().all(|needle| has(&mail.summary.from, needle))
            && self.to.iter().all(|needle| has(&to, needle))
            && self.subject.iter().all(|needle| has(&mail.summary.subject, needle))
            && self.words.iter().all(|needle| has(&anywhere, needle))
            && self
                .thread
                .as_ref()
                .is_none_or(|id| mail.summary.message_id.as_ref() == Some(id) || mail.references.contains(id))
            && self.since.is_none_or(|since| day.is_some_and(|day| day >= since))
            && self.before.is_none_or(|before| day.is_some_and(|day| day < before))
    }

    /// IMAP SEARCH keys (RFC 9051 6.4.4), quoted; non-ASCII words need `CHARSET UTF-8` and literals, so they are left
    /// out here and the caller filters by [`Query::matches`].
    pub fn imap(&self) -> String {
        let mut keys = Vec::new();
        for (key, values) in [("FROM", &self.from), ("TO", &self.to), ("SUBJECT", &self.subject), ("TEXT", &self.words)]
        {
            for value in values.iter().filter(|value| value.is_ascii()) {
                keys.push(format!("{key} {}", quoted(value)));
            }
        }
        if let Some(id) = &self.thread {
            keys.push(format!("OR HEADER Message-ID {} HEADER References {}", quoted(id), quoted(id)));
        }
        if let Some(since) = self.since {
            keys.push(format!("SINCE {}", imap_date(since)));
        }
        if let Some(before) = self.before {
            keys.push(format!("BEFORE {}", imap_date(before)));
        }
        if self.unread {
            keys.push("UNSEEN".to_owned());
        }
        if keys.is_empty() { "ALL".to_owned() } else { keys.join(" ") }
    }

    /// Something that [`Query::imap`] had to leave out.
    pub fn has_non_ascii(&self) -> bool {
        [&self.from, &self.to, &self.subject, &self.words].into_iter().flatten().any(|value| !value.is_ascii())
    }
}

/// An IMAP quoted string (RFC 9051 4.3): no CR, LF or NUL can be in one.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars().filter(|c| !c.is_control()) {
        if matches!(c, '"' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
    out
}

fn imap_date(date: Date) -> String {
    date.strftime("%-d-%b-%Y").to_string()
}

fn fold(text: &str) -> String {
    caseless::default_case_fold_str(text)
}

/// Splits at white space outside double quotes; `key:"two words"` stays together.
fn tokens(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut token = String::new();
    let mut quote = false;
    for c in text.chars() {
        match c {
            '"' => quote = !quote,
            c if c.is_whitespace() && !quote => {
                if !token.is_empty() {
                    out.push(std::mem::take(&mut token));
                }
            }
            c if c.is_control() => {}
            c => token.push(c),
        }
    }
    if !token.is_empty() {
        out.push(token);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_understood_and_safe_on_the_wire() {
        let query = Query::parse(r#"from:ana subject:"two words" since:2026/11/01 before:2026-12-01 unread it"s\x"#);
        assert_eq!(
            query.imap(),
            r#"FROM "ana" SUBJECT "two words" TEXT "its\\x" SINCE 1-Nov-2026 BEFORE 1-Dec-2026 UNSEEN"#
        );
        assert_eq!(Query::parse("").imap(), "ALL");
        assert_eq!(Query::parse("from:x\r\n\u{0}A1 LOGOUT").imap(), r#"FROM "x" TEXT "A1" TEXT "LOGOUT""#);
        assert!(Query::parse("reunión").has_non_ascii() && Query::parse("in:sent").sent);
    }
}
