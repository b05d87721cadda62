//! A person's word on what nobody can prove.

use rusqlite::Transaction;
use serde::{Deserialize, Serialize};
use serde_json::json;
use ts_rs::TS;

use super::error::EvidenceError;
use super::machine::Event;
use super::row::{load, someone_accepted};
use super::settings::Settings;
use super::step::{Step, save, take};
use crate::audit::{self, Actor, Entry, Kind};
use crate::domain::effect::{EffectState, Receipt, ReceiptSource};
use crate::domain::ids::EffectId;
use crate::domain::time::Now;

/// The four answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Resolution {
    /// It was sent: accepted, by hand.
    Sent,
    /// It was not sent: send it now. The worker searches once more, then sends the same bytes without the hold.
    NotSent,
    /// It was not sent: drop it.
    Drop,
    /// Stays unknown and still blocks, off the attention list.
    Leave,
}

/// Settles an unknown effect on a person's word. Use a durable transaction.
///
/// Errors: [`EvidenceError::Settled`] when it is not unknown (any more).
pub fn resolve(
    tx: &Transaction<'_>,
    now: Now,
    settings: &Settings,
    id: &EffectId,
    resolution: Resolution,
    who: &str,
) -> Result<EffectState, EvidenceError> {
    let mut row = load(tx, id)?;
    if row.state != EffectState::Unknown {
        return Err(EvidenceError::Settled { effect: id.clone(), state: row.state });
    }
    let actor = Actor::Person(who.to_owned());
    let step = |event| Step::new(event, Kind::EffectReconciled, actor.clone());
    match resolution {
        Resolution::Sent => {
            let receipt = Receipt {
                source: ReceiptSource::Person,
                provider_id: row.provider_id.clone(),
                detail: json!({ "said_by": who }),
            };
            take(tx, now, settings, &mut row, step(Event::PersonSaysSent).receipt(receipt))?;
        }
        Resolution::NotSent => {
            take(tx, now, settings, &mut row, step(Event::PersonSaysNotSent).due(now.elapsed))?;
            tx.prepare_cached("UPDATE effects SET restored = 0 WHERE id = ?1")?.execute([id])?;
        }
        Resolution::Drop => {
            let event = Event::PersonDrops { someone_accepted: someone_accepted(tx, id)? };
            take(tx, now, settings, &mut row, step(event).reason("not sent, by a person's word"))?;
        }
        Resolution::Leave => {
            row.left_by_person = true;
            save(tx, now, &row)?;
            let mut entry = Entry::new(Kind::EffectReconciled, actor)
                .of_effect(id)
                .detail("state", row.state.as_str())
                .detail("result", "left");
            entry.conversation = row.conversation;
            audit::append(tx, now, entry)?;
        }
    }
    Ok(row.state)
}
