//! The frame's data: badges, the status strip, the card after an absence.

use rusqlite::{Connection, OptionalExtension};

use super::desk::DeskParts;
use super::wire::{Away, Badges, ExpiredCard, Failure, Health, Language, PartStatus, Snapshot, Status};
use crate::api::EdgeStatus;
use crate::audit::{Layer, layer_counts};
use crate::domain::language;
use crate::domain::time::Now;
use crate::store::{StoreError, meta};

/// Set once the wizard was finished or skipped.
pub(super) const FIRST_START_DONE: &str = "window_first_start_done";
/// Wall ms of the last "seen" of the card after an absence.
pub(super) const AWAY_SEEN: &str = "window_away_seen";

pub(super) async fn read(parts: &DeskParts) -> Result<Snapshot, Failure> {
    let api = parts.api.parts();
    let host = api.host.status();
    let now = api.clock.now();
    let today = now.wall.timestamp().to_zoned_datetime(api.zone.clone()).date();
    let facts = api.store.read(move |connection| facts(connection, now, today)).await.map_err(Failure::from)?;
    let saves = parts.guard.mail_saves_only;
    let local = host.calendar.name == "local";
    Ok(Snapshot {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        now: now.wall.0,
        zone: parts.zone_name.clone(),
        language: match parts.language {
            language::Language::En => Language::En,
            language::Language::Es => Language::Es,
        },
        theme: parts.theme,
        first_start: !facts.first_start_done,
        practice: parts.practice,
        paused: parts.paused,
        mail_saves_files: saves,
        local_calendar: local,
        hold_seconds: parts.hold_seconds,
        badges: facts.badges,
        status: Status {
            telegram: telegram(&host.telegram),
            model: model(&host.model, parts.practice),
            mail: edge(&host.mail, if saves { "" } else { host.mail.account.as_deref().unwrap_or("") }),
            calendar: edge(&host.calendar, if local { "" } else { host.calendar.account.as_deref().unwrap_or("") }),
            next_retry_at: facts.next_retry,
            prevented_today: facts.prevented,
            merged_today: facts.merged,
        },
        away: facts.away,
    })
}

fn telegram(edge: &EdgeStatus) -> PartStatus {
    let health = match edge.state.as_str() {
        "receiving" => Health::Ok,
        "off" => Health::Off,
        _ => Health::Trouble,
    };
    PartStatus { health, name: String::new(), state: edge.state.clone(), detail: edge.reason.clone() }
}

fn model(edge: &EdgeStatus, practice: bool) -> PartStatus {
    if practice {
        return PartStatus { health: Health::Ok, name: String::new(), state: "practice".to_owned(), detail: None };
    }
    let failing = edge.state == "failing";
    let state = if failing {
        "trouble"
    } else if edge.name == "ollama" {
        "local"
    } else {
        "remote"
    };
    PartStatus {
        health: if failing { Health::Trouble } else { Health::Ok },
        name: edge.account.clone().unwrap_or_default(),
        state: state.to_owned(),
        detail: edge.reason.clone(),
    }
}

fn edge(edge: &EdgeStatus, name: &str) -> PartStatus {
    let failing = edge.state == "failing";
    PartStatus {
        health: if failing { Health::Trouble } else { Health::Ok },
        name: name.to_owned(),
        state: if failing { "trouble".to_owned() } else { edge.name.clone() },
        detail: edge.reason.clone(),
    }
}

struct Facts {
    first_start_done: bool,
    badges: Badges,
    next_retry: Option<i64>,
    prevented: i64,
    merged: i64,
    away: Option<Away>,
}

fn facts(connection: &Connection, now: Now, today: jiff::civil::Date) -> Result<Facts, StoreError> {
    let one =
        |sql: &str| -> Result<i64, StoreError> { Ok(connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?) };
    let (mut prevented, mut merged) = (0, 0);
    for (_, layer, count) in layer_counts(connection, today)? {
        match layer {
            Layer::Burst => merged += count,
            Layer::Guard | Layer::Exact | Layer::Calendar => prevented += count,
            Layer::Near => {}
        }
    }
    let next_retry = connection
        .prepare_cached(
            "SELECT min(next_attempt_at) FROM effects WHERE state IN ('retryable', 'unknown') AND next_attempt_at > ?1",
        )?
        .query_row([now.wall], |row| row.get(0))
        .optional()?
        .flatten();
    Ok(Facts {
        first_start_done: meta::get::<i64>(connection, FIRST_START_DONE)?.is_some(),
        badges: Badges {
            approvals: one("SELECT count(*) FROM approvals WHERE state = 'pending'")?,
            evidence: one("SELECT count(*) FROM effects WHERE state = 'unknown' AND left_by_person = 0")?,
        },
        next_retry,
        prevented,
        merged,
        away: away(connection)?,
    })
}

/// The summary of the last absence that a person has not seen yet: what arrived late, what waits, what expired.
fn away(connection: &Connection) -> Result<Option<Away>, StoreError> {
    let seen = meta::get::<i64>(connection, AWAY_SEEN)?.unwrap_or(0);
    let (arrived, from, until): (i64, Option<i64>, Option<i64>) = connection
        .prepare_cached(
            "SELECT count(*), min(sent_at), max(received_at) FROM inbound WHERE stale = 1 AND received_at > ?1",
        )?
        .query_row([seen], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let expired: Vec<ExpiredCard> = connection
        .prepare_cached(
            "SELECT id, summary FROM approvals WHERE state = 'expired' AND coalesce(decided_at, expires_at) > ?1
             ORDER BY id DESC LIMIT 5",
        )?
        .query_map([seen], |row| Ok(ExpiredCard { approval: row.get::<_, i64>(0)?.to_string(), summary: row.get(1)? }))?
        .collect::<Result<_, _>>()?;
    let (Some(from), Some(until)) = (from, until) else { return Ok(None) };
    let between = |sql: &str| -> Result<i64, StoreError> {
        Ok(connection.prepare_cached(sql)?.query_row([from], |row| row.get(0))?)
    };
    Ok(Some(Away {
        from,
        until,
        arrived,
        waiting: between("SELECT count(*) FROM approvals WHERE state = 'pending' AND requested_at >= ?1")?,
        not_repeated: between("SELECT count(*) FROM prevented WHERE at >= ?1")?,
        expired,
    }))
}
