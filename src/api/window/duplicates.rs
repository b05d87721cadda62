//! Prevented and held duplicates, and how often each layer fired.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::chain;
use super::desk::DeskParts;
use super::wire::{DuplicateDetail, DuplicatePage, DuplicateRow, EarlierAction, Failure, LayerChart, LayerDay};
use crate::audit::{Layer, layer_counts};
use crate::domain::effect::{Difference, EffectState, Intent};
use crate::domain::ids::{ConversationId, EffectId};
use crate::evidence;
use crate::store::StoreError;

const PAGE: usize = 80;

/// Columns of one row, in the order of [`Raw`].
const COLUMNS: &str =
    "id, at, verdict, layer, tool, summary, differences, first_effect_id, conversation_id, done_anyway";

struct Raw {
    id: i64,
    at: i64,
    verdict: String,
    layer: String,
    tool: String,
    summary: String,
    differences: String,
    first: Option<EffectId>,
    conversation: Option<ConversationId>,
    done_anyway: Option<String>,
}

fn raw(row: &Row<'_>) -> rusqlite::Result<Raw> {
    Ok(Raw {
        id: row.get(0)?,
        at: row.get(1)?,
        verdict: row.get(2)?,
        layer: row.get(3)?,
        tool: row.get(4)?,
        summary: row.get(5)?,
        differences: row.get(6)?,
        first: row.get(7)?,
        conversation: row.get(8)?,
        done_anyway: row.get(9)?,
    })
}

fn shown(connection: &Connection, raw: Raw) -> Result<DuplicateRow, StoreError> {
    let differences: Vec<Difference> = serde_json::from_str(&raw.differences)?;
    let first_at: Option<i64> = match &raw.first {
        Some(first) => connection
            .prepare_cached("SELECT coalesce(accepted_at, created_at) FROM effects WHERE id = ?1")?
            .query_row([first], |row| row.get(0))
            .optional()?,
        None => None,
    };
    Ok(DuplicateRow {
        id: raw.id.to_string(),
        at: raw.at,
        verdict: raw.verdict,
        layer: raw.layer,
        tool: raw.tool,
        summary: raw.summary,
        age_seconds: first_at.map(|at| ((raw.at - at) / 1000).max(0)),
        differing: differences.into_iter().map(|difference| difference.field).collect(),
        conversation: raw.conversation.map(|id| id.to_string()),
        conversation_title: chain::title(connection, raw.conversation)?,
        done_anyway: raw.done_anyway,
    })
}

pub(super) async fn page(
    parts: &DeskParts,
    layer: Option<String>,
    older: Option<String>,
) -> Result<DuplicatePage, Failure> {
    parts
        .guard
        .store
        .read(move |connection| {
            let before = older.and_then(|id| id.parse::<i64>().ok()).unwrap_or(i64::MAX);
            let mut statement = connection.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM prevented WHERE id < ?1 AND (?2 IS NULL OR layer = ?2) ORDER BY id DESC LIMIT ?3"
            ))?;
            let limit = i64::try_from(PAGE + 1).unwrap_or(i64::MAX);
            let mut found: Vec<Raw> =
                statement.query_map(params![before, layer, limit], raw)?.collect::<Result<_, _>>()?;
            let more = found.len() > PAGE;
            found.truncate(PAGE);
            let older = found.last().filter(|_| more).map(|last| last.id.to_string());
            let rows = found.into_iter().map(|raw| shown(connection, raw)).collect::<Result<_, _>>()?;
            Ok(DuplicatePage { rows, older })
        })
        .await
}

pub(super) async fn detail(parts: &DeskParts, id: String) -> Result<DuplicateDetail, Failure> {
    parts.guard.store.read(move |connection| one(connection, &id)).await
}

