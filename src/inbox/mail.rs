//! New mail of listed senders, each one input: the turn reads it as text that somebody else wrote.
//!
//! The mails of one look and the place where it ended are one synced transaction, so that none is missed or told twice.
//! Who a mail is from is only what it says: its text is fenced, and nothing in it is an owner's word.

use std::sync::Arc;
use std::time::Duration;

use super::accept::accept;
use super::acts::Acts;
use super::error::InboxError;
use super::settings::Settings;
use crate::domain::address::identity_of;
use crate::domain::conversation::{Address, ChannelKind, ConversationKind};
use crate::domain::ids::AccountId;
use crate::domain::mail::MailContent;
use crate::domain::message::{Forward, InputKind, NewInput, Parts};
use crate::domain::ports::{Arrived, Clock, MailNews, MailReadError};
use crate::domain::time::{Now, Wall};
use crate::runtime::backoff;
use crate::store::{Durability, Store, StoreError, meta};

/// Below the 30 min after which servers end an IDLE (RFC 2177), and the longest that a dead connection goes unnoticed.
const LONGEST_WAIT: Duration = Duration::from_secs(15 * 60);
/// Where the server cannot say that something came.
const LOOK_EVERY: Duration = Duration::from_secs(300);
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(900);

#[derive(Clone)]
pub struct MailDeps {
    pub store: Store,
    pub clock: Arc<dyn Clock>,
    pub settings: Arc<Settings>,
    pub acts: Arc<dyn Acts>,
    pub news: Arc<dyn MailNews>,
    pub account: AccountId,
    /// Whose mail starts a turn: addresses, in which `*` stands for anything.
    pub wake_on: Vec<String>,
}

/// The worker of one mailbox.
pub struct MailWorker {
    deps: MailDeps,
}

enum Trouble {
    Mail(MailReadError),
    Inbox(InboxError),
}

impl From<MailReadError> for Trouble {
    fn from(error: MailReadError) -> Self {
        Self::Mail(error)
    }
}

impl From<InboxError> for Trouble {
    fn from(error: InboxError) -> Self {
        Self::Inbox(error)
    }
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        Self::Inbox(error.into())
    }
}

impl MailWorker {
    pub fn new(deps: MailDeps) -> Self {
        Self { deps }
    }

    /// Runs until it is dropped.
    pub async fn run(self) {
        let mut failures = 0;
        loop {
            match self.look_and_wait().await {
                Ok(()) => failures = 0,
                Err(trouble) => {
                    match trouble {
                        Trouble::Mail(error) => tracing::warn!(%error, "the mailbox cannot be watched now"),
                        Trouble::Inbox(error) => tracing::error!(%error, "a new mail could not be stored yet"),
                    }
                    self.deps.clock.sleep(backoff::doubling(FIRST_PAUSE, LONGEST_PAUSE, failures, 0.5)).await;
                    failures = failures.saturating_add(1);
                }
            }
        }
    }

    async fn look_and_wait(&self) -> Result<(), Trouble> {
        let key = format!("inbox.mail.{}", self.deps.account);
        let known: Option<String> = {
            let key = key.clone();
            self.deps.store.read(move |connection| meta::get(connection, &key)).await?
        };
        let arrived = self.deps.news.arrived(known.as_deref()).await?;
        let (cursor, more) = (arrived.cursor.clone(), arrived.more);
        if known.as_ref() != Some(&cursor) {
            self.take(key, arrived).await?;
        }
        if more {
            return Ok(());
        }
        match self.deps.news.wait(&cursor, LONGEST_WAIT).await {
            Ok(_) => {}
            Err(MailReadError::Refused { reason }) => {
                tracing::debug!(reason, "the server does not tell of new mail");
                self.deps.clock.sleep(LOOK_EVERY).await;
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    async fn take(&self, key: String, arrived: Arrived) -> Result<(), InboxError> {
        let now = self.deps.clock.now();
        let inputs: Vec<NewInput> = arrived
            .mails
            .into_iter()
            .filter(|mail| is_listed(&self.deps.wake_on, &mail.summary.from))
            .map(|mail| input(&self.deps.account, now, mail))
            .collect();
        let durability = if inputs.is_empty() { Durability::Normal } else { Durability::Full };
        let (settings, acts) = (self.deps.settings.clone(), self.deps.acts.clone());
        self.deps
            .store
            .write("inbox.mail", durability, move |tx| {
                for input in inputs {
                    accept(tx, now, &settings, acts.as_ref(), input)?;
                }
                meta::set(tx, &key, &arrived.cursor)?;
                Ok(())
            })
            .await
    }
}

/// Whether `from` (with or without a name) is one of `patterns`.
fn is_listed(patterns: &[String], from: &str) -> bool {
    let address = identity_of(from);
    patterns.iter().any(|pattern| fits(&pattern.trim().to_lowercase(), &address))
}

/// `*` stands for anything, everything else for itself.
fn fits(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(text) = text.strip_prefix(head) else { return false };
    text.char_indices().map(|(at, _)| at).chain([text.len()]).any(|at| fits(rest, &text[at..]))
}

/// Known by its Message-ID, or by what it says where it has none: a second copy of a mail is the same input.
fn input(account: &AccountId, now: Now, mail: MailContent) -> NewInput {
    let MailContent { summary, text, attachments, .. } = mail;
    let sent_at = summary
        .date
        .as_deref()
        .and_then(|date| date.parse::<jiff::Timestamp>().ok())
        .map_or(now.wall, |date| Wall::from(date).min(now.wall));
    let mut lines = vec![
        format!("Subject: {}", summary.subject),
        format!("To: {}", summary.to.join(", ")),
        format!("read_mail id: {}", summary.id),
    ];
    lines.extend(attachments.iter().map(|(name, mime, _)| format!("Attached: {name} ({mime})")));
    lines.extend([String::new(), text]);
    let id = summary.message_id.clone().unwrap_or_else(|| summary.id.clone());
    NewInput {
        address: Some(Address {
            channel: ChannelKind::Window,
            account: "local".to_owned(),
            // Apart from what the person writes, so that no word of a mail is ever beside theirs.
            contact: format!("mail:{account}"),
            thread: String::new(),
        }),
        conversation_kind: ConversationKind::Private,
        conversation_title: account.to_string(),
        kind: InputKind::Message,
        dedupe_key: format!("mail:{account}:{id}"),
        external_id: Some(id),
        // Each sender speaks for themselves: their mails are not merged with those of others.
        sender_id: identity_of(&summary.from),
        sender_name: summary.from.clone(),
        owner: true,
        text: lines.join("\n"),
        parts: Parts { forward: Some(Forward { origin: format!("{}, by mail", summary.from) }), ..Parts::default() },
        sent_at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn senders_are_listed_by_address_and_pattern() {
        let patterns = ["Ana@Example.test".to_owned(), "*@bank.test".to_owned(), "alert*@*.test".to_owned()];
        for from in ["Ana <ana@example.test>", "no-reply@bank.test", "alerts-7@ops.test"] {
            assert!(is_listed(&patterns, from), "{from}");
        }
        for from in ["ana@bank.test.evil.test", "\"ana@example.test\" <eve@evil.test>", "alert@test", ""] {
            assert!(!is_listed(&patterns, from), "{from}");
        }
        assert!(!is_listed(&[], "ana@example.test"));
    }
}
