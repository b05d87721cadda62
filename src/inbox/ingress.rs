//! The way in for channels that push: the window and the local API.

use std::sync::Arc;

use async_trait::async_trait;

use super::accept::{Accepted, accept};
use super::acts::Acts;
use super::error::InboxError;
use super::settings::Settings;
use crate::domain::message::NewInput;
use crate::domain::ports::Clock;
use crate::schedules;
use crate::store::{Durability, Store, StoreError};

/// Accepts inputs one by one, each synced before it is confirmed. Cheap to clone.
#[derive(Clone)]
pub struct Ingress {
    store: Store,
    clock: Arc<dyn Clock>,
    settings: Arc<Settings>,
    acts: Arc<dyn Acts>,
}

impl Ingress {
    pub fn new(store: Store, clock: Arc<dyn Clock>, settings: Arc<Settings>, acts: Arc<dyn Acts>) -> Self {
        Self { store, clock, settings, acts }
    }

    /// Returns once `input` is stored; the same input again is answered with its first row.
    pub async fn submit(&self, input: NewInput) -> Result<Accepted, InboxError> {
        let (now, settings, acts) = (self.clock.now(), self.settings.clone(), self.acts.clone());
        self.store
            .write("inbox.accept", Durability::Full, move |tx| accept(tx, now, &settings, acts.as_ref(), input))
            .await
    }
}

/// A due slot comes in like any message of its conversation, known by its own key.
#[async_trait]
impl schedules::Sink for Ingress {
    async fn take(&self, input: NewInput) -> Result<(), StoreError> {
        match self.submit(input).await {
            Ok(_) => Ok(()),
            Err(InboxError::Store(error)) => Err(error),
            Err(InboxError::Act(reason)) => Err(StoreError::Unreadable { what: "slot", reason }),
        }
    }
}
