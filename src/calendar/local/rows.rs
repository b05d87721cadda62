//! Rows of `calendar_events`.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use crate::calendar::ics::{Component, IcsError, Series, parse_calendar, read_series};
use crate::calendar::recurrence;
use crate::domain::ports::CalendarError;
use crate::domain::time::Wall;
use crate::store::StoreError;

/// One event or series with its changed dates.
pub struct StoredEvent {
    pub id: String,
    pub calendar: String,
    pub ics: String,
    pub version: i64,
}

impl StoredEvent {
    pub fn parsed(&self) -> Result<Component, CalendarError> {
        parse_calendar(&self.ics).map_err(unreadable)
    }

    pub fn series(&self, home: &TimeZone) -> Result<Series, CalendarError> {
        let series = read_series(&self.parsed()?, Some(&self.id), home).map_err(unreadable)?;
        Ok(series.placed(&self.calendar, &self.version.to_string()))
    }
}

fn unreadable(error: IcsError) -> CalendarError {
    CalendarError::Refused { reason: format!("the stored event cannot be read: {error}") }
}

impl From<StoreError> for CalendarError {
    fn from(error: StoreError) -> Self {
        Self::Unavailable { reason: error.to_string(), retry_after: None }
    }
}

const COLUMNS: &str = "id, calendar, ics, version";

fn stored(row: &Row<'_>) -> rusqlite::Result<StoredEvent> {
    Ok(StoredEvent { id: row.get(0)?, calendar: row.get(1)?, ics: row.get(2)?, version: row.get(3)? })
}

pub fn by_id(connection: &Connection, id: &str) -> Result<Option<StoredEvent>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM calendar_events WHERE id = ?1");
    Ok(connection.prepare_cached(&sql)?.query_row([id], stored).optional()?)
}

/// Events that may have a date within `from..to`.
pub fn in_range(connection: &Connection, calendar: &str, from: Wall, to: Wall) -> Result<Vec<StoredEvent>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM calendar_events WHERE calendar = ?1 AND starts_at < ?3 AND until_at >= ?2 ORDER BY starts_at"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map(params![calendar, from, to], stored)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub fn all(connection: &Connection, calendar: Option<&str>) -> Result<Vec<StoredEvent>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM calendar_events WHERE ?1 IS NULL OR calendar = ?1 ORDER BY starts_at, id");
    let mut statement = connection.prepare(&sql)?;
    let rows = statement.query_map([calendar], stored)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub fn calendars(connection: &Connection) -> Result<Vec<String>, StoreError> {
    let mut statement = connection.prepare("SELECT DISTINCT calendar FROM calendar_events ORDER BY calendar")?;
    let rows = statement.query_map([], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// False if the id is taken.
pub fn insert(
    tx: &Transaction<'_>,
    calendar: &str,
    series: &Series,
    ics: &str,
    now: Wall,
    home: &TimeZone,
) -> Result<bool, StoreError> {
    let columns = Columns::of(series, home);
    let inserted = tx.execute(
        "INSERT INTO calendar_events (id, calendar, title, ics, starts_at, ends_at, until_at, all_day, recurring, created_at, updated_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?10) ON CONFLICT (id) DO NOTHING",
        params![
            series.id,
            calendar,
            columns.title,
            ics,
            columns.starts_at,
            columns.ends_at,
            columns.until_at,
            columns.all_day,
            columns.recurring,
            now,
        ],
    )?;
    Ok(inserted == 1)
}

/// Stores the next version.
pub fn replace(tx: &Transaction<'_>, series: &Series, ics: &str, now: Wall, home: &TimeZone) -> Result<(), StoreError> {
    let columns = Columns::of(series, home);
    tx.execute(
        "UPDATE calendar_events SET title = ?2, ics = ?3, starts_at = ?4, ends_at = ?5, until_at = ?6, all_day = ?7,
                recurring = ?8, version = version + 1, updated_at = ?9
         WHERE id = ?1",
        params![
            series.id,
            columns.title,
            ics,
            columns.starts_at,
            columns.ends_at,
            columns.until_at,
            columns.all_day,
            columns.recurring,
            now,
        ],
    )?;
    Ok(())
}

pub fn delete(tx: &Transaction<'_>, id: &str) -> Result<(), StoreError> {
    tx.execute("DELETE FROM calendar_events WHERE id = ?1", [id])?;
    Ok(())
}

/// What is needed to find an event; times in UTC milliseconds.
struct Columns {
    title: String,
    starts_at: i64,
    ends_at: i64,
    until_at: i64,
    all_day: bool,
    recurring: bool,
}

impl Columns {
    fn of(series: &Series, home: &TimeZone) -> Self {
        let events = || series.master.iter().chain(&series.overrides);
        let milliseconds = |instant: Option<Timestamp>| instant.map_or(0, Timestamp::as_millisecond);
        let first = events().filter_map(|event| event.start.instant(home)).min();
        let end = events().next().and_then(|event| event.end.instant(home));
        // An all-day date begins up to 14 hours earlier or later for a person who moves to another zone.
        let all_day = series.event().is_some_and(|event| event.start.is_date());
        let slack = if all_day { 26 * 3_600_000 } else { 0 };
        Self {
            title: series.event().map(|event| event.title.clone()).unwrap_or_default(),
            starts_at: milliseconds(first) - slack,
            ends_at: milliseconds(end),
            until_at: recurrence::ends(series, home).map_or(i64::MAX, |last| last.as_millisecond() + slack),
            all_day,
            recurring: series.recurs(),
        }
    }
}
