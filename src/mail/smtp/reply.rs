//! What a reply, or its absence, means.

use std::error::Error as _;

use lettre::transport::smtp::Error;
use lettre::transport::smtp::response::Response;

use super::wire::LastWords;
use crate::runtime::redact::redact;

/// Longest reply that is stored.
const LONGEST: usize = 500;

/// The end of one step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// 2xx or 3xx.
    Yes(String),
    /// 4xx.
    NotNow(String),
    /// 5xx.
    No(String),
    /// The connection broke, or what came was no reply. The server said nothing about the step.
    Broken(String),
}

impl Step {
    /// The server's words, or ours for its silence.
    pub fn reply(&self) -> &str {
        match self {
            Self::Yes(text) | Self::NotNow(text) | Self::No(text) | Self::Broken(text) => text,
        }
    }

    pub fn of(result: Result<Response, Error>, heard: &LastWords) -> Self {
        match result {
            Ok(response) => {
                let text = response.message().collect::<Vec<_>>().join(" ");
                Self::Yes(clean(&format!("{} {text}", response.code())))
            }
            Err(error) => {
                let said = || error.source().map(ToString::to_string).unwrap_or_default();
                match error.status() {
                    Some(code) if error.is_transient() => Self::NotNow(clean(&format!("{code} {}", said()))),
                    Some(code) => Self::No(clean(&format!("{code} {}", said()))),
                    None => {
                        Self::by_first_digit(&heard.text()).unwrap_or_else(|| Self::Broken(clean(&explain(&error))))
                    }
                }
            }
        }
    }

    /// A complete refusal with a code that the library does not know: its first digit decides (RFC 5321 4.2.1).
    fn by_first_digit(heard: &str) -> Option<Self> {
        let end = heard.rfind("\r\n")?;
        let last = heard[..end].lines().find(|line| line.as_bytes().get(3) != Some(&b'-'))?;
        let code = last.get(..3)?;
        let complete =
            code.bytes().all(|byte| byte.is_ascii_digit()) && matches!(last.as_bytes().get(3), None | Some(b' '));
        match (complete, code.as_bytes().first()) {
            (true, Some(b'4')) => Some(Self::NotNow(clean(last))),
            (true, Some(b'5')) => Some(Self::No(clean(last))),
            _ => None,
        }
    }
}

fn explain(error: &Error) -> String {
    if error.is_response() && error.to_string().contains("incomplete response") {
        return "the server closed the connection".to_owned();
    }
    match error.source() {
        Some(source) => source.to_string(),
        None => error.to_string(),
    }
}

/// One line, without secrets, at most 500 characters.
pub fn clean(text: &str) -> String {
    let line: String = redact(text).split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().filter(|c| !c.is_control()).take(LONGEST).collect()
}

/// The server's own id of the mail in its acceptance, where it gives one.
pub fn queue_id(reply: &str) -> Option<String> {
    let words: Vec<&str> = reply.split_whitespace().skip(1).collect();
    let after = |marker: &str| {
        let at = words
            .windows(2)
            .position(|pair| pair[0].eq_ignore_ascii_case(marker) && pair[1].eq_ignore_ascii_case("as"))?;
        words.get(at + 2).copied()
    };
    let named = || words.iter().find_map(|word| word.strip_prefix("id=").or_else(|| word.strip_prefix("ID=")));
    let bare = || {
        let rest: Vec<&&str> = words
            .iter()
            .filter(|word| !is_enhanced(word) && !word.trim_end_matches([':', ',']).eq_ignore_ascii_case("ok"))
            .collect();
        match rest.as_slice() {
            [only] => Some(**only),
            _ => None,
        }
    };
    let id = after("queued").or_else(named).or_else(bare)?;
    let id = id.trim_matches(['<', '>', '(', ')', ',', ';', '"']).trim_end_matches('.');
    (!id.is_empty()).then(|| id.to_owned())
}

fn is_enhanced(word: &str) -> bool {
    let parts: Vec<&str> = word.split('.').collect();
    parts.len() == 3 && parts.iter().all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The Message-ID under which a provider that replaces ours sends the mail, where its rule is known:
/// Amazon SES answers a bare id and writes `<id@REGION.amazonses.com>` (its documentation on message headers;
/// us-east-1 is `email.amazonses.com`).
pub fn provider_message_id(host: &str, queue_id: &str) -> Option<String> {
    let host = host.strip_prefix("email-smtp.").or_else(|| host.strip_prefix("email-smtp-fips."))?;
    let region = host.strip_suffix(".amazonaws.com")?;
    let domain = if region == "us-east-1" { "email" } else { region };
    Some(format!("<{queue_id}@{domain}.amazonses.com>"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queue_ids_are_found() {
        for (reply, id) in [
            ("250 2.0.0 queued as Q1", Some("Q1")),
            ("250 2.0.0 Ok: queued as 4XyZ12", Some("4XyZ12")),
            ("250 OK id=1abcDE-00", Some("1abcDE-00")),
            ("250 Ok 010f-abc-000000", Some("010f-abc-000000")),
            ("250 OK", None),
            ("250 2.0.0 message accepted for delivery", None),
        ] {
            assert_eq!(queue_id(reply).as_deref(), id, "{reply}");
        }
    }

    #[test]
    fn case_c11_an_id_is_qualified_only_where_the_rule_is_known() {
        let id = |host| provider_message_id(host, "010f-abc-000000");
        assert_eq!(
            id("email-smtp.eu-west-1.amazonaws.com").as_deref(),
            Some("<010f-abc-000000@eu-west-1.amazonses.com>")
        );
        assert_eq!(id("email-smtp.us-east-1.amazonaws.com").as_deref(), Some("<010f-abc-000000@email.amazonses.com>"));
        assert_eq!(id("smtp.example.test"), None);
    }
}