fn one(connection: &Connection, id: &str) -> Result<DuplicateDetail, Failure> {
    let sql = format!("SELECT {COLUMNS}, action, intent, first_external FROM prevented WHERE id = ?1");
    let found = connection
        .prepare_cached(&sql)?
        .query_row([id], |row| {
            Ok((raw(row)?, row.get::<_, String>(10)?, row.get::<_, String>(11)?, row.get::<_, Option<String>>(12)?))
        })
        .optional()?;
    let (raw, action, intent, external) = found.ok_or_else(Failure::not_found)?;
    let intent: Intent = serde_json::from_str(&intent)?;
    let differences: Vec<Difference> = serde_json::from_str(&raw.differences)?;
    let effect = match &raw.first {
        Some(first) => evidence::find(connection, first)?,
        None => None,
    };
    let (verdict, done) = (raw.verdict.clone(), raw.done_anyway.is_some());
    let at = raw.at;
    let summary = raw.summary.clone();
    let row = shown(connection, raw)?;
    let first = match effect {
        Some(effect) => EarlierAction {
            effect: Some(effect.id.as_str().to_owned()),
            at: effect.accepted_at.unwrap_or(effect.created_at).0,
            state: Some(effect.state),
            summary: effect.summary,
            action: Some(effect.action),
            differences,
        },
        None => EarlierAction {
            effect: None,
            at,
            state: None,
            action: None,
            summary: named(external, summary),
            differences,
        },
    };
    // What waits, is under way or is unresolved is decided there, not started beside.
    let settled = first.state.is_none_or(|state| state == EffectState::Accepted);
    let kind = matches!(verdict.as_str(), "duplicate" | "differs" | "exists" | "replayed");
    Ok(DuplicateDetail {
        row,
        action: serde_json::from_str(&action)?,
        request: intent.request,
        first,
        can_do_anyway: kind && settled && !done,
    })
}

/// Title of an event that another program made.
fn named(external: Option<String>, otherwise: String) -> String {
    external
        .and_then(|text| serde_json::from_str::<serde_json::Value>(&text).ok())
        .and_then(|event| event["title"].as_str().map(str::to_owned))
        .unwrap_or(otherwise)
}

pub(super) async fn chart(parts: &DeskParts, days: i64) -> Result<LayerChart, Failure> {
    let api = parts.api.parts();
    let today = api.clock.now().wall.timestamp().to_zoned_datetime(api.zone.clone()).date();
    let since_wall = api.clock.now().wall.0 - days * 86_400_000;
    let span = days.clamp(1, 366);
    api.store
        .read(move |connection| {
            let since = today.saturating_sub(jiff::Span::new().days(span - 1));
            let mut chart: Vec<LayerDay> = since
                .series(jiff::Span::new().days(1))
                .take(usize::try_from(span).unwrap_or(1))
                .map(|day| LayerDay { day: day.to_string(), merged: 0, prevented: 0, held: 0 })
                .collect();
            for (day, layer, count) in layer_counts(connection, since)? {
                let Some(slot) = chart.iter_mut().find(|slot| slot.day == day) else { continue };
                match layer {
                    Layer::Burst => slot.merged += count,
                    Layer::Guard | Layer::Exact | Layer::Calendar => slot.prevented += count,
                    Layer::Near => slot.held += count,
                }
            }
            let top: Option<(String, i64)> = connection
                .prepare_cached(
                    "SELECT coalesce(conversations.title, ''), count(*) AS times FROM prevented
                     JOIN conversations ON conversations.id = conversation_id
                     WHERE at >= ?1 GROUP BY conversation_id ORDER BY times DESC LIMIT 1",
                )?
                .query_row([since_wall], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?;
            let sum = |field: fn(&LayerDay) -> i64| chart.iter().map(field).sum();
            Ok(LayerChart {
                prevented: sum(|day| day.prevented),
                merged: sum(|day| day.merged),
                held: sum(|day| day.held),
                top_count: top.as_ref().map_or(0, |(_, count)| *count),
                top_title: top.map(|(title, _)| title).filter(|title| !title.is_empty()),
                days: chart,
            })
        })
        .await
        .map_err(|error: StoreError| error.into())
}
