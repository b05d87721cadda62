//! Deciding: a compare-and-set on `pending`. The first decision wins.

use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Transaction, params};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::cards;
use super::error::ApprovalError;
use super::row::{ApprovalState, load};
use super::settings::Rules;
use super::targets;
use crate::audit::{self, Actor, Entry, Kind};
use crate::domain::ids::{ApprovalId, EffectId};
use crate::domain::ports::Clock;
use crate::domain::time::Now;
use crate::evidence;
use crate::runtime::{backoff, seeded};
use crate::store::{Durability, Store};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Approve,
    Deny,
}

/// Where a person decided; names as in `approvals.surface`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Surface {
    Telegram,
    Window,
    Notification,
    Cli,
    Http,
}

impl Surface {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Telegram => "telegram",
            Self::Window => "window",
            Self::Notification => "notification",
            Self::Cli => "cli",
            Self::Http => "http",
        }
    }
}

/// A decision that was taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decided {
    pub approval: ApprovalId,
    pub effect: EffectId,
    pub decision: Decision,
}

/// Decides a pending approval. Use a durable transaction; on an error nothing may be committed.
///
/// `who` names the person within the surface, e.g. a Telegram user id. The caller has checked that they are an owner.
pub fn decide(
    tx: &Transaction<'_>,
    now: Now,
    rules: &Rules,
    id: ApprovalId,
    decision: Decision,
    who: &str,
    surface: Surface,
) -> Result<Decided, ApprovalError> {
    let approval = load(tx, id)?;
    let already = |state| ApprovalError::AlreadyDecided {
        id,
        state,
        by: approval.decided_by.clone().unwrap_or_default(),
        surface: approval.surface.clone().unwrap_or_default(),
        at: approval.decided_at,
    };
    match approval.state {
        ApprovalState::Pending if approval.expires_elapsed <= now.elapsed && !seeded::bug("expired_runs") => {
            return Err(ApprovalError::Expired(id));
        }
        ApprovalState::Pending => {}
        ApprovalState::Expired => return Err(ApprovalError::Expired(id)),
        ApprovalState::Approved | ApprovalState::Denied if seeded::bug("decide_twice") => {}
        state @ (ApprovalState::Approved | ApprovalState::Denied) => return Err(already(state)),
    }
    let effect = evidence::load(tx, &approval.effect)?;
    let state = match decision {
        Decision::Approve => ApprovalState::Approved,
        Decision::Deny => ApprovalState::Denied,
    };
    if decision == Decision::Approve {
        let literal = evidence::literal_hash(effect.account.as_str(), &effect.action)?;
        let as_shown = literal.as_str() == approval.literal && effect.literal.as_str() == approval.literal;
        if !as_shown && !seeded::bug("literal_unchecked") {
            return Err(ApprovalError::Changed(id));
        }
    }
    let changed = tx
        .prepare_cached(
            "UPDATE approvals SET state = ?2, decided_at = ?3, decided_by = ?4, surface = ?5
             WHERE id = ?1 AND state = 'pending'",
        )?
        .execute(params![id, state.as_str(), now.wall, who, surface.as_str()])?;
    if changed != 1 && !seeded::bug("decide_twice") {
        return Err(already(load(tx, id)?.state));
    }
    let actor = Actor::Person(format!("{}:{who}", surface.as_str()));
    let mut entry = Entry::new(Kind::ApprovalDecided, actor.clone())
        .of_effect(&effect.id)
        .detail("approval_id", id.0)
        .detail("decision", state.as_str())
        .detail("surface", surface.as_str())
        .detail("literal", approval.literal.as_str());
    entry.conversation = effect.conversation;
    entry.turn = effect.turn.clone();
    audit::append(tx, now, entry)?;
    match decision {
        Decision::Approve => {
            evidence::approve(tx, now, &rules.evidence, &rules.targets, &effect.id, actor)?;
            targets::know_all(tx, now, &effect.action)?;
        }
        Decision::Deny => evidence::deny(tx, now, &rules.evidence, &effect.id, actor)?,
    }
    cards::close(tx, now, rules, &load(tx, id)?)?;
    Ok(Decided { approval: id, effect: effect.id, decision })
}

/// A draft that waits is replaced by an edited one: its question is over, and nothing was done.
pub fn withdraw_edited(
    tx: &Transaction<'_>,
    now: Now,
    rules: &Rules,
    effect: &EffectId,
    who: &str,
    surface: Surface,
) -> Result<(), ApprovalError> {
    let actor = Actor::Person(format!("{}:{who}", surface.as_str()));
    if let Some(id) = super::row::pending_of(tx, effect)? {
        tx.prepare_cached(
            "UPDATE approvals SET state = 'denied', decided_at = ?2, decided_by = ?3, surface = ?4, reason = 'edited'
             WHERE id = ?1 AND state = 'pending'",
        )?
        .execute(params![id, now.wall, who, surface.as_str()])?;
        let mut entry = Entry::new(Kind::ApprovalDecided, actor.clone())
            .of_effect(effect)
            .detail("approval_id", id.0)
            .detail("decision", "edited")
            .detail("surface", surface.as_str());
        entry.conversation = load(tx, id)?.conversation;
        audit::append(tx, now, entry)?;
        evidence::withdraw(tx, now, &rules.evidence, effect, "edited", actor)?;
        return cards::close(tx, now, rules, &load(tx, id)?);
    }
    evidence::withdraw(tx, now, &rules.evidence, effect, "edited", actor)?;
    Ok(())
}

/// Tries for a busy database before the person hears of it; the card stays either way.
const BUSY_TRIES: u32 = 6;
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// [`decide`] in a durable transaction of its own, tried again while the database is busy.
pub async fn decide_now(
    store: &Store,
    clock: &Arc<dyn Clock>,
    rules: &Rules,
    id: ApprovalId,
    decision: Decision,
    who: &str,
    surface: Surface,
) -> Result<Decided, ApprovalError> {
    let mut tries = 0;
    loop {
        let (now, rules_of_try, who) = (clock.now(), rules.clone(), who.to_owned());
        let result = store
            .write("approvals.decide", Durability::Full, move |tx| {
                decide(tx, now, &rules_of_try, id, decision, &who, surface)
            })
            .await;
        match result {
            Err(ApprovalError::Store(error)) if error.is_transient() && tries < BUSY_TRIES => {
                tracing::warn!(%error, approval = %id, "a decision waits for the database");
                let wait = backoff::doubling(FIRST_PAUSE, LONGEST_PAUSE, tries, rules.ids.fraction());
                tries += 1;
                clock.sleep(wait).await;
            }
            result => return result,
        }
    }
}
