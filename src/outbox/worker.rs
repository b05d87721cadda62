//! Hands rows to channels: one message at a time per conversation, conversations side by side.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use super::channels::Channels;
use super::claim::{self, Claimed, Head};
use super::edits;
use super::enums::State;
use super::rates::Limiter;
use super::settings::Settings;
use super::settle::{self, Policy, Progress};
use crate::domain::conversation::{Address, ChannelKind, ConversationKind};
use crate::domain::ids::{ConversationId, OutboundId};
use crate::domain::ports::{Channel, Clock, IdSource, OutboundPart, SendOutcome, SendRefusal};
use crate::domain::time::Elapsed;
use crate::runtime::failpoint;
use crate::store::{Durability, Store, StoreError, Table};

#[derive(Clone)]
pub struct Deps {
    pub store: Store,
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<dyn IdSource>,
    pub channels: Channels,
    pub settings: Arc<Settings>,
}

/// What one request came to, for the limiter.
pub(super) struct Sent {
    conversation: ConversationId,
    address: Address,
    hold: Option<Duration>,
    /// The store failed: look again later.
    stumbled: bool,
}

/// The outbox's worker.
pub struct Worker {
    deps: Deps,
    limiters: HashMap<ChannelKind, Limiter>,
    /// Conversations with a request on its way.
    busy: HashSet<ConversationId>,
    requests: JoinSet<Sent>,
}

/// After an error of the store.
const STUMBLE: Duration = Duration::from_secs(1);

impl Worker {
    pub fn new(deps: Deps) -> Self {
        let limiters = deps.settings.rates.iter().map(|(kind, rates)| (*kind, Limiter::new(rates.clone()))).collect();
        Self { deps, limiters, busy: HashSet::new(), requests: JoinSet::new() }
    }

