//! Hands due slots to the sink, oldest first, and sleeps until the next one.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rusqlite::Connection;

use super::error::ScheduleError;
use super::rows::{self, Schedule};
use super::slot::{key, newest_due};
use crate::domain::conversation::{Address, ChannelKind, ConversationKind};
use crate::domain::message::{InputKind, NewInput, Parts};
use crate::domain::ports::{Clock, IdSource};
use crate::domain::time::Wall;
use crate::runtime::backoff;
use crate::store::{Durability, Store, StoreError, Table};

/// The wall clock may be set: it is looked at again at least this often while anything is scheduled.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);

/// Takes due slots, once per dedupe key.
#[async_trait]
pub trait Sink: Send + Sync + 'static {
    async fn take(&self, input: NewInput) -> Result<(), StoreError>;
}

pub struct Worker {
    store: Store,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    sink: Arc<dyn Sink>,
}

impl Worker {
    pub fn new(store: Store, clock: Arc<dyn Clock>, ids: Arc<dyn IdSource>, sink: Arc<dyn Sink>) -> Self {
        Self { store, clock, ids, sink }
    }

    /// Runs until it is dropped.
    pub async fn run(self) {
        let watch = self.store.watch(&[Table::Schedules]);
        let mut failures = 0;
        loop {
            let sleep = match self.round().await {
                Ok(next) => {
                    failures = 0;
                    next
                }
                Err(error) => {
                    tracing::warn!(%error, "due schedules could not be handed over; tried again");
                    failures += 1;
                    Some(backoff::doubling(Duration::from_secs(1), LONGEST_SLEEP, failures - 1, self.ids.fraction()))
                }
            };
            let clock = self.clock.clone();
            let due = async move {
                match sleep {
                    Some(time) => clock.sleep(time).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = watch.changed() => {}
                () = due => {}
            }
        }
    }

    /// Hands over what is due; the time until the next look, `None` when nothing is scheduled.
    async fn round(&self) -> Result<Option<Duration>, StoreError> {
        let now = self.clock.now().wall;
        let due = self.store.read(move |connection| rows::due(connection, now)).await?;
        for schedule in due {
            match self.hand_over(&schedule, now).await {
                Ok(()) => {}
                Err(ScheduleError::Store(error)) => return Err(error),
                // Checked when it was added; a rule that no longer computes would block nobody but itself.
                Err(error @ (ScheduleError::Rule { .. } | ScheduleError::Zone(_))) => {
                    tracing::error!(schedule = schedule.id.0, %error, "a schedule cannot be computed and is cancelled");
                    let id = schedule.id;
                    self.store
                        .write("schedules.cancel", Durability::Normal, move |tx| rows::cancel(tx, id).map(|_| ()))
                        .await?;
                }
            }
        }
        let next = self.store.read(rows::next_due).await?;
        Ok(next.map(|next| Duration::from_millis(u64::try_from(next.0 - now.0).unwrap_or(0)).min(LONGEST_SLEEP)))
    }

    async fn hand_over(&self, schedule: &Schedule, now: Wall) -> Result<(), ScheduleError> {
        let (Some(expected), Some((slot, next))) = (schedule.next_slot, newest_due(schedule, now)?) else {
            return Ok(());
        };
        let id = schedule.conversation;
        let found = self.store.read(move |connection| conversation(connection, id.0)).await?;
        let (address, kind, title) = found;
        let key = key(schedule.id, slot);
        let input = NewInput {
            address: Some(address),
            conversation_kind: kind,
            conversation_title: title,
            kind: InputKind::Schedule,
            dedupe_key: key.clone(),
            external_id: None,
            sender_id: "schedule".to_owned(),
            sender_name: String::new(),
            owner: true,
            text: schedule.text.clone(),
            parts: Parts { schedule: Some(key), ..Parts::default() },
            sent_at: slot,
        };
        self.sink.take(input).await?;
        let id = schedule.id;
        // A crash before this line hands the same slot over again: the sink knows its key.
        self.store
            .write("schedules.advance", Durability::Normal, move |tx| rows::advance(tx, id, expected, slot, next))
            .await?;
        Ok(())
    }
}

fn conversation(connection: &Connection, id: i64) -> Result<(Address, ConversationKind, String), StoreError> {
    Ok(connection
        .prepare_cached("SELECT channel, account, contact, thread, kind, title FROM conversations WHERE id = ?1")?
        .query_row([id], |row| {
            let channel: String = row.get(0)?;
            let kind: String = row.get(4)?;
            let address = Address {
                channel: ChannelKind::ALL.into_iter().find(|c| c.as_str() == channel).unwrap_or(ChannelKind::Window),
                account: row.get(1)?,
                contact: row.get(2)?,
                thread: row.get(3)?,
            };
            let kind = if kind == "group" { ConversationKind::Group } else { ConversationKind::Private };
            Ok((address, kind, row.get(5)?))
        })?)
}
