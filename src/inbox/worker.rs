//! Polls one source: a batch and its cursor are one synced transaction, and only then the next poll confirms them.

use std::sync::Arc;
use std::time::Duration;

use rusqlite::Transaction;

use super::accept::{Accepted, After, accept};
use super::acts::Acts;
use super::error::InboxError;
use super::health::{Health, SourceState};
use super::owners;
use super::settings::Settings;
use super::store;
use crate::domain::message::{InputKind, NewInput};
use crate::domain::ports::{Batch, Channel, Clock, IdSource, InboundSource, PollError};
use crate::domain::time::{Now, Wall};
use crate::outbox;
use crate::runtime::{backoff, failpoint};
use crate::store::{Durability, Store};

#[derive(Clone)]
pub struct Deps {
    pub store: Store,
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<dyn IdSource>,
    pub settings: Arc<Settings>,
    pub acts: Arc<dyn Acts>,
    pub source: Arc<dyn InboundSource>,
    /// To answer taps through.
    pub channel: Arc<dyn Channel>,
    pub health: Health,
}

/// The worker of one polled source.
pub struct Worker {
    deps: Deps,
    failures: u32,
    /// Wall time that the last poll's completion was written down.
    noted: Option<Wall>,
}

/// 409: another program polls; it may be our own last request that the server still holds. Jitter adds up to a quarter.
const CONFLICT: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(48));
const OFFLINE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(48));
/// How often a refused token is tried by itself; a new one is tried at once.
const UNAUTHORIZED: Duration = Duration::from_secs(300);
/// The last poll is written down at least this often, to tell a gap after a long absence.
const NOTE_EVERY: Duration = Duration::from_secs(600);
/// The server keeps what was not fetched for this long (<https://core.telegram.org/bots/api#getting-updates>).
const KEPT: Duration = Duration::from_secs(24 * 3600);

impl Worker {
    pub fn new(deps: Deps) -> Self {
        Self { deps, failures: 0, noted: None }
    }

    /// Runs until it is dropped.
    pub async fn run(mut self) {
        loop {
            match self.poll_as_one_account().await {
                Ok(()) => {}
                Err(Trouble::Source(error)) => self.wait_after(&error).await,
                Err(Trouble::Inbox(error)) => {
                    tracing::error!(%error, "what came in could not be stored yet; it is not confirmed");
                    let wait = self.next_wait(OFFLINE);
                    self.deps.clock.sleep(wait).await;
                }
            }
        }
    }

    /// Asks who we are, then polls until something goes wrong.
    async fn poll_as_one_account(&mut self) -> Result<(), Trouble> {
        let account = self.in_time(self.deps.source.account()).await?;
        self.deps.health.known_as(&account);
        let channel = self.deps.source.kind().as_str();
        let read_account = account.clone();
        let stands = self.deps.store.read(move |connection| store::cursor(connection, channel, &read_account)).await?;
        let mut cursor = stands.map(|(cursor, _)| cursor);
        let mut last_poll = stands.and_then(|(_, at)| at);
        loop {
            failpoint::hit("inbox.before_poll").map_err(crate::store::StoreError::from)?;
            let batch = self.in_time(self.deps.source.poll(cursor)).await?;
            let now = self.deps.clock.now();
            let gap = last_poll.take().filter(|at| now.wall.since(*at) > KEPT);
            let accepted = self.store_batch(&account, now, &batch, cursor, gap).await?;
            cursor = Some(batch.next_cursor);
            self.failures = 0;
            self.deps.health.polled(now.wall);
            for accepted in accepted {
                self.follow_up(accepted);
            }
        }
    }

    /// A request that outlives its time is dropped, and with it its connection.
    async fn in_time<T>(&self, request: impl Future<Output = Result<T, PollError>>) -> Result<T, PollError> {
        let limit = self.deps.settings.poll_timeout + self.deps.settings.poll_grace;
        tokio::select! {
            result = request => result,
            () = self.deps.clock.sleep(limit) => {
                Err(PollError::Offline { reason: "no answer to a poll; it was given up and is made again".to_owned() })
            }
        }
    }

