//! Approvals as list and detail.

use rusqlite::{Connection, params};

use super::desk::DeskParts;
use super::wire::{ApprovalDetail, ApprovalRow, EarlierAction, Failure, MarkNote};
use super::{chain, evidence as rows};
use crate::approvals::{self, Approval};
use crate::domain::effect::Mark;
use crate::domain::ids::ApprovalId;
use crate::domain::provenance::TargetSource;
use crate::domain::time::Now;
use crate::evidence;

/// Pending ones, or the newest of all.
const MOST: u32 = 300;

pub(super) async fn list(parts: &DeskParts, all: bool) -> Result<Vec<ApprovalRow>, Failure> {
    let now = parts.guard.clock.now();
    parts
        .guard
        .store
        .read(move |connection| {
            let found = approvals::list(connection, !all, None, MOST)?;
            found.into_iter().map(|approval| row(connection, &approval, now)).collect::<Result<_, Failure>>()
        })
        .await
}

pub(super) async fn detail(parts: &DeskParts, id: &str) -> Result<ApprovalDetail, Failure> {
    let id: ApprovalId = id.parse().map_err(|_| Failure::not_found())?;
    let now = parts.guard.clock.now();
    parts
        .guard
        .store
        .read(move |connection| {
            let approval = approvals::load(connection, id)?;
            let effect = evidence::load(connection, &approval.effect)?;
            Ok(ApprovalDetail {
                row: row(connection, &approval, now)?,
                literal_hash: approval.literal.clone(),
                reason: approval.reason.clone(),
                notes: notes(&approval),
                near: near(connection, &approval)?,
                chain: chain::of(connection, &effect)?,
                action: effect.action,
            })
        })
        .await
}

fn row(connection: &Connection, approval: &Approval, now: Now) -> Result<ApprovalRow, Failure> {
    let effect = evidence::load(connection, &approval.effect)?;
    let (decided_at, decided_by, surface): (Option<i64>, Option<String>, Option<String>) = connection
        .prepare_cached("SELECT decided_at, decided_by, surface FROM approvals WHERE id = ?1")?
        .query_row(params![approval.id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    Ok(ApprovalRow {
        id: approval.id.to_string(),
        effect: effect.id.as_str().to_owned(),
        tool: effect.tool.clone(),
        state: approval.state.as_str().to_owned(),
        summary: effect.summary.clone(),
        whom: chain::whom(&effect.action),
        marks: approval.marks.clone(),
        conversation: effect.conversation.map(|id| id.to_string()),
        conversation_title: chain::title(connection, effect.conversation)?,
        requested_at: approval.requested_at.0,
        expires_at: approval.expires_at.0,
        decided_at,
        decided_by,
        surface,
        effect_state: effect.state,
        hold_until: rows::hold_until(&effect, now),
    })
}

fn notes(approval: &Approval) -> Vec<MarkNote> {
    approval
        .marks
        .iter()
        .flat_map(|mark| {
            let bare = MarkNote { mark: *mark, target: None, origin: None, seconds: None };
            match mark {
                Mark::Stale => vec![MarkNote { seconds: approval.notes.stale_seconds, ..bare }],
                Mark::UntrustedTarget if !approval.notes.origins.is_empty() => approval
                    .notes
                    .origins
                    .iter()
                    .map(|origin| MarkNote {
                        target: Some(origin.target.clone()),
                        origin: match &origin.source {
                            TargetSource::Untrusted { carrier } => Some(carrier.clone()),
                            TargetSource::Owner
                            | TargetSource::Configuration
                            | TargetSource::Model
                            | TargetSource::Unseen => None,
                        },
                        ..bare.clone()
                    })
                    .collect(),
                Mark::NewRecipient | Mark::UntrustedTarget | Mark::NearDuplicate | Mark::Repeat | Mark::Guests => {
                    vec![bare]
                }
            }
        })
        .collect()
}

fn near(connection: &Connection, approval: &Approval) -> Result<Option<EarlierAction>, Failure> {
    let Some(earlier) = &approval.notes.earlier else { return Ok(None) };
    let Some(effect) = evidence::find(connection, earlier)? else { return Ok(None) };
    Ok(Some(EarlierAction {
        effect: Some(effect.id.as_str().to_owned()),
        at: effect.accepted_at.unwrap_or(effect.created_at).0,
        state: Some(effect.state),
        summary: effect.summary,
        action: Some(effect.action),
        differences: approval.notes.differences.clone(),
    }))
}
