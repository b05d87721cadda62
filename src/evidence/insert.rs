//! Births and decisions: a row comes into the world waiting for a person or ready, never otherwise.

use rusqlite::{Transaction, params};

use super::error::EvidenceError;
use super::machine::Event;
use super::row::{self, EffectRow, load};
use super::settings::Settings;
use super::step::{Step, take};
use super::targets::Targets;
use crate::audit::{self, Actor, Entry, Kind};
use crate::domain::action::Action;
use crate::domain::effect::{EffectState, Intent};
use crate::domain::ids::{AccountId, ConversationId, Digest, EffectId, ExactKey, Identity, LiteralHash, TurnId};
use crate::domain::time::Now;
use crate::runtime::seeded;

/// A new effect as the guard admits it.
#[derive(Clone, PartialEq, Debug)]
pub struct NewEffect {
    pub id: EffectId,
    pub tool: String,
    pub target: String,
    pub account: AccountId,
    pub key: ExactKey,
    pub identity: Identity,
    pub digest: Digest,
    pub literal: LiteralHash,
    /// Version of the canonical form.
    pub normalisation: i64,
    pub near_key: Option<String>,
    pub intent: Intent,
    pub action: Action,
    pub conversation: Option<ConversationId>,
    pub turn: Option<TurnId>,
    pub call_id: Option<String>,
    /// A second occurrence on purpose.
    pub repeat_of: Option<EffectId>,
    /// Edited, corrected or asked again from.
    pub replaces: Option<EffectId>,
    /// Its conversation will be told to wait, and wants the outcome line.
    pub told: bool,
}

/// How a row is born.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Birth {
    AwaitingApproval,
    Ready,
}

/// Inserts the effect with its audit entry. Born ready, what will leave is fixed at once.
///
/// Errors: [`EvidenceError::NotSendable`] when it cannot be fixed; then nothing may be committed.
pub fn insert(
    tx: &Transaction<'_>,
    now: Now,
    settings: &Settings,
    targets: &Targets,
    new: &NewEffect,
    birth: Birth,
    actor: Actor,
) -> Result<(), EvidenceError> {
    tx.prepare_cached(
        "INSERT INTO effects (id, tool, target, account, state, idempotency_key, identity, digest, literal_hash,
             normalisation, near_key, intent, action, summary, conversation_id, turn_id, call_id, repeat_of, replaces, told,
             created_at, created_elapsed, updated_at)
         VALUES (?1, ?2, ?3, ?4, 'awaiting_approval', ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19,
             ?20, ?21, ?20)",
    )?
    .execute(params![
        new.id,
        new.tool,
        new.target,
        new.account,
        new.key,
        new.identity,
        new.digest,
        new.literal,
        new.normalisation,
        new.near_key,
        serde_json::to_string(&new.intent)?,
        serde_json::to_string(&new.action)?,
        new.action.summary(),
        new.conversation,
        new.turn,
        new.call_id,
        new.repeat_of,
        new.replaces,
        new.told,
        now.wall,
        now.elapsed,
    ])?;
    let state = match birth {
        Birth::AwaitingApproval => {
            // Found now rather than after the approval: nothing is asked that could not be done.
            freeze_check(tx, now, targets, &load(tx, &new.id)?)?;
            EffectState::AwaitingApproval
        }
        Birth::Ready => {
            let mut row = load(tx, &new.id)?;
            fix(tx, now, targets, &row)?;
            row.state = EffectState::Ready;
            row.next_attempt = Some(now.elapsed.plus(hold(settings, &row)));
            super::step::save(tx, now, &row)?;
            EffectState::Ready
        }
    };
    let mut entry = Entry::new(Kind::EffectAdmitted, actor).of_effect(&new.id);
    entry.conversation = new.conversation;
    entry.turn = new.turn.clone();
    entry = entry
        .detail("tool", new.tool.as_str())
        .detail("to", state.as_str())
        .detail("identity", new.identity.as_str())
        .detail("literal", new.literal.as_str())
        .personal("account", new.account.as_str())
        .personal("summary", new.action.summary());
    if let Some(first) = &new.repeat_of {
        entry = entry.detail("repeat_of", first.as_str());
    }
    if let Some(first) = &new.replaces {
        entry = entry.detail("replaces", first.as_str());
    }
    audit::append(tx, now, entry)?;
    Ok(())
}

