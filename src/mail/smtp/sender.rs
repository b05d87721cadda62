//! One attempt from connect to the reply, summed up per recipient.

use async_trait::async_trait;
use lettre::Address;
use serde_json::json;

use super::dialogue::{Delivered, Dialogue, SignIn, Stopped};
use super::reply::{Step, provider_message_id, queue_id};
use super::settings::SmtpSettings;
use crate::domain::action::SendEmail;
use crate::domain::address::Mailbox;
use crate::domain::effect::{Outcome, Performed, Receipt, ReceiptSource, RecipientResult, RecipientState};
use crate::domain::ids::AccountId;
use crate::domain::mail::{FrozenMail, headers_need_smtputf8, is_greylisting};
use crate::domain::ports::MailSender;
use crate::domain::time::Wall;
use crate::mail::compose::Composer;
use crate::mail::credential::Credential;

/// Sends through one SMTP account.
pub struct SmtpSender {
    settings: SmtpSettings,
    credential: Credential,
    account: AccountId,
    composer: Composer,
}

impl SmtpSender {
    pub fn new(settings: SmtpSettings, credential: Credential, account: AccountId, composer: Composer) -> Self {
        Self { settings, credential, account, composer }
    }

    pub fn settings(&self) -> &SmtpSettings {
        &self.settings
    }

    /// Connects and signs in, and says in words what failed. Sends nothing.
    pub async fn check(&self) -> Result<(), String> {
        let dialogue = self.open().await.map_err(|stopped| stopped.in_words(&self.settings.host))?;
        dialogue.quit();
        Ok(())
    }

    async fn open(&self) -> Result<Dialogue<'_>, Stopped> {
        let sign_in = if self.settings.user.is_empty() {
            SignIn::None
        } else {
            let secret = self.credential.secret().await;
            // No reply of the server was heard: what is missing may be there at the next attempt.
            let secret = secret.map_err(|error| Stopped { phase: "auth", step: Step::Broken(error.to_string()) })?;
            match (secret, &self.credential) {
                (None, _) => SignIn::None,
                (Some(secret), Credential::Token(_)) => SignIn::Token(self.settings.user.clone(), secret),
                (Some(secret), Credential::Password { .. } | Credential::None) => {
                    SignIn::Password(self.settings.user.clone(), secret)
                }
            }
        };
        Dialogue::open(&self.settings, sign_in).await
    }

    async fn attempt(&self, mail: &FrozenMail, recipients: &[String]) -> Performed {
        let mut ledger = Ledger::new(recipients);
        let Ok(from) = mail.envelope_from.parse::<Address>() else {
            let reason = format!("{} cannot be a sender", mail.envelope_from);
            return ledger.end("mail_from", &Step::No(reason));
        };
        let mut dialogue = match self.open().await {
            Ok(dialogue) => dialogue,
            Err(stopped) => {
                let words = stopped.in_words(&self.settings.host);
                return ledger.end_with(stopped.phase, &stopped.step, words);
            }
        };

        // Before MAIL FROM: nothing is said to a server that could only fail on it.
        if !dialogue.supports_smtputf8() {
            if headers_need_smtputf8(&mail.bytes) || !from.to_string().is_ascii() {
                dialogue.quit();
                let reason = "the server cannot carry letters beyond ASCII before the @ (no SMTPUTF8): not sent";
                return ledger.end("mail_from", &Step::No(reason.to_owned()));
            }
            for address in ledger.open() {
                if Mailbox::parse(&address).is_ok_and(|mailbox| mailbox.needs_smtputf8()) {
                    ledger.refuse(
                        &address,
                        "the server cannot deliver to letters beyond ASCII before the @ (no SMTPUTF8)",
                    );
                }
            }
            if ledger.open().is_empty() {
                dialogue.quit();
                return ledger.finish("mail_from", None);
            }
        }

        let smtputf8 = dialogue.supports_smtputf8() && mail.needs_smtputf8;
        let step = dialogue.mail_from(from, smtputf8, !mail.bytes.is_ascii()).await;
        if !matches!(step, Step::Yes(_)) {
            return close(dialogue, &step, ledger.end("mail_from", &step));
        }
        let mut willing = Vec::new();
        for address in ledger.open() {
            let step = match address.parse::<Address>() {
                Ok(parsed) => dialogue.recipient(parsed).await,
                Err(_) => Step::No("its form is not supported".to_owned()),
            };
            match step {
                Step::Yes(_) => willing.push(address),
                Step::No(reply) => ledger.refuse(&address, &reply),
                // 421: the server is closing (RFC 5321 3.8).
                Step::NotNow(ref reply) if reply.starts_with("421") => {
                    return close(dialogue, &step, ledger.end("rcpt", &step));
                }
                Step::NotNow(reply) => ledger.postpone(&address, &reply),
                Step::Broken(_) => return close(dialogue, &step, ledger.end("rcpt", &step)),
            }
        }
        if willing.is_empty() {
            dialogue.quit();
            return ledger.finish("rcpt", None);
        }
        let step = dialogue.data().await;
        if !matches!(step, Step::Yes(_)) {
            return close(dialogue, &step, ledger.end_for(&willing, "data", &step));
        }
        match dialogue.body(&mail.bytes).await {
            Delivered::Silence { reason } => {
                let reason = format!("{reason}: the server may have taken the mail");
                ledger.unknown("final_dot", reason)
            }
            Delivered::Answered { before_dot, step } => {
                let performed = match &step {
                    Step::Yes(reply) => {
                        for address in &willing {
                            ledger.accept(address, reply);
                        }
                        ledger.finish("done", Some(self.receipt(reply)))
                    }
                    other => ledger.end_for(&willing, if before_dot { "body" } else { "final_dot" }, other),
                };
                close(dialogue, &step, performed)
            }
        }
    }

    fn receipt(&self, reply: &str) -> Receipt {
        let id = queue_id(reply);
        let theirs = id.as_deref().and_then(|id| provider_message_id(&self.settings.host, id));
        Receipt {
            source: ReceiptSource::Provider,
            provider_id: id,
            detail: json!({ "reply": reply, "server": self.settings.host, "provider_message_id": theirs }),
        }
    }
}

