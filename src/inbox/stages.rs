//! Control input on the program's own stages.

use rusqlite::Transaction;

use super::acts::{Acts, Stopped};
use super::error::InboxError;
use crate::approvals::{self, Rules, Sender};
use crate::audit::Actor;
use crate::domain::ids::{ConversationId, EffectId};
use crate::domain::time::Now;
use crate::{evidence, turns};

/// Acts of a person as the program carries them out.
#[derive(Clone)]
pub struct Stages {
    rules: Rules,
}

impl Stages {
    pub fn new(rules: Rules) -> Self {
        Self { rules }
    }
}

impl Acts for Stages {
    fn stop(
        &self,
        tx: &Transaction<'_>,
        now: Now,
        conversation: ConversationId,
        who: &str,
    ) -> Result<Stopped, InboxError> {
        let report = turns::stop(tx, now, conversation, &Actor::Person(who.to_owned()))?;
        let effects = evidence::cancel_conversation(tx, now, &self.rules.evidence, conversation, who)
            .map_err(|error| InboxError::Act(error.to_string()))?;
        let describe = |id: &EffectId| -> Result<String, InboxError> {
            let row = evidence::load(tx, id).map_err(|error| InboxError::Act(error.to_string()))?;
            Ok(turns::describe(&row.action))
        };
        Ok(Stopped {
            turn: report.turn.is_some() || report.discarded > 0,
            done: report.done,
            cancelled: effects.cancelled.iter().map(describe).collect::<Result<_, _>>()?,
            sending: report.sending,
            waiting: report.waiting,
        })
    }

    fn tap(&self, tx: &Transaction<'_>, now: Now, data: &str, sender_id: &str) -> Result<String, InboxError> {
        let sender = Sender { id: sender_id.to_owned() };
        let answer = approvals::decide_by_token(tx, now, &self.rules, data, &sender)
            .map_err(|error| InboxError::Act(error.to_string()))?;
        Ok(answer.text)
    }
}
