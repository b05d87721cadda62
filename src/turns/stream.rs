//! Shows an answer while the model writes it, where the channel can edit and the answer takes its time.
//!
//! A text that is whole within the first interval is never seen here: it goes out once, at the end of its turn. What is
//! held back: a claim of an action that this turn did not make, because the claim check may ask the model to take it
//! back.

use std::convert::Infallible;
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use super::claims;
use super::error::TurnError;
use super::steps::Step;
use super::store::{self, Turn};
use super::worker::TurnsDeps;
use crate::domain::ports::StreamSink;
use crate::outbox::{self, Growing};
use crate::store::Durability;

/// In groups an answer grows so many times slower: the channel counts every edit against everybody.
const GROUP_FACTOR: u32 = 4;

/// What the model has written so far.
#[derive(Default)]
pub struct Written {
    text: Mutex<String>,
    more: Notify,
}

impl Written {
    fn text(&self) -> String {
        self.text.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl StreamSink for Written {
    fn text(&self, chunk: &str) {
        self.text.lock().unwrap_or_else(PoisonError::into_inner).push_str(chunk);
        self.more.notify_one();
    }
}

/// Shows `written` as it grows, until it is dropped because the reply is whole. An error: the turn is no longer ours.
pub async fn show(deps: &TurnsDeps, turn: &Turn, steps: &[Step], written: &Written) -> Result<Infallible, TurnError> {
    let (channels, conversation) = (deps.channels.clone(), turn.conversation);
    let place = deps
        .store
        .read(move |connection| Growing::at(connection, &channels, conversation).map_err(TurnError::from))
        .await?;
    let Some(place) = place else { return std::future::pending().await };
    let interval =
        if place.group { deps.settings.stream_interval * GROUP_FACTOR } else { deps.settings.stream_interval };
    let mut shown = String::new();
    loop {
        while written.text().trim().len() <= shown.len() {
            written.more.notified().await;
        }
        deps.clock.sleep(interval).await;
        let text = place.first_part(written.text().trim());
        if text == shown || claims::may_claim(&text, steps) {
            written.more.notified().await;
            continue;
        }
        let (now, key, epoch, so_far) = (deps.clock.now(), turn.id.clone(), turn.epoch, text.clone());
        let written_down = deps
            .store
            .write("turns.stream", Durability::Normal, move |tx| {
                store::current(tx, &key, epoch)?;
                Ok::<_, TurnError>(outbox::grow(tx, now, conversation, &outbox::Turn { id: key, epoch }, &so_far)?)
            })
            .await;
        match written_down {
            Ok(true) => shown = text,
            // Nothing of this reply is shown before its end.
            Ok(false) => return std::future::pending().await,
            Err(TurnError::Store(error)) => {
                tracing::warn!(turn_id = %turn.id, %error, "an answer is not shown as it grows")
            }
            Err(error @ (TurnError::Gone | TurnError::Illegal(_))) => return Err(error),
        }
    }
}
