//! The typing signal: from the first message of a burst until its turn ends, and never longer.
//!
//! In: rows of the inbox, bursts and turns. Out: one signal at once and one every 4 s per conversation at work.
//! Invariants: it is derived from rows alone, so it stops with the turn, on errors and on stop, and goes on after a
//! restart; its failures touch nothing.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;
use tokio::task::JoinSet;

use super::channels::Channels;
use super::claim;
use crate::domain::conversation::Address;
use crate::domain::ids::ConversationId;
use crate::domain::ports::Clock;
use crate::domain::time::Elapsed;
use crate::store::{Store, StoreError, Table};

/// Clients show a signal for 5 s (<https://core.telegram.org/bots/api#sendchataction>).
const EVERY: Duration = Duration::from_secs(4);
/// A signal that takes longer is given up; the next one comes anyway.
const PATIENCE: Duration = Duration::from_secs(4);

/// One task that signals for every conversation at work.
pub struct Typing {
    store: Store,
    clock: Arc<dyn Clock>,
    channels: Channels,
    /// Longest time for one stretch of work: the turn's own limit and the longest buffering.
    limit: Duration,
    at_work: HashMap<ConversationId, AtWork>,
    signals: JoinSet<()>,
}

#[derive(Clone, Copy)]
struct AtWork {
    since: Elapsed,
    next: Elapsed,
}

impl Typing {
    pub fn new(store: Store, clock: Arc<dyn Clock>, channels: Channels, limit: Duration) -> Self {
        Self { store, clock, channels, limit, at_work: HashMap::new(), signals: JoinSet::new() }
    }

    /// Runs until it is dropped.
    pub async fn run(mut self) {
        let watch = self.store.watch(&[Table::Inbound, Table::Bursts, Table::Turns, Table::Outbound]);
        loop {
            if let Err(error) = self.round().await {
                tracing::debug!(%error, "no typing signal for now");
                self.at_work.clear();
            }
            let next = self.at_work.values().map(|work| work.next).min();
            let clock = self.clock.clone();
            let due = async move {
                match next {
                    Some(at) => clock.sleep(at.since(clock.now().elapsed)).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = watch.changed() => {}
                () = due => {}
                Some(_) = self.signals.join_next() => {}
            }
        }
    }

    async fn round(&mut self) -> Result<(), StoreError> {
        let working: HashMap<ConversationId, Address> = self.store.read(working).await?.into_iter().collect();
        self.at_work.retain(|conversation, _| working.contains_key(conversation));
        let now = self.clock.now().elapsed;
        for (conversation, address) in working {
            if !self.channels.capabilities(&address).typing {
                continue;
            }
            let work = self.at_work.entry(conversation).or_insert(AtWork { since: now, next: now });
            if work.next > now {
                continue;
            }
            if now.since(work.since) > self.limit {
                work.next = Elapsed(i64::MAX);
                continue;
            }
            work.next = now.plus(EVERY);
            if let Some(channel) = self.channels.get(address.channel).cloned() {
                let clock = self.clock.clone();
                self.signals.spawn(async move {
                    tokio::select! {
                        () = channel.typing(&address) => {}
                        () = clock.sleep(PATIENCE) => {}
                    }
                });
            }
        }
        Ok(())
    }
}

/// Conversations with something buffered, queued or being worked on. A turn whose reply is written is done.
fn working(connection: &Connection) -> Result<Vec<(ConversationId, Address)>, StoreError> {
    Ok(connection
        .prepare_cached(
            "SELECT c.id, c.channel, c.account, c.contact, c.thread FROM conversations c WHERE c.id IN (
                 SELECT conversation_id FROM inbound WHERE state = 'buffered'
                 UNION SELECT conversation_id FROM bursts WHERE state = 'queued'
                 UNION SELECT t.conversation_id FROM turns t WHERE t.state <> 'ended' AND t.stop_requested = 0
                     AND NOT EXISTS (SELECT 1 FROM outbound o WHERE o.turn_id = t.id AND o.turn_epoch = t.epoch
                                                               AND o.kind = 'reply'))",
        )?
        .query_map([], |row| Ok((row.get(0)?, claim::address(row, 1)?)))?
        .collect::<Result<_, _>>()?)
}
