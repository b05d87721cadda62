//! Takes queued bursts and keeps one task per running turn: strictly one at a time per conversation, conversations
//! beside each other. All it knows is rows, so a restart goes on where the last process ended.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{AbortHandle, JoinSet};

use super::error::TurnError;
use super::run;
use super::settings::Settings;
use super::start::{self, Taken};
use super::store;
use crate::domain::ids::{ConversationId, TurnId};
use crate::domain::ports::{ChatModel, Clock, IdSource};
use crate::outbox::Channels;
use crate::runtime::backoff;
use crate::store::{Durability, Store, StoreError, Table};
use crate::tools::Registry;

/// What turns need.
#[derive(Clone)]
pub struct TurnsDeps {
    pub store: Store,
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<dyn IdSource>,
    pub model: Arc<dyn ChatModel>,
    /// Tried from the third attempt on, only while the turn has no effect.
    pub fallback: Option<Arc<dyn ChatModel>>,
    pub tools: Arc<Registry>,
    /// Where answers may grow.
    pub channels: Channels,
    pub settings: Arc<Settings>,
}

/// The turns worker.
pub struct Worker {
    deps: Arc<TurnsDeps>,
}

struct Task {
    turn: TurnId,
    epoch: i64,
    abort: AbortHandle,
}

impl Worker {
    pub fn new(deps: TurnsDeps) -> Self {
        Self { deps: Arc::new(deps) }
    }

    /// Runs until dropped; dropping it drops the tasks, their turns go on at the next start.
    pub async fn run(self) {
        let watch = self.deps.store.watch(&[Table::Bursts, Table::Turns]);
        let mut tasks: HashMap<ConversationId, Task> = HashMap::new();
        let mut running = JoinSet::new();
        let mut failures = 0;
        loop {
            match self.step(&mut tasks, &mut running).await {
                Ok(()) => failures = 0,
                Err(error) => {
                    tracing::warn!(%error, "queued requests could not be taken; tried again");
                    let wait = backoff::doubling(
                        Duration::from_millis(100),
                        Duration::from_secs(30),
                        failures,
                        self.deps.ids.fraction(),
                    );
                    failures += 1;
                    self.deps.clock.sleep(wait).await;
                    continue;
                }
            }
            tokio::select! {
                _ = watch.changed() => {}
                Some(_) = running.join_next() => {}
            }
        }
    }

    /// One pass: bursts are taken, tasks follow the rows.
    async fn step(
        &self,
        tasks: &mut HashMap<ConversationId, Task>,
        running: &mut JoinSet<()>,
    ) -> Result<(), TurnError> {
        self.take_bursts().await?;
        let turns = self.deps.store.read(store::running).await?;
        let live: HashSet<ConversationId> = turns.iter().map(|turn| turn.conversation).collect();
        tasks.retain(|conversation, task| {
            let keep = live.contains(conversation);
            if !keep {
                task.abort.abort();
            }
            keep
        });
        for turn in turns {
            let ours = tasks.get(&turn.conversation).is_some_and(|task| {
                let same = task.turn == turn.id && task.epoch == turn.epoch && !task.abort.is_finished();
                if !same {
                    task.abort.abort();
                }
                same
            });
            if ours {
                continue;
            }
            let (deps, id, epoch) = (self.deps.clone(), turn.id.clone(), turn.epoch);
            let abort = running.spawn(async move { run::run(&deps, &id, epoch).await });
            tasks.insert(turn.conversation, Task { turn: turn.id, epoch: turn.epoch, abort });
        }
        Ok(())
    }

    async fn take_bursts(&self) -> Result<(), TurnError> {
        let mut blocked: HashSet<ConversationId> = HashSet::new();
        for burst in self.deps.store.read(store::queued).await? {
            if blocked.contains(&burst.conversation) {
                continue;
            }
            let (now, new) = (self.deps.clock.now(), TurnId(self.deps.ids.uuid()));
            let settings = self.deps.settings.clone();
            let (id, conversation) = (burst.id, burst.conversation);
            let taken = self
                .deps
                .store
                .write("turns.take", Durability::Normal, move |tx| start::take(tx, now, &burst, new, &settings))
                .await;
            match taken {
                Ok(Taken::Waits) => {
                    blocked.insert(conversation);
                }
                Ok(taken) => tracing::debug!(burst = id.0, ?taken, "burst taken"),
                // A burst that cannot be taken holds its own conversation back, nobody else's.
                Err(TurnError::Store(error @ StoreError::Unreadable { .. })) => {
                    tracing::error!(burst = id.0, %error, "a request cannot be read");
                    blocked.insert(conversation);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
