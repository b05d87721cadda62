//! Ask again: a new effect and a new card for what expired. Nothing was done, so nothing blocks it.

use rusqlite::{OptionalExtension, Transaction};

use super::error::ApprovalError;
use super::request::{Request, request};
use super::row::{Approval, ApprovalState, Notes, load, pending_of};
use super::settings::Rules;
use crate::audit::Actor;
use crate::domain::effect::Mark;
use crate::domain::ids::{ApprovalId, EffectId, ExactKey};
use crate::domain::time::Now;
use crate::evidence::{self, Birth, EffectRow, EvidenceError, NewEffect};
use crate::runtime::hash::sha256_parts;

/// Asks an expired approval again. Asked twice, it is the same new approval.
pub fn ask_again(
    tx: &Transaction<'_>,
    now: Now,
    rules: &Rules,
    id: ApprovalId,
    who: &str,
) -> Result<ApprovalId, ApprovalError> {
    let old = load(tx, id)?;
    match old.state {
        ApprovalState::Expired => {}
        ApprovalState::Pending => return Err(ApprovalError::NotExpired(id)),
        state @ (ApprovalState::Approved | ApprovalState::Denied) => {
            return Err(ApprovalError::AlreadyDecided {
                id,
                state,
                by: old.decided_by.unwrap_or_default(),
                surface: old.surface.unwrap_or_default(),
                at: old.decided_at,
            });
        }
    }
    let effect = evidence::load(tx, &old.effect)?;
    again(tx, now, rules, &old, &effect, Actor::Person(who.to_owned()))
}

/// A new effect with the action of `effect`, waiting for a new decision.
pub(super) fn again(
    tx: &Transaction<'_>,
    now: Now,
    rules: &Rules,
    old: &Approval,
    effect: &EffectRow,
    actor: Actor,
) -> Result<ApprovalId, ApprovalError> {
    let key = ExactKey(sha256_parts(&[b"unavez again 1", effect.id.as_str().as_bytes()]));
    if let Some(again) = evidence::load_by_key(tx, &key)? {
        return match pending_of(tx, &again.id)? {
            Some(pending) => Ok(pending),
            None => Err(ApprovalError::UnderWay(again.id)),
        };
    }
    let mut marks = old.marks.clone();
    let mut notes = Notes { differences: Vec::new(), ..old.notes.clone() };
    let live: Option<EffectId> = tx
        .prepare_cached(
            "SELECT id FROM effects
             WHERE identity = ?1 AND state IN ('awaiting_approval', 'ready', 'dispatching', 'retryable', 'unknown')",
        )?
        .query_row([&effect.identity], |row| row.get(0))
        .optional()?;
    if let Some(live) = live {
        return Err(ApprovalError::UnderWay(live));
    }
    // Done meanwhile by somebody else's request: the card says so.
    let done: Option<(EffectId, i64)> = tx
        .prepare_cached(
            "SELECT id, (?2 - accepted_elapsed) / 1000 FROM effects
             WHERE identity = ?1 AND state = 'accepted' AND released IS NULL
             ORDER BY accepted_elapsed DESC LIMIT 1",
        )?
        .query_row(rusqlite::params![effect.identity, now.elapsed], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    if let Some((earlier, age)) = done {
        marks.push(Mark::NearDuplicate);
        notes.earlier = Some(earlier);
        notes.earlier_age = Some(age);
    }
    let (normalisation, near_key, call_id): (i64, Option<String>, Option<String>) = tx
        .prepare_cached("SELECT normalisation, near_key, call_id FROM effects WHERE id = ?1")?
        .query_row([&effect.id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let literal = evidence::literal_hash(effect.account.as_str(), &effect.action)?;
    let new = NewEffect {
        id: EffectId(rules.ids.uuid()),
        tool: effect.tool.clone(),
        target: effect.target.clone(),
        account: effect.account.clone(),
        key,
        identity: effect.identity.clone(),
        digest: effect.digest.clone(),
        literal,
        normalisation,
        near_key,
        intent: effect.intent.clone(),
        action: effect.action.clone(),
        conversation: effect.conversation,
        turn: effect.turn.clone(),
        call_id,
        repeat_of: effect.repeat_of.clone(),
        replaces: Some(effect.id.clone()),
        told: effect.conversation.is_some(),
    };
    evidence::insert(tx, now, &rules.evidence, &rules.targets, &new, Birth::AwaitingApproval, actor).map_err(
        |error| match error {
            EvidenceError::Store(error) => ApprovalError::Store(error),
            other => ApprovalError::Evidence(other),
        },
    )?;
    request(tx, now, rules, Request { effect: new.id, marks, notes })
}
