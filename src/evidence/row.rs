//! Effect rows as they are read.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row};

use super::error::EvidenceError;
use crate::domain::action::Action;
use crate::domain::effect::{Dispatch, EffectState, Intent, Receipt, RecipientResult, RecipientState};
use crate::domain::ids::{AccountId, ConversationId, Digest, EffectId, ExactKey, Identity, LiteralHash, TurnId};
use crate::domain::time::{Elapsed, Now, Wall};
use crate::runtime::seeded;
use crate::store::StoreError;

/// For this long the look at admission stands for the one before acting.
const LOOK_IS_FRESH: Duration = Duration::from_secs(60);

/// One effect, without its frozen bytes.
#[derive(Clone, PartialEq, Debug)]
pub struct EffectRow {
    pub id: EffectId,
    pub tool: String,
    pub target: String,
    pub account: AccountId,
    pub state: EffectState,
    /// Accepted for some recipients only.
    pub partial: bool,
    pub key: ExactKey,
    pub identity: Identity,
    pub digest: Digest,
    pub literal: LiteralHash,
    pub intent: Intent,
    pub action: Action,
    pub summary: String,
    pub conversation: Option<ConversationId>,
    pub turn: Option<TurnId>,
    pub repeat_of: Option<EffectId>,
    pub replaces: Option<EffectId>,
    pub message_id: Option<String>,
    pub attempts: u32,
    pub epoch: i64,
    pub lease_until: Option<Elapsed>,
    pub next_attempt: Option<Elapsed>,
    pub first_attempt: Option<Elapsed>,
    pub unknown_since: Option<Elapsed>,
    pub reconcile_step: u32,
    pub left_by_person: bool,
    pub receipt: Option<Receipt>,
    pub provider_id: Option<String>,
    pub last_error: Option<String>,
    pub accepted_elapsed: Option<Elapsed>,
    pub accepted_at: Option<Wall>,
    pub released: Option<String>,
    pub told: bool,
    pub created_at: Wall,
    pub created_elapsed: Elapsed,
    pub updated_at: Wall,
}

/// Columns of [`EffectRow`], in its order.
pub(crate) const COLUMNS: &str = "id, tool, target, account, state, partial, idempotency_key, identity, digest, \
     literal_hash, intent, action, summary, conversation_id, turn_id, repeat_of, replaces, message_id, attempts, epoch, \
     lease_until, next_attempt_elapsed, first_attempt_elapsed, unknown_elapsed, reconcile_step, left_by_person, receipt, \
     provider_id, last_error, accepted_elapsed, accepted_at, released, told, created_at, created_elapsed, updated_at";

/// `SELECT` of whole rows with the given tail, to be read by [`raw`] and [`decode`].
pub(crate) fn query(tail: &str) -> String {
    format!("SELECT {COLUMNS} FROM effects {tail}")
}

/// A row of [`COLUMNS`]; JSON is parsed by [`decode`].
pub(crate) struct Raw {
    row: EffectRow,
    state: String,
    intent: String,
    action: String,
    receipt: Option<String>,
}

pub(crate) fn raw(row: &Row<'_>) -> rusqlite::Result<Raw> {
    Ok(Raw {
        state: row.get(4)?,
        intent: row.get(10)?,
        action: row.get(11)?,
        receipt: row.get(26)?,
        row: EffectRow {
            id: row.get(0)?,
            tool: row.get(1)?,
            target: row.get(2)?,
            account: row.get(3)?,
            state: EffectState::AwaitingApproval,
            partial: row.get(5)?,
            key: row.get(6)?,
            identity: row.get(7)?,
            digest: row.get(8)?,
            literal: row.get(9)?,
            intent: Intent::default(),
            action: Action::Other(crate::domain::action::OtherAction {
                tool: String::new(),
                arguments: serde_json::Value::Null,
                identity_fields: Vec::new(),
            }),
            summary: row.get(12)?,
            conversation: row.get(13)?,
            turn: row.get(14)?,
            repeat_of: row.get(15)?,
            replaces: row.get(16)?,
            message_id: row.get(17)?,
            attempts: row.get(18)?,
            epoch: row.get(19)?,
            lease_until: row.get(20)?,
            next_attempt: row.get(21)?,
            first_attempt: row.get(22)?,
            unknown_since: row.get(23)?,
            reconcile_step: row.get(24)?,
            left_by_person: row.get(25)?,
            receipt: None,
            provider_id: row.get(27)?,
            last_error: row.get(28)?,
            accepted_elapsed: row.get(29)?,
            accepted_at: row.get(30)?,
            released: row.get(31)?,
            told: row.get(32)?,
            created_at: row.get(33)?,
            created_elapsed: row.get(34)?,
            updated_at: row.get(35)?,
        },
    })
}

