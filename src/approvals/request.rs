//! Asking: the approval row, its audit entry and the cards, in the transaction that admits the effect.

use rusqlite::{Transaction, params};

use super::cards;
use super::error::ApprovalError;
use super::row::{Notes, load};
use super::settings::Rules;
use crate::audit::{self, Actor, Entry, Kind};
use crate::domain::effect::Mark;
use crate::domain::ids::{ApprovalId, EffectId};
use crate::domain::time::Now;
use crate::evidence;

#[derive(Clone, PartialEq, Debug)]
pub struct Request {
    pub effect: EffectId,
    pub marks: Vec<Mark>,
    pub notes: Notes,
}

/// Asks for the effect, which must be `awaiting_approval`. Bound to the literal hash on its row.
pub fn request(tx: &Transaction<'_>, now: Now, rules: &Rules, request: Request) -> Result<ApprovalId, ApprovalError> {
    let effect = evidence::load(tx, &request.effect)?;
    let mut marks = request.marks;
    marks.sort_unstable();
    marks.dedup();
    tx.prepare_cached(
        "INSERT INTO approvals (effect_id, state, literal_hash, token, marks, notes, summary, conversation_id,
             requested_at, expires_at, expires_elapsed)
         VALUES (?1, 'pending', ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?
    .execute(params![
        effect.id,
        effect.literal,
        rules.ids.token(),
        serde_json::to_string(&marks)?,
        serde_json::to_string(&request.notes)?,
        effect.summary,
        effect.conversation,
        now.wall,
        now.wall.plus(rules.settings.expires),
        now.elapsed.plus(rules.settings.expires),
    ])?;
    let id = ApprovalId(tx.last_insert_rowid());
    let mut entry = Entry::new(Kind::ApprovalRequested, Actor::System)
        .of_effect(&effect.id)
        .detail("approval_id", id.0)
        .detail("literal", effect.literal.as_str())
        .detail("marks", serde_json::to_value(&marks)?)
        .personal("summary", effect.summary.as_str());
    entry.conversation = effect.conversation;
    entry.turn = effect.turn.clone();
    audit::append(tx, now, entry)?;
    cards::send(tx, now, rules, &load(tx, id)?)?;
    Ok(id)
}
