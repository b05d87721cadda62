//! What may stand in a mail header: one line, also after encoded words are decoded (RFC 5322, RFC 2047).

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// A text that would break out of its header line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} has a line break or control character{hidden}: it could smuggle in another header, so it was refused")]
pub struct HeaderInjection {
    pub field: String,
    /// ` (hidden in an encoded word)` or nothing.
    pub hidden: &'static str,
}

/// Encoded words inside encoded words are followed this deep.
const NESTING: u8 = 3;

/// Refuses CR, LF, NUL and other control characters in `text`, plain or hidden in an encoded word.
pub fn check_header_text(field: &str, text: &str) -> Result<(), HeaderInjection> {
    if text.chars().any(breaks_line) {
        return Err(HeaderInjection { field: field.to_owned(), hidden: "" });
    }
    if hides_break(text, NESTING) {
        return Err(HeaderInjection { field: field.to_owned(), hidden: " (hidden in an encoded word)" });
    }
    Ok(())
}

/// A control character, or one of Unicode's own line ends. A tab is white space.
pub(super) fn breaks_line(c: char) -> bool {
    (c.is_control() && c != '\t') || matches!(c, '\u{2028}' | '\u{2029}')
}

fn hides_break(text: &str, depth: u8) -> bool {
    encoded_words(text).any(|(charset, encoding, payload)| {
        // UTF-7 writes line ends as ordinary letters; no honest subject needs it.
        if charset.eq_ignore_ascii_case("utf-7") {
            return true;
        }
        let bytes = match encoding {
            "q" | "Q" => decode_q(payload),
            _ => STANDARD_NO_PAD.decode(payload.trim_end_matches('=')).unwrap_or_default(),
        };
        if bytes.iter().any(|byte| matches!(byte, b'\r' | b'\n'))
            || String::from_utf8_lossy(&bytes).chars().any(|c| breaks_line(c) && c != '\0')
        {
            return true;
        }
        depth > 0 && hides_break(&String::from_utf8_lossy(&bytes), depth - 1)
    })
}

/// `=?charset?encoding?payload?=` wherever it stands, also where RFC 2047 would not read one.
fn encoded_words(text: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    text.match_indices("=?").filter_map(move |(at, _)| {
        let mut parts = text[at + 2..].splitn(3, '?');
        let (charset, encoding, rest) = (parts.next()?, parts.next()?, parts.next()?);
        let payload = &rest[..rest.find("?=").unwrap_or(rest.len())];
        // RFC 2231 allows a language after the charset.
        let charset = charset.split('*').next().unwrap_or(charset);
        matches!(encoding, "q" | "Q" | "b" | "B").then_some((charset, encoding, payload))
    })
}

fn decode_q(payload: &str) -> Vec<u8> {
    let bytes = payload.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let hex = (byte == b'=')
            .then(|| bytes.get(at + 1..at + 3))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match hex {
            Some(decoded) => {
                out.push(decoded);
                at += 3;
            }
            None => {
                out.push(if byte == b'_' { b' ' } else { byte });
                at += 1;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn case_c19_line_breaks_are_refused() {
        for text in ["Hi\r\nBcc: x@evil.test", "Hi\nBcc: x", "Hi\rBcc: x", "a\0b", "a\u{85}b", "a\u{2028}b", "a\u{b}b"]
        {
            assert!(check_header_text("subject", text).is_err(), "{text:?}");
        }
        for text in ["Hi", "Déjà vu\t2", "=?", "a =?x? b", "100 % =?utf-8?Q?ol=C3=A9?=", "=?utf-8?B?SG9sYQ==?="] {
            check_header_text("subject", text).expect(text);
        }
    }

    #[test]
    fn case_c20_line_breaks_in_encoded_words_are_refused() {
        for text in [
            "=?utf-8?Q?Hi=0D=0ABcc:_x@evil.test?=",
            "=?utf-8?q?Hi=0ABcc:_x?=",
            "=?iso-8859-1*es?Q?a=0Db?=",
            "=?utf-8?B?SGkNCkJjYzogeEBldmlsLnRlc3Q=?=",
            "=?UTF-8?b?SGkKQmNjOiB4?=",
            "x=?utf-8?Q?glued=0A?=y",
            "=?utf-7?Q?Hi+AA0ACg-Bcc?=",
            "=?utf-8?Q?=3D=3Futf-8=3FQ=3F=3D0A=3F=3D?=",
            "=?utf-8?Q?unfinished=0A",
        ] {
            let error = check_header_text("subject", text).expect_err(text);
            assert!(error.to_string().contains("encoded word"), "{error}");
        }
    }
}
