//! What a replay came to, read from the rows it left.

use jiff::tz::TimeZone;
use rusqlite::Connection;
use serde::Serialize;

use super::scenario::Scenario;
use super::stage::Wire;
use crate::api::rows::{self, DuplicateRow, EvidenceRow, TimelineRow};
use crate::api::window::timeline_page;
use crate::api::window::wire::TimelineEntry;
use crate::domain::ids::ConversationId;
use crate::domain::time::Wall;
use crate::store::{Store, StoreError};

/// The numbers of the last line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Totals {
    pub turns: i64,
    pub tool_calls: i64,
    pub effects_accepted: i64,
    /// Done already, or there already. What waits for the same decision is not counted here.
    pub duplicates_prevented: i64,
    /// Bursts of more than one message.
    pub bursts_merged: i64,
    pub messages_delivered: i64,
}

/// Everything a replay left, copied out of its scratch folder.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub title: String,
    pub totals: Totals,
    pub timeline: Vec<TimelineRow>,
    /// The same, as the window draws it.
    pub entries: Vec<TimelineEntry>,
    pub duplicates: Vec<DuplicateRow>,
    pub evidence: Vec<EvidenceRow>,
    /// (id, title) of every event in the calendar.
    pub events: Vec<(String, String)>,
    /// Pending approvals at the end.
    pub approvals_pending: i64,
    /// Same action asked while it waited for a decision.
    pub still_pending: i64,
    /// Texts that reached the person, in order.
    pub delivered: Vec<String>,
    /// Milliseconds from the start of every typing signal.
    pub typing: Vec<i64>,
    /// The audit chain verifies.
    pub audit_unbroken: bool,
    start: Wall,
}

impl Outcome {
    /// The timeline for people.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.title.clone(), String::new()];
        for row in &self.timeline {
            #[allow(clippy::cast_precision_loss, reason = "shown with one decimal")]
            let seconds = (row.millis() - self.start.0) as f64 / 1_000.0;
            lines.push(format!(
                "{seconds:>7.1} s  {:<9} {}",
                row.kind,
                row.text.replace('\n', "\n                     ")
            ));
        }
        if let Some(gap) = self.longest_silence() {
            lines.push(String::new());
            lines.push(format!(
                "{} typing signals, at most {:.1} s apart while at work",
                self.typing.len(),
                seconds(gap)
            ));
        }
        let totals = self.totals;
        lines.push(String::new());
        lines.push(format!(
            "{} turns, {} tool calls, {} events or other effects, {} duplicates prevented, {} bursts merged, {} messages delivered",
            totals.turns,
            totals.tool_calls,
            totals.effects_accepted,
            totals.duplicates_prevented,
            totals.bursts_merged,
            totals.messages_delivered,
        ));
        lines
    }

    /// Longest time without a typing signal between the first message of a burst and the end of its turn, in
    /// milliseconds; `None` without any signal.
    pub fn longest_silence(&self) -> Option<i64> {
        let mut longest = None;
        let mut working: Option<i64> = None;
        for row in &self.timeline {
            let at = self.since_start(row);
            match (row.kind, working) {
                ("message", None) => working = Some(at),
                ("turn_end", Some(since)) => {
                    let inside: Vec<i64> = self.typing.iter().copied().filter(|t| (since..=at).contains(t)).collect();
                    if inside.is_empty() {
                        return None;
                    }
                    let edges: Vec<i64> = [since].into_iter().chain(inside).chain([at]).collect();
                    longest = longest.max(edges.windows(2).map(|pair| pair[1] - pair[0]).max());
                    working = None;
                }
                _ => {}
            }
        }
        longest
    }

    /// Milliseconds from the start of a row.
    pub fn since_start(&self, row: &TimelineRow) -> i64 {
        row.millis() - self.start.0
    }
}

#[allow(clippy::cast_precision_loss, reason = "shown with one decimal")]
fn seconds(millis: i64) -> f64 {
    millis as f64 / 1_000.0
}

pub(super) async fn read(store: &Store, scenario: &Scenario, wire: &Wire, start: Wall) -> Result<Outcome, StoreError> {
    let zone = TimeZone::get(&scenario.timezone).unwrap_or(TimeZone::UTC);
    let (title, delivered) = (scenario.title.clone(), wire.sent().into_iter().map(|part| part.markdown).collect());
    let typing = wire.typing().into_iter().map(|at| at.0).collect();
    store
        .read(move |connection| {
            let one = |sql: &str| -> Result<i64, StoreError> { Ok(connection.query_row(sql, [], |row| row.get(0))?) };
            Ok(Outcome {
                title,
                totals: totals(connection)?,
                timeline: timeline(connection, &zone)?,
                entries: entries(connection)?,
                duplicates: rows::duplicates(connection, None, &zone)?,
                evidence: rows::evidence(connection, None, None, &zone)?.0,
                events: events(connection)?,
                approvals_pending: one("SELECT count(*) FROM approvals WHERE state = 'pending'")?,
                still_pending: one("SELECT count(*) FROM prevented WHERE verdict = 'pending'")?,
                delivered,
                typing,
                audit_unbroken: crate::audit::verify(connection, None)?.bad.is_none(),
                start,
            })
        })
        .await
}

fn totals(connection: &Connection) -> Result<Totals, StoreError> {
    let one = |sql: &str| -> Result<i64, StoreError> { Ok(connection.query_row(sql, [], |row| row.get(0))?) };
    Ok(Totals {
        turns: one("SELECT count(*) FROM turns")?,
        tool_calls: one(
            "SELECT count(*) FROM turn_steps JOIN turns ON turns.id = turn_id AND turns.epoch = turn_steps.epoch
             WHERE kind = 'tool_result'",
        )?,
        effects_accepted: one("SELECT count(*) FROM effects WHERE state = 'accepted'")?,
        duplicates_prevented: one("SELECT count(*) FROM prevented
             WHERE verdict IN ('duplicate', 'differs', 'exists', 'in_flight', 'unresolved', 'replayed')")?,
        bursts_merged: one("SELECT count(*) FROM bursts WHERE message_count > 1")?,
        messages_delivered: one("SELECT count(*) FROM outbound WHERE state = 'delivered'")?,
    })
}

fn timeline(connection: &Connection, zone: &TimeZone) -> Result<Vec<TimelineRow>, StoreError> {
    let mut statement = connection.prepare("SELECT id FROM conversations ORDER BY id")?;
    let ids: Vec<ConversationId> = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut all = Vec::new();
    for id in ids {
        all.extend(rows::conversation(connection, id, zone)?.unwrap_or_default());
    }
    all.sort_by_key(TimelineRow::millis);
    Ok(all)
}

fn entries(connection: &Connection) -> Result<Vec<TimelineEntry>, StoreError> {
    let mut statement = connection.prepare("SELECT id FROM conversations ORDER BY id")?;
    let ids: Vec<ConversationId> = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut all = Vec::new();
    for id in ids {
        all.extend(timeline_page(connection, id, None)?.entries);
    }
    Ok(all)
}

fn events(connection: &Connection) -> Result<Vec<(String, String)>, StoreError> {
    let mut statement = connection.prepare("SELECT id, title FROM calendar_events ORDER BY starts_at, id")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
    Ok(rows)
}
