//! How a polled source is doing, for `status` and the window.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, watch};
use ts_rs::TS;

use crate::domain::time::Wall;

/// Names as in `status`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum SourceState {
    Receiving,
    /// Another program polls with the same token.
    Conflict,
    /// The token is refused: waits for another one.
    Unauthorized,
    Offline,
    #[default]
    Off,
}

impl SourceState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Receiving => "receiving",
            Self::Conflict => "conflict",
            Self::Unauthorized => "unauthorized",
            Self::Offline => "offline",
            Self::Off => "off",
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SourceStatus {
    pub state: SourceState,
    /// Of the last poll that ended well.
    pub last_poll_at: Option<Wall>,
    /// What went wrong last, for a person.
    pub reason: Option<String>,
    /// Who we are there (bot id), once known.
    pub account: Option<String>,
}

/// Shared between the worker that polls and whoever shows it. Cheap to clone.
#[derive(Clone)]
pub struct Health {
    status: watch::Sender<SourceStatus>,
    retry: Arc<Notify>,
}

impl Default for Health {
    fn default() -> Self {
        Self { status: watch::Sender::new(SourceStatus::default()), retry: Arc::default() }
    }
}

impl Health {
    pub fn status(&self) -> SourceStatus {
        self.status.borrow().clone()
    }

    /// Follows every change.
    pub fn follow(&self) -> watch::Receiver<SourceStatus> {
        self.status.subscribe()
    }

    /// There is a new token, or the network is back: poll now instead of waiting.
    pub fn retry_now(&self) {
        self.retry.notify_one();
    }

    pub(super) async fn retry_asked(&self) {
        self.retry.notified().await;
    }

    pub(super) fn known_as(&self, account: &str) {
        self.status.send_if_modified(|status| {
            let changed = status.account.as_deref() != Some(account);
            status.account = Some(account.to_owned());
            changed
        });
    }

    pub(super) fn polled(&self, at: Wall) {
        self.status.send_if_modified(|status| {
            let changed = status.state != SourceState::Receiving || status.reason.is_some();
            status.state = SourceState::Receiving;
            status.reason = None;
            status.last_poll_at = Some(at);
            changed
        });
    }

    pub(super) fn failed(&self, state: SourceState, reason: String) {
        self.status.send_if_modified(|status| {
            let changed = status.state != state || status.reason.as_deref() != Some(reason.as_str());
            status.state = state;
            status.reason = Some(reason);
            changed
        });
    }
}
