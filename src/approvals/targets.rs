//! Who is an owner, and which targets an owner wrote, configured or confirmed before.

use rusqlite::{Connection, Transaction, params};

use super::settings::Settings;
use crate::domain::action::Action;
use crate::domain::address::identity_of;
use crate::domain::provenance::TargetKind;
use crate::domain::time::Now;
use crate::runtime::seeded;
use crate::store::StoreError;

/// True for a paired Telegram user, by user id. Nobody without an id.
pub fn is_owner(connection: &Connection, settings: &Settings, sender_id: &str) -> Result<bool, StoreError> {
    if seeded::bug("anyone_decides") {
        return Ok(true);
    }
    if sender_id.is_empty() {
        return Ok(false);
    }
    if settings.telegram_owners.iter().any(|owner| owner == sender_id) {
        return Ok(true);
    }
    Ok(connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM owners WHERE channel = 'telegram' AND sender_id = ?1)")?
        .query_row([sender_id], |row| row.get(0))?)
}

/// True when an owner wrote, configured or confirmed this target before.
pub fn is_known(connection: &Connection, kind: TargetKind, target: &str) -> Result<bool, StoreError> {
    Ok(connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM known_targets WHERE kind = ?1 AND target = ?2)")?
        .query_row(params![kind.as_str(), normalised(kind, target)], |row| row.get(0))?)
}

/// Remembers a target. `source`: owner, configuration or approval.
pub fn know(tx: &Transaction<'_>, now: Now, kind: TargetKind, target: &str, source: &str) -> Result<(), StoreError> {
    tx.prepare_cached(
        "INSERT INTO known_targets (kind, target, source, at) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
    )?
    .execute(params![kind.as_str(), normalised(kind, target), source, now.wall])?;
    Ok(())
}

/// Everyone an approved action goes to is known from now on.
pub(super) fn know_all(tx: &Transaction<'_>, now: Now, action: &Action) -> Result<(), StoreError> {
    let addresses: Vec<&String> = match action {
        Action::SendEmail(mail) => mail.to.iter().chain(&mail.cc).chain(&mail.bcc).collect(),
        Action::CreateEvent(event) => event.guests.iter().collect(),
        Action::UpdateEvent(update) => update.changes.guests.iter().flatten().collect(),
        Action::DeleteEvent(_) | Action::Other(_) => Vec::new(),
    };
    for address in addresses {
        know(tx, now, TargetKind::Mail, address, "approval")?;
    }
    Ok(())
}

fn normalised(kind: TargetKind, target: &str) -> String {
    match kind {
        TargetKind::Mail => identity_of(target),
        TargetKind::Calendar | TargetKind::Url => target.trim().to_owned(),
    }
}
