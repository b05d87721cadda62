//! Mail as an effect target: freezes, sends, and looks in Sent for what became of it.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json;

use crate::domain::action::{Action, SendEmail};
use crate::domain::address::{Mailbox, identity_of};
use crate::domain::effect::{DedupeClass, Dispatch, Found, Outcome, Performed, Receipt, ReceiptSource};
use crate::domain::mail::FrozenMail;
use crate::domain::ports::{EffectTarget, IdSource, MailReadError, MailReader, MailSender};
use crate::domain::time::Now;

/// Name of this target in effect rows.
pub const MAIL: &str = "mail";

/// One account: what sends, and what can be read back.
pub struct MailTarget {
    sender: Arc<dyn MailSender>,
    reader: Option<Arc<dyn MailReader>>,
    ids: Arc<dyn IdSource>,
}

impl MailTarget {
    pub fn new(sender: Arc<dyn MailSender>, reader: Option<Arc<dyn MailReader>>, ids: Arc<dyn IdSource>) -> Self {
        Self { sender, reader, ids }
    }

    /// We file the Sent copy, because the provider does not.
    fn owes_sent_copy(&self) -> bool {
        self.reader.is_some() && !self.sender.saves_only() && !self.sender.files_sent()
    }
}

#[async_trait]
impl EffectTarget for MailTarget {
    fn dedupe(&self) -> DedupeClass {
        match (&self.reader, self.sender.saves_only()) {
            // The same mail is the same file.
            (_, true) => DedupeClass::ClientId,
            (Some(_), false) => DedupeClass::Readable,
            (None, false) => DedupeClass::Neither,
        }
    }

    fn freeze(&self, dispatch: &Dispatch, now: Now) -> Result<Option<FrozenMail>, String> {
        self.sender.freeze(mail_of(&dispatch.action)?, &self.ids.token(), now.wall).map(Some)
    }

    async fn perform(&self, dispatch: &Dispatch) -> Performed {
        let mail = match frozen(dispatch) {
            Ok(mail) => mail,
            Err(reason) => {
                return Performed {
                    outcome: Outcome::Rejected { reason },
                    phase: "claimed".to_owned(),
                    reply: None,
                    recipients: Vec::new(),
                    provider_id: None,
                };
            }
        };
        let mut performed = self.sender.send(&mail, &dispatch.open_recipients, dispatch.provider_id.as_deref()).await;
        if let Outcome::Accepted { receipt } = &mut performed.outcome
            && self.owes_sent_copy()
        {
            // Filed after the acceptance is on disk; whatever comes of it, the mail stays accepted.
            receipt.detail["sent_copy"] = json!("due");
        }
        performed
    }

    async fn reconcile(&self, dispatch: &Dispatch) -> Found {
        if self.sender.saves_only() && self.reader.is_none() {
            // The same mail is the same file: writing it again finds it or makes it, and never makes two.
            return Found::No { authoritative: true, detail: "the file is written again".to_owned() };
        }
        let (Some(reader), Some(message_id)) = (&self.reader, &dispatch.message_id) else { return Found::CannotTell };
        if sent_may_be_of_an_earlier_part(dispatch) {
            let detail = "an earlier attempt reached other recipients: a copy in Sent would be theirs".to_owned();
            return Found::No { authoritative: false, detail };
        }
        match reader.find_sent(message_id).await {
            Ok(Some(place)) => Found::Yes {
                receipt: Receipt {
                    source: ReceiptSource::Found,
                    provider_id: dispatch.provider_id.clone(),
                    detail: json!({ "found_in": place, "saved_only": self.sender.saves_only() }),
                },
            },
            // A file that is not there was not written. A mail that is not in Sent may still have arrived.
            Ok(None) => Found::No {
                authoritative: self.sender.saves_only(),
                detail: format!("no mail with the Message-ID {message_id} in Sent"),
            },
            Err(MailReadError::NotConfigured) => Found::CannotTell,
            Err(error) => Found::Unreachable { reason: error.to_string() },
        }
    }
}

fn mail_of(action: &Action) -> Result<&SendEmail, String> {
    match action {
        Action::SendEmail(mail) => Ok(mail),
        Action::CreateEvent(_) | Action::UpdateEvent(_) | Action::DeleteEvent(_) | Action::Other(_) => {
            Err("this is not a mail".to_owned())
        }
    }
}

/// A later attempt speaks only to recipients that are still open, under the same Message-ID.
fn sent_may_be_of_an_earlier_part(dispatch: &Dispatch) -> bool {
    let Ok(mail) = mail_of(&dispatch.action) else { return false };
    let all: BTreeSet<String> =
        mail.to.iter().chain(&mail.cc).chain(&mail.bcc).map(|address| identity_of(address)).collect();
    dispatch.epoch > 1 && dispatch.open_recipients.len() < all.len()
}

/// The mail exactly as it was frozen.
fn frozen(dispatch: &Dispatch) -> Result<FrozenMail, String> {
    let mail = mail_of(&dispatch.action)?;
    let (Some(bytes), Some(message_id)) = (&dispatch.payload, &dispatch.message_id) else {
        return Err("the mail was never fixed: it cannot be sent".to_owned());
    };
    let from = Mailbox::parse(&mail.from).map_err(|error| error.to_string())?;
    Ok(FrozenMail::restored(message_id.clone(), from.address(), dispatch.open_recipients.clone(), bytes.clone()))
}
