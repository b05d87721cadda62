//! Sending: a draft, then that draft, once.

use std::sync::Arc;

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE;
use serde_json::{Value, json};

use super::client::{GmailClient, GmailError};
use crate::domain::action::SendEmail;
use crate::domain::effect::{Outcome, Performed, Receipt, ReceiptSource, RecipientResult, RecipientState};
use crate::domain::ids::AccountId;
use crate::domain::mail::FrozenMail;
use crate::domain::ports::MailSender;
use crate::domain::time::Wall;
use crate::mail::compose::Composer;
use crate::runtime::failpoint;

pub struct GmailSender {
    client: Arc<GmailClient>,
    account: AccountId,
    composer: Composer,
}

impl GmailSender {
    pub fn new(client: Arc<GmailClient>, account: AccountId, composer: Composer) -> Self {
        // Gmail takes the recipients from the headers, and removes Bcc from what it delivers.
        Self { client, account, composer: Composer { keep_bcc: true, ..composer } }
    }

    /// Signs in without sending; the error is for a person.
    pub async fn check(&self) -> Result<(), String> {
        self.client.get("/profile", &[]).await.map(|_| ()).map_err(|error| error.to_string())
    }

    async fn attempt(&self, mail: &FrozenMail, recipients: &[String], draft: Option<&str>) -> Performed {
        if let Err(failed) = failpoint::hit("gmail.before_draft") {
            return retryable(recipients, "request", failed.to_string(), None);
        }
        let raw = URL_SAFE.encode(&mail.bytes);
        let draft = match draft.and_then(|handle| handle.strip_prefix(DRAFT)) {
            Some(known) => Some(known.to_owned()),
            None => match self.client.post("/drafts", &json!({ "message": { "raw": raw } })).await {
                Ok(answer) => answer["id"].as_str().map(str::to_owned),
                // A server without drafts: the mail is sent as it is.
                Err(GmailError::NotFound { .. }) => None,
                // A draft is no mail; one that was made unnoticed stays in the drafts.
                Err(GmailError::NoAnswer { reason }) => return retryable(recipients, "draft", reason, None),
                Err(GmailError::NotNow { reason, retry_after }) => {
                    return retryable(recipients, "draft", reason, retry_after);
                }
                Err(error @ (GmailError::SignIn { .. } | GmailError::Refused { .. })) => {
                    return rejected(recipients, "draft", error.to_string());
                }
            },
        };
        let handle = draft.as_ref().map(|id| format!("{DRAFT}{id}"));
        if let Err(failed) = failpoint::hit("gmail.before_send") {
            return Performed { provider_id: handle, ..retryable(recipients, "request", failed.to_string(), None) };
        }
        let sent = match &draft {
            Some(id) => self.client.post("/drafts/send", &json!({ "id": id })).await,
            None => self.client.post("/messages/send", &json!({ "raw": raw })).await,
        };
        let performed = match sent {
            Ok(answer) => accepted(recipients, &answer),
            Err(GmailError::NotNow { reason, retry_after }) => retryable(recipients, "request", reason, retry_after),
            Err(GmailError::NoAnswer { reason }) => unknown(recipients, reason),
            // Gmail consumes a draft when it sends it; a person may have deleted or sent it as well.
            Err(GmailError::NotFound { reason }) if draft.is_some() => {
                unknown(recipients, format!("the draft is gone, it may have been sent ({reason})"))
            }
            Err(error @ (GmailError::NotFound { .. } | GmailError::SignIn { .. } | GmailError::Refused { .. })) => {
                rejected(recipients, "request", error.to_string())
            }
        };
        if let Err(failed) = failpoint::hit("gmail.after_send") {
            return Performed { provider_id: handle, ..unknown(recipients, failed.to_string()) };
        }
        match performed.outcome {
            Outcome::Accepted { .. } => performed,
            Outcome::Rejected { .. } | Outcome::Retryable { .. } | Outcome::Unknown { .. } => {
                Performed { provider_id: handle, ..performed }
            }
        }
    }
}

/// Marks a stored handle as a draft that was not sent yet.
pub(super) const DRAFT: &str = "draft:";

#[async_trait]
impl MailSender for GmailSender {
    fn account(&self) -> AccountId {
        self.account.clone()
    }
    fn backend(&self) -> &'static str {
        "gmail"
    }
    fn saves_only(&self) -> bool {
        false
    }
    fn files_sent(&self) -> bool {
        true
    }
    fn freeze(&self, mail: &SendEmail, token: &str, at: Wall) -> Result<FrozenMail, String> {
        self.composer.freeze(mail, token, at).map_err(|error| error.to_string())
    }
    async fn send(&self, mail: &FrozenMail, recipients: &[String], provider_id: Option<&str>) -> Performed {
        self.attempt(mail, recipients, provider_id).await
    }
}

fn all(recipients: &[String], state: RecipientState, reply: Option<&str>) -> Vec<RecipientResult> {
    let one = |address: &String| RecipientResult { address: address.clone(), state, reply: reply.map(str::to_owned) };
    recipients.iter().map(one).collect()
}

fn accepted(recipients: &[String], answer: &Value) -> Performed {
    let id = answer["id"].as_str().map(str::to_owned);
    let reply = format!("200 accepted as {}", id.as_deref().unwrap_or("(no id in the answer)"));
    Performed {
        outcome: Outcome::Accepted {
            receipt: Receipt {
                source: ReceiptSource::Provider,
                provider_id: id,
                detail: json!({ "reply": reply, "server": "gmail", "thread": answer["threadId"] }),
            },
        },
        phase: "done".to_owned(),
        recipients: all(recipients, RecipientState::Accepted, Some(&reply)),
        reply: Some(reply),
        provider_id: None,
    }
}

fn retryable(
    recipients: &[String],
    phase: &str,
    reason: String,
    retry_after: Option<std::time::Duration>,
) -> Performed {
    Performed {
        reply: Some(reason.clone()),
        recipients: all(recipients, RecipientState::Open, Some(&reason)),
        outcome: Outcome::Retryable { reason, retry_after, greylisted: false },
        phase: phase.to_owned(),
        provider_id: None,
    }
}

fn rejected(recipients: &[String], phase: &str, reason: String) -> Performed {
    Performed {
        reply: Some(reason.clone()),
        recipients: all(recipients, RecipientState::Rejected, Some(&reason)),
        outcome: Outcome::Rejected { reason },
        phase: phase.to_owned(),
        provider_id: None,
    }
}

fn unknown(recipients: &[String], reason: String) -> Performed {
    Performed {
        reply: Some(reason.clone()),
        recipients: all(recipients, RecipientState::Open, None),
        outcome: Outcome::Unknown { reason },
        phase: "request".to_owned(),
        provider_id: None,
    }
}
