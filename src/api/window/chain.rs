//! Intent, action, approval, attempts, receipt of an effect as one chain.

use rusqlite::Connection;

use super::wire::ChainLink;
use crate::domain::action::Action;
use crate::domain::ids::ConversationId;
use crate::evidence::EffectRow;
use crate::store::StoreError;

pub(super) fn of(connection: &Connection, effect: &EffectRow) -> Result<Vec<ChainLink>, StoreError> {
    let mut links = vec![
        ChainLink::Intent {
            at: effect.created_at.0,
            request: effect.intent.request.clone(),
            tool: effect.intent.tool.clone(),
            conversation_title: title(connection, effect.conversation)?,
        },
        ChainLink::Action {
            at: effect.created_at.0,
            tool: effect.tool.clone(),
            digest: effect.digest.as_str().to_owned(),
        },
    ];
    let mut statement = connection.prepare_cached(
        "SELECT id, requested_at, state, decided_by, surface, decided_at, reason FROM approvals
         WHERE effect_id = ?1 ORDER BY id",
    )?;
    let approvals = statement.query_map([&effect.id], |row| {
        Ok(ChainLink::Approval {
            id: row.get::<_, i64>(0)?.to_string(),
            at: row.get(1)?,
            state: row.get(2)?,
            who: row.get(3)?,
            surface: row.get(4)?,
            decided_at: row.get(5)?,
            reason: row.get(6)?,
        })
    })?;
    for approval in approvals {
        links.push(approval?);
    }
    let mut statement = connection.prepare_cached(
        "SELECT n, phase, reply, outcome, late, started_at, ended_at FROM effect_attempts WHERE effect_id = ?1 ORDER BY n",
    )?;
    let attempts = statement.query_map([&effect.id], |row| {
        Ok(ChainLink::Attempt {
            n: row.get(0)?,
            phase: row.get(1)?,
            reply: row.get(2)?,
            outcome: row.get(3)?,
            late: row.get(4)?,
            started_at: row.get(5)?,
            ended_at: row.get(6)?,
        })
    })?;
    for attempt in attempts {
        links.push(attempt?);
    }
    if let Some(receipt) = &effect.receipt {
        links.push(ChainLink::Receipt {
            at: effect.accepted_at.unwrap_or(effect.updated_at).0,
            source: receipt.source,
            provider_id: receipt.provider_id.clone(),
            detail: receipt.detail.clone(),
        });
    }
    Ok(links)
}

pub(super) fn title(connection: &Connection, id: Option<ConversationId>) -> Result<String, StoreError> {
    use rusqlite::OptionalExtension;
    let Some(id) = id else { return Ok(String::new()) };
    Ok(connection
        .prepare_cached("SELECT title FROM conversations WHERE id = ?1")?
        .query_row([id], |row| row.get(0))
        .optional()?
        .unwrap_or_default())
}

/// Recipients or guests in short, or the event's time.
pub(super) fn whom(action: &Action) -> String {
    match action {
        Action::SendEmail(mail) => {
            let all: Vec<&String> = mail.to.iter().chain(&mail.cc).chain(&mail.bcc).collect();
            few(&all)
        }
        Action::CreateEvent(event) => few(&event.guests.iter().collect::<Vec<_>>()),
        Action::UpdateEvent(_) | Action::DeleteEvent(_) | Action::Other(_) => String::new(),
    }
}

fn few(addresses: &[&String]) -> String {
    match addresses {
        [] => String::new(),
        [one] => (*one).clone(),
        [first, rest @ ..] => format!("{first} +{}", rest.len()),
    }
}
