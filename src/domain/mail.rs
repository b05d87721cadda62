//! Mail as it leaves and as it is read.

use serde::{Deserialize, Serialize};

/// Bytes fixed when the row becomes ready; every attempt sends the same.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FrozenMail {
    /// With angle brackets.
    pub message_id: String,
    pub envelope_from: String,
    /// All recipients (To, Cc, Bcc), deduplicated, as they go into RCPT.
    pub recipients: Vec<String>,
    pub needs_smtputf8: bool,
    #[serde(skip)]
    pub bytes: Vec<u8>,
}

impl FrozenMail {
    /// What was frozen, put together again from its stored parts.
    pub fn restored(message_id: String, envelope_from: String, recipients: Vec<String>, bytes: Vec<u8>) -> Self {
        let needs_smtputf8 = headers_need_smtputf8(&bytes)
            || !envelope_from.is_ascii()
            || recipients.iter().any(|address| !address.is_ascii());
        Self { message_id, envelope_from, recipients, needs_smtputf8, bytes }
    }
}

/// Whether the header section has a character beyond ASCII: an address that only SMTPUTF8 servers take (RFC 6531).
pub fn headers_need_smtputf8(bytes: &[u8]) -> bool {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap_or(bytes.len());
    !bytes[..end].is_ascii()
}

/// A refusal for now that wants the mail again in some minutes: enhanced code 4.7.1 in a 4xx reply, or the word.
pub fn is_greylisting(reply: &str) -> bool {
    let lower = reply.to_ascii_lowercase();
    lower.starts_with('4')
        && (lower.split_whitespace().any(|word| word == "4.7.1")
            || lower.contains("greylist")
            || lower.contains("graylist"))
}

/// A mail found by a search.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct MailSummary {
    /// Opaque to the model; `read_mail` takes it.
    pub id: String,
    pub message_id: Option<String>,
    pub from: String,
    pub to: Vec<String>,
    pub subject: String,
    pub date: Option<String>,
    pub preview: String,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct MailContent {
    pub summary: MailSummary,
    pub cc: Vec<String>,
    pub references: Vec<String>,
    pub text: String,
    /// name, mime, bytes
    pub attachments: Vec<(String, String, i64)>,
}

/// A delivery status notification (RFC 3464) for one recipient.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Bounce {
    /// Message-ID of the mail that bounced, with angle brackets.
    pub original_message_id: String,
    pub recipient: String,
    pub action: String,
    pub status: String,
    pub diagnostic: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greylisting_is_known_by_code_or_word() {
        assert!(is_greylisting("450 4.7.1 try again later") && is_greylisting("422 4.2.2 Greylisted"));
        assert!(!is_greylisting("451 4.3.0 busy") && !is_greylisting("554 5.7.1 greylist says no"));
        assert!(!is_greylisting("450 see rule 14.7.10"));
    }
}