/// Ends the dialogue politely where the connection still stands.
fn close(dialogue: Dialogue<'_>, step: &Step, performed: Performed) -> Performed {
    if !matches!(step, Step::Broken(_)) {
        dialogue.quit();
    }
    performed
}

#[async_trait]
impl MailSender for SmtpSender {
    fn account(&self) -> AccountId {
        self.account.clone()
    }
    fn backend(&self) -> &'static str {
        "smtp"
    }
    fn saves_only(&self) -> bool {
        false
    }
    fn files_sent(&self) -> bool {
        self.settings.files_sent
    }
    fn freeze(&self, mail: &SendEmail, token: &str, at: Wall) -> Result<FrozenMail, String> {
        self.composer.freeze(mail, token, at).map_err(|error| error.to_string())
    }
    async fn send(&self, mail: &FrozenMail, recipients: &[String], _provider_id: Option<&str>) -> Performed {
        self.attempt(mail, recipients).await
    }
}

impl Stopped {
    /// What failed, and what to do about it.
    fn in_words(&self, host: &str) -> String {
        match (self.phase, &self.step) {
            ("auth", Step::No(reply)) => {
                format!("{host} refused the sign-in ({reply}): check user and password of the mail account")
            }
            (_, Step::No(reply) | Step::NotNow(reply)) => format!("{host} answered {reply}"),
            (_, Step::Broken(reason) | Step::Yes(reason)) => reason.clone(),
        }
    }
}

/// Results of one attempt, recipient by recipient.
struct Ledger {
    results: Vec<RecipientResult>,
}

impl Ledger {
    fn new(recipients: &[String]) -> Self {
        let open =
            |address: &String| RecipientResult { address: address.clone(), state: RecipientState::Open, reply: None };
        Self { results: recipients.iter().map(open).collect() }
    }

    fn open(&self) -> Vec<String> {
        let open = self.results.iter().filter(|result| result.state == RecipientState::Open);
        open.map(|result| result.address.clone()).collect()
    }

    fn set(&mut self, address: &str, state: RecipientState, reply: &str) {
        if let Some(result) = self.results.iter_mut().find(|result| result.address == address) {
            result.state = state;
            result.reply = Some(reply.to_owned());
        }
    }
    fn accept(&mut self, address: &str, reply: &str) {
        self.set(address, RecipientState::Accepted, reply);
    }
    fn refuse(&mut self, address: &str, reply: &str) {
        self.set(address, RecipientState::Rejected, reply);
    }
    fn postpone(&mut self, address: &str, reply: &str) {
        self.set(address, RecipientState::Open, reply);
    }

    /// The step decides for everybody who is still open.
    fn end(self, phase: &str, step: &Step) -> Performed {
        let words = step.reply().to_owned();
        self.end_with(phase, step, words)
    }

    fn end_with(self, phase: &str, step: &Step, words: String) -> Performed {
        let open = self.open();
        let mut performed = self.end_for(&open, phase, step);
        if let Outcome::Rejected { reason } | Outcome::Retryable { reason, .. } = &mut performed.outcome {
            *reason = words;
        }
        performed
    }

    /// The step decides for `addresses`; who was postponed before stays open.
    fn end_for(mut self, addresses: &[String], phase: &str, step: &Step) -> Performed {
        for address in addresses {
            match step {
                Step::No(reply) => self.refuse(address, reply),
                Step::NotNow(reply) => self.postpone(address, reply),
                Step::Broken(_) | Step::Yes(_) => {}
            }
        }
        let words = step.reply().to_owned();
        let mut performed = self.finish(phase, None);
        if let Outcome::Retryable { reason, greylisted, .. } = &mut performed.outcome
            && !matches!(step, Step::No(_))
        {
            *greylisted = is_greylisting(&words);
            *reason = words.clone();
        }
        performed.reply = Some(words);
        performed
    }

    fn unknown(self, phase: &str, reason: String) -> Performed {
        Performed {
            outcome: Outcome::Unknown { reason },
            phase: phase.to_owned(),
            reply: None,
            recipients: self.results,
            provider_id: None,
        }
    }

    /// Accepted when anyone was (the receipt is theirs; who is open stays so), else retryable while anyone is open,
    /// else rejected.
    fn finish(self, phase: &str, receipt: Option<Receipt>) -> Performed {
        let of =
            |state| self.results.iter().find(|result| result.state == state).and_then(|result| result.reply.clone());
        let reply = receipt.as_ref().and_then(|receipt| receipt.detail["reply"].as_str().map(str::to_owned));
        let open = self.results.iter().any(|result| result.state == RecipientState::Open);
        let outcome = if let Some(receipt) = receipt {
            Outcome::Accepted { receipt }
        } else if open {
            let reason = of(RecipientState::Open).unwrap_or_else(|| "not accepted yet".to_owned());
            let greylisted = is_greylisting(&reason);
            Outcome::Retryable { reason, retry_after: None, greylisted }
        } else {
            Outcome::Rejected { reason: of(RecipientState::Rejected).unwrap_or_else(|| "refused".to_owned()) }
        };
        let reply = reply.or_else(|| of(RecipientState::Open)).or_else(|| of(RecipientState::Rejected));
        Performed { outcome, phase: phase.to_owned(), reply, recipients: self.results, provider_id: None }
    }
}
