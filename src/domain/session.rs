//! What a caller of the local API asks and gets: a message in, its turn's deliveries out.

use async_trait::async_trait;
use futures::stream::BoxStream;
use serde::Serialize;

/// One delivered message of the agent.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SessionDelivery {
    /// Of the outbound row; the event id of the stream.
    #[serde(skip)]
    pub id: i64,
    pub content: String,
    /// `immediate` or `batched`.
    pub delivery_mode: String,
    pub fell_back_to_batch: bool,
    /// From 1; absent for what belongs to no turn.
    pub sequence_in_turn: Option<i64>,
}

/// A delivery as an event, with the turn it belongs to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SessionEvent {
    pub turn_id: Option<String>,
    #[serde(flatten)]
    pub delivery: SessionDelivery,
}

/// The answer to one message.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Invoked {
    /// The turn that survived; absent for a command and for what was discarded.
    pub turn_id: Option<String>,
    /// Empty for all but the last message of a turn.
    pub deliveries: Vec<SessionDelivery>,
    /// Approvals that the turn asked for.
    pub approvals: Vec<String>,
    /// Why there is no turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discarded: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// Not stored: may be sent again as it is.
    #[error("the message was not accepted: {reason}")]
    NotAccepted { reason: String },
    /// Stored, but the answer cannot be read now.
    #[error("the message was accepted, its answer cannot be read: {reason}")]
    NoAnswer { reason: String },
    #[error("the program is stopping; the message is stored and runs after the next start")]
    Stopping,
}

/// Conversations of the local API.
#[async_trait]
pub trait Sessions: Send + Sync + 'static {
    /// Runs a message through debounce and turn, and returns when its turn has ended.
    /// `idempotency_key` identifies the message: the same key in the same session is the same message.
    async fn invoke(
        &self,
        session: &str,
        message: &str,
        idempotency_key: Option<&str>,
    ) -> Result<Invoked, SessionError>;

    /// Deliveries of a session as they happen, those after `after` (an event id) first.
    /// What happens after this returned is in the stream.
    async fn events(&self, session: &str, after: Option<i64>)
    -> Result<BoxStream<'static, SessionEvent>, SessionError>;
}
