//! Arms a timer per buffer and flushes those that are due.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use super::error::DebounceError;
use super::flush::{self, Flushed, Key};
use super::settings::Settings;
use crate::domain::ports::{Clock, IdSource};
use crate::domain::time::Elapsed;
use crate::runtime::backoff;
use crate::store::{Durability, Store, Table};

#[derive(Clone)]
pub struct Deps {
    pub store: Store,
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<dyn IdSource>,
    pub settings: Arc<Settings>,
}

/// The debounce worker.
pub struct Worker {
    deps: Deps,
    armed: HashMap<Arc<Key>, Armed>,
    order: BTreeSet<(Elapsed, Arc<Key>)>,
    /// Newest inbound row looked at.
    seen: i64,
    failures: u32,
    started: Elapsed,
}

#[derive(Clone, Copy)]
struct Armed {
    due: Elapsed,
    /// Waits for a transcript, which changes a row without adding one.
    pending: bool,
}

const FIRST_RETRY: Duration = Duration::from_millis(200);
const LONGEST_RETRY: Duration = Duration::from_secs(10);

impl Worker {
    pub fn new(deps: Deps) -> Self {
        let started = deps.clock.now().elapsed;
        Self { deps, armed: HashMap::new(), order: BTreeSet::new(), seen: 0, failures: 0, started }
    }

    /// Runs until it is dropped.
    pub async fn run(mut self) {
        let watch = self.deps.store.watch(&[Table::Inbound]);
        let mut look = true;
        loop {
            let worked = async {
                if look {
                    self.arm().await?;
                }
                self.fire().await
            }
            .await;
            let wait = match worked {
                Ok(()) => {
                    self.failures = 0;
                    let now = self.deps.clock.now().elapsed;
                    self.order.first().map(|(due, _)| due.since(now))
                }
                Err(error) => {
                    tracing::warn!(%error, "messages could not be merged yet");
                    let wait = backoff::doubling(FIRST_RETRY, LONGEST_RETRY, self.failures, self.deps.ids.fraction());
                    self.failures = self.failures.saturating_add(1);
                    self.deps.clock.sleep(wait).await;
                    look = true;
                    continue;
                }
            };
            let clock = self.deps.clock.clone();
            let due = async move {
                match wait {
                    Some(wait) => clock.sleep(wait).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = watch.changed() => look = true,
                () = due => look = false,
            }
        }
    }

    /// Computes the due time of every buffer with something new.
    async fn arm(&mut self) -> Result<(), DebounceError> {
        let (seen, settings) = (self.seen, self.deps.settings.clone());
        let waiting: Vec<Arc<Key>> =
            self.armed.iter().filter(|(_, armed)| armed.pending).map(|(key, _)| key.clone()).collect();
        let (found, newest) = self
            .deps
            .store
            .read(move |connection| {
                let (keys, newest) = flush::touched(connection, seen)?;
                let mut found = Vec::new();
                for key in keys.into_iter().map(Arc::new).chain(waiting) {
                    let due = flush::due(connection, &key, &settings)?;
                    found.push((key, due));
                }
                Ok::<_, DebounceError>((found, newest))
            })
            .await?;
        self.seen = newest;
        for (key, due) in found {
            self.set(key, due.map(|(due, pending)| Armed { due, pending }));
        }
        Ok(())
    }

    fn set(&mut self, key: Arc<Key>, armed: Option<Armed>) {
        if let Some(old) = self.armed.remove(&key) {
            self.order.remove(&(old.due, key.clone()));
        }
        if let Some(armed) = armed {
            self.order.insert((armed.due, key.clone()));
            self.armed.insert(key, armed);
        }
    }

    /// Flushes what is due, the earliest first.
    async fn fire(&mut self) -> Result<(), DebounceError> {
        loop {
            let now = self.deps.clock.now();
            let Some((due, key)) = self.order.first().cloned() else { return Ok(()) };
            if due > now.elapsed {
                return Ok(());
            }
            let (settings, started, flushed_key) = (self.deps.settings.clone(), self.started, key.clone());
            let flushed = self
                .deps
                .store
                .write("debounce.flush", Durability::Normal, move |tx| {
                    flush::flush(tx, now, &flushed_key, &settings, started)
                })
                .await?;
            match flushed {
                Flushed::NotYet(due) => {
                    let pending = self.armed.get(&key).is_some_and(|armed| armed.pending);
                    self.set(key, Some(Armed { due, pending }));
                }
                Flushed::Burst(_) | Flushed::Joined(_) => {
                    // More than the most messages of one burst may be left.
                    let (settings, left_key) = (self.deps.settings.clone(), key.clone());
                    let left =
                        self.deps.store.read(move |connection| flush::due(connection, &left_key, &settings)).await?;
                    self.set(key, left.map(|(due, pending)| Armed { due, pending }));
                }
                Flushed::Empty => self.set(key, None),
            }
        }
    }
}
