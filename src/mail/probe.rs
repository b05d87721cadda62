//! What an account can prove: asked once at its set-up, by a mail from the account to itself.
//!
//! The probe is a person's act; it sends exactly one mail and never repeats it.

use std::sync::Arc;
use std::time::Duration;

use crate::domain::action::SendEmail;
use crate::domain::effect::Outcome;
use crate::domain::ports::{Clock, MailReadError, MailReader, MailSender};

/// When Sent is looked at after the probe left.
const LOOKS: [Duration; 4] =
    [Duration::from_secs(2), Duration::from_secs(5), Duration::from_secs(15), Duration::from_secs(30)];

/// What was seen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SentFiling {
    /// The provider put the copy there under our Message-ID: an unknown mail can be settled, and we must not file.
    ByProvider,
    /// Nothing appeared: we file a copy after an acceptance, and an unknown mail is settled by a person.
    Nobody,
    /// There is nothing to read.
    NotReadable { reason: String },
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Probed {
    pub sent: SentFiling,
    /// How long the copy took to show up.
    pub after: Option<Duration>,
}

/// Sends one mail from `from` to itself and looks for it in Sent. The error is for a person, and says whether it left.
pub async fn probe(
    sender: &dyn MailSender,
    reader: Option<&Arc<dyn MailReader>>,
    clock: &dyn Clock,
    from: &str,
    token: &str,
) -> Result<Probed, String> {
    let mail = SendEmail {
        from: from.to_owned(),
        to: vec![from.to_owned()],
        cc: Vec::new(),
        bcc: Vec::new(),
        subject: "Unavez: test of this mail account".to_owned(),
        body: "This mail tests whether sent mail can be found again. You can delete it.\n".to_owned(),
        html: None,
        attachments: Vec::new(),
        in_reply_to: None,
        references: Vec::new(),
        thread: None,
    };
    let frozen = sender.freeze(&mail, token, clock.now().wall)?;
    match sender.send(&frozen, &frozen.recipients, None).await.outcome {
        Outcome::Accepted { .. } => {}
        Outcome::Rejected { reason } | Outcome::Retryable { reason, .. } => {
            return Err(format!("the test mail was not sent: {reason}"));
        }
        Outcome::Unknown { reason } => {
            return Err(format!("it is not known whether the test mail was sent: {reason}"));
        }
    }
    let Some(reader) = reader else {
        let reason = MailReadError::NotConfigured.to_string();
        return Ok(Probed { sent: SentFiling::NotReadable { reason }, after: None });
    };
    let start = clock.now().elapsed;
    for wait in LOOKS {
        clock.sleep(wait).await;
        match reader.find_sent(&frozen.message_id).await {
            Ok(Some(_)) => {
                let after = Some(clock.now().elapsed.since(start));
                return Ok(Probed { sent: SentFiling::ByProvider, after });
            }
            Ok(None) => {}
            Err(error) => {
                return Ok(Probed { sent: SentFiling::NotReadable { reason: error.to_string() }, after: None });
            }
        }
    }
    Ok(Probed { sent: SentFiling::Nobody, after: None })
}