    async fn store_batch(
        &mut self,
        account: &str,
        now: Now,
        batch: &Batch,
        cursor: Option<i64>,
        gap: Option<Wall>,
    ) -> Result<Vec<Accepted>, InboxError> {
        let due = self.noted.is_none_or(|at| now.wall.since(at) >= NOTE_EVERY || now.wall < at);
        if batch.inputs.is_empty() && cursor == Some(batch.next_cursor) && !due && gap.is_none() {
            return Ok(Vec::new());
        }
        // An empty poll only notes the time: it may ride the next sync.
        let durability = if batch.inputs.is_empty() { Durability::Normal } else { Durability::Full };
        let (settings, acts, account) = (self.deps.settings.clone(), self.deps.acts.clone(), account.to_owned());
        let kind = self.deps.source.kind();
        let (inputs, next) = (batch.inputs.clone(), batch.next_cursor);
        let accepted = self
            .deps
            .store
            .write("inbox.batch", durability, move |tx| {
                let mut accepted = Vec::with_capacity(inputs.len());
                for input in inputs {
                    accepted.push(one(tx, now, &settings, acts.as_ref(), input)?);
                }
                store::set_cursor(tx, kind.as_str(), &account, next, now.wall)?;
                if gap.is_some() {
                    let line = settings.language.pick(
                        "I was away for more than a day: messages you sent meanwhile may not have reached me.",
                        "Estuve fuera más de un día: puede que no me llegaran mensajes que enviaste entretanto.",
                    );
                    for conversation in owners::private_conversations(tx, &settings, kind, &account)? {
                        outbox::enqueue_notice(tx, now, conversation, line)?;
                    }
                }
                Ok::<_, InboxError>(accepted)
            })
            .await?;
        self.noted = Some(now.wall);
        Ok(accepted)
    }

    /// After the commit: losing this changes nothing that was decided.
    fn follow_up(&self, accepted: Accepted) {
        if let Some(After::AnswerTap { callback_id, text }) = accepted.after {
            let channel = self.deps.channel.clone();
            tokio::spawn(async move { channel.answer_tap(&callback_id, &text).await });
        }
    }

    async fn wait_after(&mut self, error: &PollError) {
        let (state, wait) = match error {
            PollError::Conflict => (SourceState::Conflict, self.next_wait(CONFLICT)),
            PollError::Unauthorized => (SourceState::Unauthorized, UNAUTHORIZED),
            PollError::RetryAfter(wait) => (SourceState::Offline, (*wait).max(Duration::from_secs(1))),
            PollError::Offline { .. } => (SourceState::Offline, self.next_wait(OFFLINE)),
        };
        let reason = crate::runtime::redact::redact(&error.to_string());
        tracing::warn!(state = state.as_str(), %reason, wait_ms = u64::try_from(wait.as_millis()).unwrap_or(0), "polling waits");
        self.deps.health.failed(state, reason);
        tokio::select! {
            () = self.deps.clock.sleep(wait) => {}
            () = self.deps.health.retry_asked() => {}
        }
    }

    fn next_wait(&mut self, (first, most): (Duration, Duration)) -> Duration {
        let wait = backoff::doubling(first, most, self.failures, self.deps.ids.fraction());
        self.failures = self.failures.saturating_add(1);
        wait
    }
}

/// One input of a batch. One that cannot be stored is recorded as failed and does not hold up the others.
fn one(
    tx: &Transaction<'_>,
    now: Now,
    settings: &Settings,
    acts: &dyn Acts,
    input: NewInput,
) -> Result<Accepted, InboxError> {
    tx.execute_batch("SAVEPOINT input")?;
    let key = input.dedupe_key.clone();
    let kept = NewInput { kind: InputKind::Poison, ..input.clone() };
    match accept(tx, now, settings, acts, input) {
        Ok(accepted) => {
            tx.execute_batch("RELEASE input")?;
            Ok(accepted)
        }
        Err(error) if error.is_poison() => {
            tracing::error!(%error, dedupe_key = key, "an input is set aside");
            tx.execute_batch("ROLLBACK TO input; RELEASE input")?;
            accept(tx, now, settings, acts, kept)
        }
        Err(error) => Err(error),
    }
}

enum Trouble {
    Source(PollError),
    Inbox(InboxError),
}

impl From<PollError> for Trouble {
    fn from(error: PollError) -> Self {
        Self::Source(error)
    }
}

impl From<InboxError> for Trouble {
    fn from(error: InboxError) -> Self {
        Self::Inbox(error)
    }
}

impl From<crate::store::StoreError> for Trouble {
    fn from(error: crate::store::StoreError) -> Self {
        Self::Inbox(error.into())
    }
}