    /// Runs until it is dropped.
    pub async fn run(mut self) {
        let watch = self.deps.store.watch(&[Table::Outbound, Table::OutboundEdits, Table::Conversations]);
        while let Err(error) = self.recover().await {
            tracing::error!(%error, "the outbox cannot start yet");
            self.deps.clock.sleep(STUMBLE).await;
        }
        loop {
            let next = match self.round().await {
                Ok(next) => next,
                Err(error) => {
                    tracing::error!(%error, "the outbox stumbled");
                    Some(self.deps.clock.now().elapsed.plus(STUMBLE))
                }
            };
            let clock = self.deps.clock.clone();
            let due = async move {
                match next {
                    Some(at) => clock.sleep(at.since(clock.now().elapsed)).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = watch.changed() => {}
                () = due => {}
                Some(sent) = self.requests.join_next() => {
                    match sent {
                        Ok(sent) => self.returned(sent).await,
                        // The row stays `sending` and its conversation busy: uncertain at the next start.
                        Err(error) => tracing::error!(%error, "a delivery ended unexpectedly"),
                    }
                }
            }
        }
    }

    async fn recover(&self) -> Result<(), StoreError> {
        let now = self.deps.clock.now();
        let count =
            self.deps.store.write("outbox.recover", Durability::Full, move |tx| settle::recover(tx, now)).await?;
        if count > 0 {
            tracing::warn!(count, "messages found in the middle of being sent are uncertain");
        }
        Ok(())
    }

    async fn returned(&mut self, sent: Sent) {
        self.busy.remove(&sent.conversation);
        let now = self.deps.clock.now().elapsed;
        if let (Some(hold), Some(limiter)) = (sent.hold, self.limiters.get_mut(&sent.address.channel)) {
            limiter.hold(&sent.address, now, now.plus(hold));
        }
        if sent.stumbled {
            self.deps.clock.sleep(STUMBLE).await;
        }
    }

    /// Starts every request that may leave now. Gives when the next one may.
    async fn round(&mut self) -> Result<Option<Elapsed>, StoreError> {
        let mut next: Option<Elapsed> = None;
        for head in self.deps.store.read(claim::heads).await? {
            if head.state == State::Sending || head.amending || self.busy.contains(&head.conversation) {
                continue;
            }
            let Some(channel) = self.deps.channels.get(head.address.channel).cloned() else { continue };
            let at = self.ready_at(&head.address, head.conversation_kind, head.not_before);
            if at > self.deps.clock.now().elapsed {
                next = Some(next.map_or(at, |other| other.min(at)));
                continue;
            }
            self.taken(&head.address, head.conversation_kind);
            self.busy.insert(head.conversation);
            self.requests.spawn(deliver(self.deps.clone(), channel, head));
        }
        for due in self.deps.store.read(edits::due).await? {
            if self.busy.contains(&due.conversation) {
                continue;
            }
            let Some(channel) = self.deps.channels.get(due.address.channel).cloned() else { continue };
            let at = self.ready_at(&due.address, ConversationKind::Private, due.not_before);
            if at > self.deps.clock.now().elapsed {
                next = Some(next.map_or(at, |other| other.min(at)));
                continue;
            }
            self.taken(&due.address, ConversationKind::Private);
            self.busy.insert(due.conversation);
            self.requests.spawn(amend(self.deps.clone(), channel, due));
        }
        Ok(next)
    }

    fn ready_at(&self, to: &Address, kind: ConversationKind, not_before: Elapsed) -> Elapsed {
        self.limiters.get(&to.channel).map_or(not_before, |limiter| limiter.ready_at(to, kind).max(not_before))
    }

    fn taken(&mut self, to: &Address, kind: ConversationKind) {
        let now = self.deps.clock.now().elapsed;
        if let Some(limiter) = self.limiters.get_mut(&to.channel) {
            limiter.take(to, kind, now);
        }
    }
}

/// Sends the next part of one message.
async fn deliver(deps: Deps, channel: Arc<dyn Channel>, head: Head) -> Sent {
    let mut sent = Sent { conversation: head.conversation, address: head.address.clone(), hold: None, stumbled: false };
    match try_deliver(&deps, channel.as_ref(), head.id).await {
        Ok(hold) => sent.hold = hold,
        Err(error) => {
            tracing::error!(%error, outbound_id = head.id.0, "a delivery could not be written down");
            sent.stumbled = true;
        }
    }
    sent
}

async fn try_deliver(deps: &Deps, channel: &dyn Channel, id: OutboundId) -> Result<Option<Duration>, StoreError> {
    let claimed = deps.store.write("outbox.claim", Durability::Full, move |tx| claim::claim(tx, id)).await?;
    let Some(claimed) = claimed else { return Ok(None) };
    let parts = channel.split(&claimed.content);
    let (progress, outcome) = match parts.get(claimed.parts_done) {
        Some(markdown) => {
            let progress = Progress { part: claimed.parts_done, total: parts.len() };
            (progress, send_part(channel, &claimed, markdown.clone(), progress).await)
        }
        // A message that grew is whole: its last edit was made before it came here.
        None if claimed.parts_done > 0 && !parts.is_empty() => {
            (Progress { part: parts.len() - 1, total: parts.len() }, SendOutcome::Delivered { external_id: None })
        }
        None => (
            Progress { part: claimed.parts_done, total: parts.len() },
            SendOutcome::Refused { reason: "there is nothing to send".to_owned(), kind: SendRefusal::Other },
        ),
    };
    let hold = match &outcome {
        SendOutcome::NotSent { retry_after, .. } => *retry_after,
        SendOutcome::Delivered { .. } | SendOutcome::Uncertain { .. } | SendOutcome::Refused { .. } => None,
    };
    // What came of a request is known only here until it is written: keep trying.
    let mut tries = 0;
    loop {
        let now = deps.clock.now();
        let (claimed, outcome) = (claimed.clone(), outcome.clone());
        let policy = Policy {
            fall_back: deps.settings.fallback_to_batch_on_error,
            edit_interval: deps.settings.edit_interval,
            language: deps.settings.language,
            fraction: deps.ids.fraction(),
        };
        let written = deps
            .store
            .write("outbox.settle", Durability::Normal, move |tx| {
                settle::settle(tx, now, &claimed, progress, &outcome, &policy)
            })
            .await;
        match written {
            Ok(_) => return Ok(hold),
            Err(error) if error.is_transient() && tries < 30 => {
                tries += 1;
                tracing::warn!(%error, "what came of a delivery could not be written down yet");
                deps.clock.sleep(STUMBLE).await;
            }
            Err(error) => return Err(error),
        }
    }
}

async fn send_part(channel: &dyn Channel, claimed: &Claimed, markdown: String, progress: Progress) -> SendOutcome {
    let last = progress.part + 1 == progress.total;
    let mut part = OutboundPart {
        to: claimed.address.clone(),
        markdown,
        plain: false,
        buttons: if last { claimed.buttons.clone() } else { Vec::new() },
        reply_to: if progress.part == 0 { claimed.reply_to.clone() } else { None },
    };
    let outcome = request(channel, &part).await;
    match outcome {
        // Refused for its formatting alone: this part, once, as plain text.
        SendOutcome::Refused { kind: SendRefusal::Entities, .. } => {
            part.plain = true;
            request(channel, &part).await
        }
        outcome => outcome,
    }
}

async fn request(channel: &dyn Channel, part: &OutboundPart) -> SendOutcome {
    if let Err(failed) = failpoint::hit("outbox.before_request") {
        return SendOutcome::NotSent { reason: failed.to_string(), retry_after: None };
    }
    let outcome = channel.send(part).await;
    match failpoint::hit("outbox.after_request") {
        Ok(()) => outcome,
        Err(failed) => SendOutcome::Uncertain { reason: failed.to_string() },
    }
}

/// Makes one edit.
async fn amend(deps: Deps, channel: Arc<dyn Channel>, due: edits::Due) -> Sent {
    let mut sent = Sent { conversation: due.conversation, address: due.address.clone(), hold: None, stumbled: false };
    let outcome = edits::make(channel.as_ref(), &due).await;
    if let SendOutcome::NotSent { retry_after: Some(wait), .. } = &outcome {
        sent.hold = Some(*wait);
    }
    let (now, fraction, interval) = (deps.clock.now(), deps.ids.fraction(), deps.settings.edit_interval);
    let written = deps
        .store
        .write("outbox.edited", Durability::Normal, move |tx| {
            edits::settle(tx, now, &due, &outcome, interval, fraction)
        })
        .await;
    if let Err(error) = written {
        tracing::warn!(%error, "an edit could not be written down; it will be made again");
        sent.stumbled = true;
    }
    sent
}
