//! Mails that came back: the recipient is marked, the person told; nothing is ever sent because of one.

use rusqlite::{Connection, OptionalExtension, Transaction, params};
use serde_json::json;

use super::error::EvidenceError;
use super::machine::Event;
use super::row::{EffectRow, load, recipient_state_name, recipients};
use super::settings::Settings;
use super::step::{Step, save, take};
use super::words;
use crate::audit::{self, Actor, Entry, Kind};
use crate::domain::address::identity_of;
use crate::domain::effect::{EffectState, Receipt, ReceiptSource, RecipientState};
use crate::domain::ids::EffectId;
use crate::domain::mail::Bounce;
use crate::domain::time::Now;
use crate::outbox;
use crate::runtime::redact::redact;
use crate::store::StoreError;

/// What a bounce did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Bounced {
    /// This recipient of this mail was marked.
    Marked(EffectId),
    /// Known already.
    Known(EffectId),
    /// Not about a mail of ours, or about nobody we wrote to: no change at all.
    NotOurs,
}

/// Applies one report. Only the Message-ID that we gave (or that the provider gave in its place) makes it ours.
pub fn bounce(tx: &Transaction<'_>, now: Now, settings: &Settings, report: &Bounce) -> Result<Bounced, EvidenceError> {
    let Some(id) = mail_with(tx, &report.original_message_id)? else { return Ok(Bounced::NotOurs) };
    let mut row = load(tx, &id)?;
    let wanted = identity_of(&report.recipient);
    let known = recipients(tx, &id)?;
    let Some(recipient) = known.into_iter().find(|one| identity_of(&one.address) == wanted) else {
        return Ok(Bounced::NotOurs);
    };
    if recipient.state == RecipientState::Bounced {
        return Ok(Bounced::Known(id));
    }
    if row.state == EffectState::Unknown {
        // It came back, so it had left.
        let receipt = Receipt {
            source: ReceiptSource::Found,
            provider_id: row.provider_id.clone(),
            detail: json!({ "found_in": "a delivery report", "status": report.status }),
        };
        let step = Step::new(Event::FindAccepted, Kind::EffectReconciled, Actor::System).receipt(receipt);
        take(tx, now, settings, &mut row, step.detail("found_in", "a delivery report"))?;
    }
    let reason = redact(format!("{} {}", report.status, report.diagnostic).trim());
    tx.prepare_cached("UPDATE effect_recipients SET state = ?3, reply = ?4 WHERE effect_id = ?1 AND address = ?2")?
        .execute(params![id, recipient.address, recipient_state_name(RecipientState::Bounced), reason])?;
    row.partial = row.partial || recipients(tx, &id)?.iter().any(|one| one.state == RecipientState::Accepted);
    row.updated_at = now.wall;
    save(tx, now, &row)?;
    let mut entry = Entry::new(Kind::EffectReconciled, Actor::System)
        .of_effect(&id)
        .detail("result", "bounced")
        .detail("status", report.status.as_str())
        .personal("recipient", recipient.address.as_str());
    entry.conversation = row.conversation;
    audit::append(tx, now, entry)?;
    tell(tx, now, settings, &row, &recipient.address, &reason)?;
    Ok(Bounced::Marked(id))
}

fn tell(
    tx: &Transaction<'_>,
    now: Now,
    settings: &Settings,
    row: &EffectRow,
    address: &str,
    reason: &str,
) -> Result<(), StoreError> {
    let mut conversations = super::notices::waiting(tx, row)?;
    if let Some(own) = row.conversation
        && !conversations.contains(&own)
    {
        conversations.push(own);
    }
    let text = words::bounce_line(row, address, reason, settings.language, &settings.zone);
    for conversation in conversations {
        outbox::enqueue_notice(tx, now, conversation, text.clone())?;
    }
    Ok(())
}

fn mail_with(connection: &Connection, message_id: &str) -> Result<Option<EffectId>, StoreError> {
    let ours = connection
        .prepare_cached("SELECT id FROM effects WHERE message_id = ?1")?
        .query_row([message_id], |row| row.get(0))
        .optional()?;
    if ours.is_some() {
        return Ok(ours);
    }
    let theirs = connection
        .prepare_cached(
            "SELECT id FROM effects
             WHERE message_id IS NOT NULL AND json_extract(receipt, '$.detail.provider_message_id') = ?1",
        )?
        .query_row([message_id], |row| row.get(0))
        .optional()?;
    Ok(theirs)
}
