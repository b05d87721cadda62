//! What the model used and cost, and the budget.

use rusqlite::{Connection, params};
use serde::Serialize;

use super::ending::Reason;
use super::settings::Settings;
use crate::domain::ids::{ConversationId, TurnId};
use crate::domain::time::{Now, Wall};
use crate::store::{Store, StoreError};

/// Tokens and cost of a group of turns.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, ts_rs::TS)]
#[ts(rename = "ModelUsage")]
pub struct Usage {
    pub model_calls: i64,
    pub input_tokens: i64,
    pub output_tokens: i64,
    /// Millionths of the prices' currency; 0 where no price is configured.
    pub cost_micros: i64,
}

/// Usage under one name: a model, or a day as `YYYY-MM-DD`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ts_rs::TS)]
#[ts(rename = "NamedUsage")]
pub struct Named {
    pub name: String,
    pub usage: Usage,
}

const SUMS: &str = "COALESCE(SUM(model_calls), 0), COALESCE(SUM(input_tokens), 0), COALESCE(SUM(output_tokens), 0),
                    COALESCE(SUM(cost_micros), 0)";

fn usage(row: &rusqlite::Row<'_>, first: usize) -> rusqlite::Result<Usage> {
    Ok(Usage {
        model_calls: row.get(first)?,
        input_tokens: row.get(first + 1)?,
        output_tokens: row.get(first + 2)?,
        cost_micros: row.get(first + 3)?,
    })
}

pub fn of_turn(connection: &Connection, turn: &TurnId) -> Result<Usage, StoreError> {
    Ok(connection
        .prepare_cached(&format!("SELECT {SUMS} FROM turns WHERE id = ?1"))?
        .query_row([turn], |row| usage(row, 0))?)
}

pub fn of_conversation(connection: &Connection, conversation: ConversationId) -> Result<Usage, StoreError> {
    Ok(connection
        .prepare_cached(&format!("SELECT {SUMS} FROM turns WHERE conversation_id = ?1"))?
        .query_row([conversation], |row| usage(row, 0))?)
}

/// Of all turns that started at or after `since`.
pub fn since(connection: &Connection, since: Wall) -> Result<Usage, StoreError> {
    Ok(connection
        .prepare_cached(&format!("SELECT {SUMS} FROM turns WHERE started_at >= ?1"))?
        .query_row([since], |row| usage(row, 0))?)
}

/// By the model that answered last in each turn, busiest first.
pub fn by_model(connection: &Connection, since: Wall) -> Result<Vec<Named>, StoreError> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT model, {SUMS} FROM turns WHERE started_at >= ?1 AND model <> ''
         GROUP BY model ORDER BY SUM(input_tokens + output_tokens) DESC, model"
    ))?;
    let rows = statement.query_map([since], |row| Ok(Named { name: row.get(0)?, usage: usage(row, 1)? }))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// By local day, newest first.
pub fn by_day(connection: &Connection, since: Wall, zone: &jiff::tz::TimeZone) -> Result<Vec<Named>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT started_at, model_calls, input_tokens, output_tokens, cost_micros FROM turns
         WHERE started_at >= ?1 ORDER BY started_at DESC",
    )?;
    let rows = statement.query_map([since], |row| Ok((row.get::<_, Wall>(0)?, usage(row, 1)?)))?;
    let mut days: Vec<Named> = Vec::new();
    for row in rows {
        let (at, usage) = row?;
        let name = at.timestamp().to_zoned_datetime(zone.clone()).date().to_string();
        match days.last_mut() {
            Some(day) if day.name == name => {
                day.usage.model_calls += usage.model_calls;
                day.usage.input_tokens += usage.input_tokens;
                day.usage.output_tokens += usage.output_tokens;
                day.usage.cost_micros += usage.cost_micros;
            }
            Some(_) | None => days.push(Named { name, usage }),
        }
    }
    Ok(days)
}

/// The reason to stop when today's turns cost as much as the budget allows.
pub async fn over_budget(store: &Store, now: Now, settings: &Settings) -> Result<Option<Reason>, StoreError> {
    if settings.budget_per_day <= 0.0 {
        return Ok(None);
    }
    let today = now.wall.timestamp().to_zoned_datetime(settings.zone.clone());
    let midnight = today.start_of_day().map_or(now.wall, |start| Wall::from(start.timestamp()));
    let limit = (settings.budget_per_day * 1e6) as i64;
    let spent = store.read(move |connection| {
        Ok::<i64, StoreError>(
            connection
                .prepare_cached("SELECT COALESCE(SUM(cost_micros), 0) FROM turns WHERE started_at >= ?1")?
                .query_row(params![midnight], |row| row.get(0))?,
        )
    });
    Ok((spent.await? >= limit).then(|| Reason::Budget { per_day: settings.budget_per_day.to_string() }))
}
