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
