//! Keeps secrets out of logs, stored errors and exports: by value for the secrets in use, by shape for the rest.

use std::sync::{OnceLock, RwLock};

const MASK: &str = "[secret]";

fn known() -> &'static RwLock<Vec<String>> {
    static KNOWN: OnceLock<RwLock<Vec<String>>> = OnceLock::new();
    KNOWN.get_or_init(RwLock::default)
}

/// From now on this value is masked wherever it would be written.
pub fn remember_secret(value: &str) {
    // Shorter values would mask ordinary words.
    if value.len() < 6 {
        return;
    }
    let mut known = known().write().unwrap_or_else(std::sync::PoisonError::into_inner);
    if !known.iter().any(|seen| seen == value) {
        known.push(value.to_owned());
    }
}

/// `text` without known secrets, bot tokens in URLs, and passwords in URLs.
pub fn redact(text: &str) -> String {
    let mut out = text.to_owned();
    for secret in known().read().unwrap_or_else(std::sync::PoisonError::into_inner).iter() {
        if out.contains(secret.as_str()) {
            out = out.replace(secret.as_str(), MASK);
        }
    }
    mask_after(&mask_userinfo(&out))
}

/// `scheme://user:password@host` loses its password.
fn mask_userinfo(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (head, tail) = rest.split_at(at + 3);
        out.push_str(head);
        let end = tail.find(|c: char| c == '/' || c.is_whitespace() || c == '"' || c == '\'').unwrap_or(tail.len());
        let authority = &tail[..end];
        match authority.rfind('@').and_then(|at| authority[..at].find(':').map(|colon| (colon, at))) {
            Some((colon, at)) => {
                out.push_str(&authority[..colon]);
                out.push(':');
                out.push_str(MASK);
                out.push_str(&authority[at..]);
            }
            None => out.push_str(authority),
        }
        rest = &tail[end..];
    }
    out.push_str(rest);
    out
}

/// Bot tokens (`bot<digits>:<secret>`) and values after `Bearer `, `access_token=` and the like.
fn mask_after(text: &str) -> String {
    const MARKERS: [&str; 8] =
        ["Bearer ", "bearer ", "access_token=", "refresh_token=", "client_secret=", "api_key=", "password=", "key="];
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    'scan: while !rest.is_empty() {
        for marker in MARKERS {
            if let Some(tail) = rest.strip_prefix(marker) {
                let end = tail.find(|c: char| c.is_whitespace() || "&\"',;)".contains(c)).unwrap_or(tail.len());
                out.push_str(marker);
                out.push_str(if end > 0 { MASK } else { "" });
                rest = &tail[end..];
                continue 'scan;
            }
        }
        if let Some(length) = bot_token_length(rest) {
            out.push_str("bot");
            out.push_str(MASK);
            rest = &rest[length..];
            continue;
        }
        let mut chars = rest.chars();
        out.extend(chars.next());
        rest = chars.as_str();
    }
    out
}

fn bot_token_length(text: &str) -> Option<usize> {
    let tail = text.strip_prefix("bot")?;
    let digits = tail.bytes().take_while(u8::is_ascii_digit).count();
    let secret = tail.get(digits..)?.strip_prefix(':')?;
    let length = secret.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_' || *b == b'-').count();
    (digits > 0 && length > 0).then_some(3 + digits + 1 + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_and_passwords_are_masked_by_shape() {
        for (text, masked) in [
            (
                "https://api.telegram.org/bot123:ABC/sendMessage timed out",
                "https://api.telegram.org/bot[secret]/sendMessage timed out",
            ),
            ("smtps://u:p@host", "smtps://u:[secret]@host"),
            ("Authorization: Bearer abc.def", "Authorization: Bearer [secret]"),
            ("plain https://host/path?x=1", "plain https://host/path?x=1"),
            ("robots: 12", "robots: 12"),
        ] {
            assert_eq!(redact(text), masked);
        }
    }

    #[test]
    fn a_known_secret_is_masked_by_value() {
        remember_secret("s3cr3t-value");
        assert_eq!(redact("wrong: s3cr3t-value!"), "wrong: [secret]!");
    }
}
