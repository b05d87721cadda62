//! The evidence queue as table and detail.

use rusqlite::{Connection, params};

use super::chain;
use super::desk::DeskParts;
use super::wire::{EvidenceDetail, EvidenceFilter, EvidencePage, EvidenceRow, Failure};
use crate::domain::effect::EffectState;
use crate::domain::ids::EffectId;
use crate::domain::time::Now;
use crate::evidence::{self, EffectRow};
use crate::store::StoreError;

const PAGE: usize = 80;

impl EvidenceFilter {
    fn condition(self) -> &'static str {
        match self {
            Self::All => "1",
            Self::Attention => "state = 'unknown' AND left_by_person = 0",
            Self::Open => "state IN ('awaiting_approval', 'ready', 'dispatching', 'retryable', 'unknown')",
            Self::Accepted => "state = 'accepted'",
            Self::NotDone => "state IN ('rejected', 'denied', 'expired', 'cancelled', 'reverted')",
        }
    }
}

pub(super) async fn page(
    parts: &DeskParts,
    filter: EvidenceFilter,
    older: Option<String>,
) -> Result<EvidencePage, Failure> {
    let now = parts.guard.clock.now();
    parts.guard.store.read(move |connection| read(connection, filter, older, now)).await
}

/// Newest first; the position is (time, id), so that equal times neither repeat nor vanish.
fn read(
    connection: &Connection,
    filter: EvidenceFilter,
    older: Option<String>,
    now: Now,
) -> Result<EvidencePage, Failure> {
    let (at, id) = older
        .as_deref()
        .and_then(|position| position.split_once('|'))
        .and_then(|(at, id)| Some((at.parse::<i64>().ok()?, id.to_owned())))
        .unwrap_or((i64::MAX, String::new()));
    let mut statement = connection.prepare_cached(&format!(
        "SELECT id FROM effects WHERE {} AND (created_at < ?1 OR (created_at = ?1 AND id < ?2))
         ORDER BY created_at DESC, id DESC LIMIT ?3",
        filter.condition()
    ))?;
    let limit = i64::try_from(PAGE + 1).unwrap_or(i64::MAX);
    let mut ids: Vec<EffectId> =
        statement.query_map(params![at, id, limit], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let more = ids.len() > PAGE;
    ids.truncate(PAGE);
    let rows: Vec<EvidenceRow> = ids
        .iter()
        .map(|id| Ok(row(connection, &evidence::load(connection, id)?, now)?))
        .collect::<Result<_, Failure>>()?;
    let older = rows.last().filter(|_| more).map(|last| format!("{}|{}", last.created_at, last.id));
    Ok(EvidencePage { rows, older })
}

pub(super) async fn detail(parts: &DeskParts, id: String) -> Result<EvidenceDetail, Failure> {
    let now = parts.guard.clock.now();
    parts
        .guard
        .store
        .read(move |connection| {
            let effect = evidence::load(connection, &EffectId::new(id))?;
            Ok(EvidenceDetail {
                row: row(connection, &effect, now)?,
                account: effect.account.to_string(),
                message_id: effect.message_id.clone(),
                idempotency_key: effect.key.as_str().to_owned(),
                conversation: effect.conversation.map(|id| id.to_string()),
                released: effect.released.clone(),
                recipients: evidence::recipients(connection, &effect.id)?,
                chain: chain::of(connection, &effect)?,
                action: effect.action,
            })
        })
        .await
}

/// Accepted by writing a file: the receipt of such a mail says so.
pub(super) fn saved_as_file(effect: &EffectRow) -> bool {
    effect.receipt.as_ref().is_some_and(|receipt| receipt.detail["saved_only"].as_bool() == Some(true))
}

/// When a row in its undo time leaves, by the wall clock.
pub(super) fn hold_until(effect: &EffectRow, now: Now) -> Option<i64> {
    if effect.state != EffectState::Ready || effect.attempts > 0 {
        return None;
    }
    let left = effect.next_attempt?.0 - now.elapsed.0;
    (left > 0).then_some(now.wall.0 + left)
}

fn row(connection: &Connection, effect: &EffectRow, now: Now) -> Result<EvidenceRow, StoreError> {
    let next: Option<i64> = connection
        .prepare_cached("SELECT next_attempt_at FROM effects WHERE id = ?1")?
        .query_row([&effect.id], |row| row.get(0))?;
    Ok(EvidenceRow {
        id: effect.id.as_str().to_owned(),
        tool: effect.tool.clone(),
        summary: effect.summary.clone(),
        whom: chain::whom(&effect.action),
        state: effect.state,
        partial: effect.partial,
        saved_as_file: saved_as_file(effect),
        attempts: i64::from(effect.attempts),
        next_attempt_at: next,
        provider_id: effect.provider_id.clone(),
        last_error: effect.last_error.clone(),
        left_by_person: effect.left_by_person,
        hold_until: hold_until(effect, now),
        created_at: effect.created_at.0,
        updated_at: effect.updated_at.0,
    })
}