/// A person approved it: ready, with the undo hold for mail, and what will leave fixed.
pub fn approve(
    tx: &Transaction<'_>,
    now: Now,
    settings: &Settings,
    targets: &Targets,
    id: &EffectId,
    actor: Actor,
) -> Result<(), EvidenceError> {
    let mut row = load(tx, id)?;
    let due = now.elapsed.plus(hold(settings, &row));
    take(tx, now, settings, &mut row, Step::new(Event::Approve, Kind::EffectAdmitted, actor).due(due))?;
    fix(tx, now, targets, &row)
}

/// A person said no.
pub fn deny(
    tx: &Transaction<'_>,
    now: Now,
    settings: &Settings,
    id: &EffectId,
    actor: Actor,
) -> Result<(), EvidenceError> {
    let mut row = load(tx, id)?;
    take(tx, now, settings, &mut row, Step::new(Event::Deny, Kind::EffectOutcome, actor))
}

/// Nobody decided in time.
pub fn expire(
    tx: &Transaction<'_>,
    now: Now,
    settings: &Settings,
    id: &EffectId,
    reason: &str,
) -> Result<(), EvidenceError> {
    let mut row = load(tx, id)?;
    take(tx, now, settings, &mut row, Step::new(Event::Expire, Kind::EffectOutcome, Actor::System).reason(reason))
}

/// A waiting one is withdrawn without an outcome line: it was edited, or its approval is void.
pub fn withdraw(
    tx: &Transaction<'_>,
    now: Now,
    settings: &Settings,
    id: &EffectId,
    reason: &str,
    actor: Actor,
) -> Result<(), EvidenceError> {
    let mut row = load(tx, id)?;
    row.told = false;
    tx.prepare_cached("UPDATE effects SET told = 0 WHERE id = ?1")?.execute([id])?;
    let step = Step::new(Event::Cancel { someone_accepted: false }, Kind::EffectOutcome, actor).reason(reason);
    take(tx, now, settings, &mut row, step)
}

/// Only mail waits for a change of mind: a calendar can be put back.
fn hold(settings: &Settings, row: &EffectRow) -> std::time::Duration {
    match row.action {
        Action::SendEmail(_) => settings.hold,
        Action::CreateEvent(_) | Action::UpdateEvent(_) | Action::DeleteEvent(_) | Action::Other(_) => {
            std::time::Duration::ZERO
        }
    }
}

/// Stores what will leave. Once fixed it stays: every attempt sends the same bytes.
pub(super) fn fix(tx: &Transaction<'_>, now: Now, targets: &Targets, row: &EffectRow) -> Result<(), EvidenceError> {
    if row.message_id.is_some() && !seeded::bug("new_bytes_per_attempt") {
        return Ok(());
    }
    let Some(frozen) = freeze_check(tx, now, targets, row)? else { return Ok(()) };
    tx.prepare_cached("UPDATE effects SET payload = ?2, message_id = ?3 WHERE id = ?1")?.execute(params![
        row.id,
        frozen.bytes,
        frozen.message_id
    ])?;
    for address in &frozen.recipients {
        tx.prepare_cached(
            "INSERT INTO effect_recipients (effect_id, address, state) VALUES (?1, ?2, 'open') ON CONFLICT DO NOTHING",
        )?
        .execute(params![row.id, address])?;
    }
    Ok(())
}

fn freeze_check(
    tx: &Transaction<'_>,
    now: Now,
    targets: &Targets,
    row: &EffectRow,
) -> Result<Option<crate::domain::mail::FrozenMail>, EvidenceError> {
    let target = targets.get(&row.target).ok_or_else(|| EvidenceError::NoTarget { target: row.target.clone() })?;
    target.freeze(&row::dispatch(tx, now, row)?, now).map_err(|reason| EvidenceError::NotSendable { reason })
}
