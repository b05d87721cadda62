//! What control input asks of later stages. The program's own answer is [`super::Stages`]; a replay or a test may have another.

use rusqlite::Transaction;

use super::error::InboxError;
use crate::domain::ids::ConversationId;
use crate::domain::time::Now;

/// What a stop did, for the sentence that tells it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Stopped {
    /// A turn was running.
    pub turn: bool,
    /// Effects the stopped turn had finished, in plain words.
    pub done: Vec<String>,
    /// Had not left and will not.
    pub cancelled: Vec<String>,
    /// Leaving at this moment, or left without an answer.
    pub sending: Vec<String>,
    /// Wait for an OK, and go on waiting.
    pub waiting: Vec<String>,
}

/// Acts of a person on later stages, inside the inbox's transaction.
pub trait Acts: Send + Sync + 'static {
    /// Stops the running turn before its next effect and cancels what had not left.
    fn stop(
        &self,
        tx: &Transaction<'_>,
        now: Now,
        conversation: ConversationId,
        who: &str,
    ) -> Result<Stopped, InboxError>;

    /// A press of a button with `data`, by an owner with this user id. Gives the sentence for the person.
    fn tap(&self, tx: &Transaction<'_>, now: Now, data: &str, sender_id: &str) -> Result<String, InboxError>;
}
