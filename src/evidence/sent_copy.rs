//! The copy in Sent that we owe where the provider files none. It is owed from the acceptance on, on the receipt itself;
//! what becomes of it never changes that the mail was accepted.

use rusqlite::{Connection, Transaction, params};

use super::error::EvidenceError;
use super::row::{self, load};
use crate::domain::action::Action;
use crate::domain::address::Mailbox;
use crate::domain::ids::EffectId;
use crate::domain::mail::FrozenMail;
use crate::domain::time::{Elapsed, Now, Wall};
use crate::store::StoreError;

/// A copy to file.
#[derive(Clone, PartialEq, Debug)]
pub struct OwedCopy {
    pub effect: EffectId,
    pub accepted: Elapsed,
    pub mail: FrozenMail,
}

/// Copies owed for mails of the last `days` days, oldest first.
pub fn owed_copies(connection: &Connection, now: Now, days: i64) -> Result<Vec<OwedCopy>, StoreError> {
    const DAY: i64 = 86_400_000;
    let mut statement = connection.prepare_cached(
        "SELECT id FROM effects
         WHERE created_at > ?1 AND state = 'accepted' AND message_id IS NOT NULL
           AND json_extract(receipt, '$.detail.sent_copy') = 'due'
         ORDER BY created_at LIMIT 20",
    )?;
    let since = Wall(now.wall.0.saturating_sub(days * DAY));
    let ids: Vec<EffectId> = statement.query_map([since], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut owed = Vec::with_capacity(ids.len());
    for id in ids {
        let Some(row) = row::find(connection, &id)? else { continue };
        let dispatch = row::dispatch(connection, now, &row)?;
        let (Some(bytes), Some(message_id), Action::SendEmail(mail)) =
            (dispatch.payload, dispatch.message_id, &dispatch.action)
        else {
            continue;
        };
        let from = Mailbox::parse(&mail.from).map(|from| from.address()).unwrap_or_default();
        owed.push(OwedCopy {
            effect: id,
            accepted: row.accepted_elapsed.unwrap_or(now.elapsed),
            mail: FrozenMail::restored(message_id, from, Vec::new(), bytes),
        });
    }
    Ok(owed)
}

/// Notes on the receipt what became of the copy: `filed`, or why not.
pub fn note_copy(tx: &Transaction<'_>, now: Now, id: &EffectId, result: &str) -> Result<(), EvidenceError> {
    let row = load(tx, id)?;
    let Some(mut receipt) = row.receipt else { return Ok(()) };
    if let Some(detail) = receipt.detail.as_object_mut() {
        detail.insert("sent_copy".to_owned(), result.into());
    }
    tx.prepare_cached("UPDATE effects SET receipt = ?2, updated_at = ?3 WHERE id = ?1")?.execute(params![
        id,
        serde_json::to_string(&receipt)?,
        now.wall
    ])?;
    Ok(())
}
