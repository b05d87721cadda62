//! Time running out: one reminder, then expiry. Expiry never runs anything and never forbids asking again.

use rusqlite::{Connection, Transaction, params};

use super::cards;
use super::error::ApprovalError;
use super::row::load;
use super::settings::{Rules, Settings};
use crate::audit::{self, Actor, Entry, Kind};
use crate::domain::ids::ApprovalId;
use crate::domain::time::{Elapsed, Now};
use crate::evidence;
use crate::store::StoreError;

/// Expires what is due. Gives the approvals that expired.
pub fn expire_due(tx: &Transaction<'_>, now: Now, rules: &Rules) -> Result<Vec<ApprovalId>, ApprovalError> {
    let due: Vec<ApprovalId> = {
        let mut statement = tx
            .prepare_cached("SELECT id FROM approvals WHERE state = 'pending' AND expires_elapsed <= ?1 ORDER BY id")?;
        statement.query_map([now.elapsed], |row| row.get(0))?.collect::<Result<_, _>>()?
    };
    for id in &due {
        expire(tx, now, rules, *id, "nobody decided in time")?;
    }
    Ok(due)
}

pub(super) fn expire(
    tx: &Transaction<'_>,
    now: Now,
    rules: &Rules,
    id: ApprovalId,
    reason: &str,
) -> Result<(), ApprovalError> {
    tx.prepare_cached(
        "UPDATE approvals SET state = 'expired', decided_at = ?2, reason = ?3 WHERE id = ?1 AND state = 'pending'",
    )?
    .execute(params![id, now.wall, reason])?;
    let approval = load(tx, id)?;
    let mut entry = Entry::new(Kind::ApprovalExpired, Actor::System)
        .of_effect(&approval.effect)
        .detail("approval_id", id.0)
        .detail("reason", reason);
    entry.conversation = approval.conversation;
    audit::append(tx, now, entry)?;
    evidence::expire(tx, now, &rules.evidence, &approval.effect, reason)?;
    cards::close(tx, now, rules, &approval)
}

/// Sends the one reminder of what will expire soon. Gives the approvals that were reminded of.
pub fn remind_due(tx: &Transaction<'_>, now: Now, rules: &Rules) -> Result<Vec<ApprovalId>, ApprovalError> {
    let until = now.elapsed.plus(rules.settings.reminder_before());
    let due: Vec<ApprovalId> = {
        let mut statement = tx.prepare_cached(
            "SELECT id FROM approvals
             WHERE state = 'pending' AND reminded = 0 AND expires_elapsed <= ?1 AND expires_elapsed > ?2 ORDER BY id",
        )?;
        statement.query_map([until, now.elapsed], |row| row.get(0))?.collect::<Result<_, _>>()?
    };
    for id in &due {
        tx.prepare_cached("UPDATE approvals SET reminded = 1 WHERE id = ?1")?.execute([id])?;
        cards::remind(tx, now, rules, &load(tx, *id)?)?;
    }
    Ok(due)
}

/// When the next reminder or expiry is due.
pub(super) fn next_due(connection: &Connection, settings: &Settings) -> Result<Option<Elapsed>, StoreError> {
    let before = i64::try_from(settings.reminder_before().as_millis()).unwrap_or(i64::MAX);
    Ok(connection
        .prepare_cached(
            "SELECT MIN(CASE reminded WHEN 0 THEN expires_elapsed - ?1 ELSE expires_elapsed END)
             FROM approvals WHERE state = 'pending'",
        )?
        .query_row([before], |row| row.get(0))?)
}

/// After a restore from a backup: what was asked then may be decided and done by now. All pending ones expire.
pub fn after_restore(tx: &Transaction<'_>, now: Now, rules: &Rules) -> Result<Vec<ApprovalId>, ApprovalError> {
    let pending: Vec<ApprovalId> = {
        let mut statement = tx.prepare_cached("SELECT id FROM approvals WHERE state = 'pending' ORDER BY id")?;
        statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?
    };
    for id in &pending {
        expire(tx, now, rules, *id, "restored from a backup")?;
    }
    Ok(pending)
}