pub(crate) fn decode(raw: Raw) -> Result<EffectRow, StoreError> {
    Ok(EffectRow {
        state: parse_state(&raw.state)?,
        intent: serde_json::from_str(&raw.intent)?,
        action: serde_json::from_str(&raw.action)?,
        receipt: raw.receipt.map(|text| serde_json::from_str(&text)).transpose()?,
        ..raw.row
    })
}

pub(crate) fn parse_state(text: &str) -> Result<EffectState, StoreError> {
    EffectState::ALL
        .into_iter()
        .find(|state| state.as_str() == text)
        .ok_or_else(|| StoreError::Unreadable { what: "effect state", reason: text.to_owned() })
}

/// The effect, or `None`.
pub fn find(connection: &Connection, id: &EffectId) -> Result<Option<EffectRow>, StoreError> {
    connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM effects WHERE id = ?1"))?
        .query_row([id], raw)
        .optional()?
        .map(decode)
        .transpose()
}

/// The effect, or [`EvidenceError::NotFound`].
pub fn load(connection: &Connection, id: &EffectId) -> Result<EffectRow, EvidenceError> {
    find(connection, id)?.ok_or_else(|| EvidenceError::NotFound(id.clone()))
}

/// The effect admitted under an exact key.
pub fn load_by_key(connection: &Connection, key: &ExactKey) -> Result<Option<EffectRow>, StoreError> {
    connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM effects WHERE idempotency_key = ?1"))?
        .query_row([key], raw)
        .optional()?
        .map(decode)
        .transpose()
}

/// What is known of each recipient of a mail, by address.
pub fn recipients(connection: &Connection, id: &EffectId) -> Result<Vec<RecipientResult>, StoreError> {
    let mut statement = connection
        .prepare_cached("SELECT address, state, reply FROM effect_recipients WHERE effect_id = ?1 ORDER BY address")?;
    let rows = statement.query_map([id], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, Option<String>>(2)?))
    })?;
    rows.map(|row| {
        let (address, state, reply) = row?;
        Ok(RecipientResult { address, state: parse_recipient_state(&state)?, reply })
    })
    .collect()
}

fn parse_recipient_state(text: &str) -> Result<RecipientState, StoreError> {
    use RecipientState as R;
    [R::Open, R::Accepted, R::Rejected, R::Failed, R::Bounced]
        .into_iter()
        .find(|state| recipient_state_name(*state) == text)
        .ok_or_else(|| StoreError::Unreadable { what: "recipient state", reason: text.to_owned() })
}

pub(super) fn recipient_state_name(state: RecipientState) -> &'static str {
    match state {
        RecipientState::Open => "open",
        RecipientState::Accepted => "accepted",
        RecipientState::Rejected => "rejected",
        RecipientState::Failed => "failed",
        RecipientState::Bounced => "bounced",
    }
}

/// A mail that somebody received.
pub(super) fn someone_accepted(connection: &Connection, id: &EffectId) -> Result<bool, StoreError> {
    Ok(recipients(connection, id)?.iter().any(|one| one.state == RecipientState::Accepted))
}

/// What a target gets: the row and its frozen bytes.
pub(super) fn dispatch(connection: &Connection, now: Now, row: &EffectRow) -> Result<Dispatch, StoreError> {
    let payload: Option<Vec<u8>> = connection
        .prepare_cached("SELECT payload FROM effects WHERE id = ?1")?
        .query_row([&row.id], |row| row.get(0))?;
    let open = recipients(connection, &row.id)?
        .into_iter()
        .filter(|one| one.state == RecipientState::Open || seeded::bug("retry_all_recipients"))
        .map(|one| one.address)
        .collect();
    Ok(Dispatch {
        effect: row.id.clone(),
        key: row.key.clone(),
        epoch: row.epoch,
        account: row.account.clone(),
        action: row.action.clone(),
        payload,
        message_id: row.message_id.clone(),
        open_recipients: open,
        provider_id: row.provider_id.clone(),
        look_first: row.repeat_of.is_none()
            && now.elapsed.since(row.created_elapsed) > LOOK_IS_FRESH
            && !wanted_again(connection, &row.id)?,
    })
}

/// A person approved it knowing of the earlier one.
pub(crate) fn wanted_again(connection: &Connection, id: &EffectId) -> Result<bool, StoreError> {
    Ok(connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM approvals, json_each(approvals.marks)
                            WHERE effect_id = ?1 AND json_each.value IN ('repeat', 'near_duplicate'))",
        )?
        .query_row([id], |row| row.get(0))?)
}
