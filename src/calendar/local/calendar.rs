//! The port on our own rows.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::tz::TimeZone;
use rusqlite::Transaction;

use super::rows::{self, StoredEvent};
use crate::calendar::ics::{
    ChangeError, Component, Stamp, apply, draft_calendar, exclude_occurrence, override_occurrence, read_series,
};
use crate::calendar::recurrence;
use crate::domain::action::EventChanges;
use crate::domain::calendar::{CalendarInfo, Event, EventDraft, EventTime};
use crate::domain::ids::AccountId;
use crate::domain::ports::{Calendar, CalendarError, Clock};
use crate::domain::time::Wall;
use crate::store::{Durability, Store};

/// The calendar that an unnamed request goes to.
const DEFAULT: &str = "local";
const DEFAULT_NAME: &str = "Unavez";
/// Longest name of a calendar, in characters.
const LONGEST_NAME: usize = 64;

/// Calendars in our database. Naming one makes it: a calendar here is a label on its events.
#[derive(Clone)]
pub struct LocalCalendar {
    pub(super) store: Store,
    pub(super) clock: Arc<dyn Clock>,
    /// The person's zone: of floating times and of days.
    pub(super) zone: TimeZone,
}

impl LocalCalendar {
    pub fn new(store: Store, clock: Arc<dyn Clock>, zone: TimeZone) -> Self {
        Self { store, clock, zone }
    }

    pub(super) fn now(&self) -> Wall {
        self.clock.now().wall
    }

    pub(super) fn stamp(&self) -> Stamp {
        Stamp { now: self.now().timestamp(), organizer: None }
    }

    /// Reads, checks the version and stores the next one in one transaction.
    async fn change(
        &self,
        calendar: &str,
        id: &str,
        etag: Option<&str>,
        change: impl FnOnce(&mut Component, &Stamp, &TimeZone) -> Result<(), ChangeError> + Send + 'static,
    ) -> Result<Event, CalendarError> {
        let (calendar, id, etag) = (calendar.to_owned(), id.to_owned(), etag.map(str::to_owned));
        let (home, stamp, now) = (self.zone.clone(), self.stamp(), self.now());
        self.store
            .write("calendar.local.update", Durability::Normal, move |tx| {
                let row = current(tx, &calendar, &id, etag.as_deref(), &home)?;
                let mut data = row.parsed()?;
                change(&mut data, &stamp, &home).map_err(|error| change_error(&id, error))?;
                let series = read_series(&data, Some(&id), &home)
                    .map_err(|error| CalendarError::Refused { reason: error.to_string() })?;
                rows::replace(tx, &series, &data.print(), now, &home)?;
                let version = row.version + 1;
                first_event(series.placed(&row.calendar, &version.to_string()), &id)
            })
            .await
    }
}

#[async_trait]
impl Calendar for LocalCalendar {
    fn account(&self) -> AccountId {
        AccountId::new("local")
    }

    fn backend(&self) -> &'static str {
        "local"
    }

    async fn calendars(&self) -> Result<Vec<CalendarInfo>, CalendarError> {
        let mut names = self.store.read(rows::calendars).await?;
        names.retain(|name| name != DEFAULT);
        let default = CalendarInfo { id: DEFAULT.into(), name: DEFAULT_NAME.into(), writable: true, is_default: true };
        let others =
            names.into_iter().map(|name| CalendarInfo { id: name.clone(), name, writable: true, is_default: false });
        Ok(std::iter::once(default).chain(others).collect())
    }

    async fn resolve(&self, name: Option<&str>) -> Result<String, CalendarError> {
        let Some(name) = name.map(str::trim).filter(|name| !name.is_empty()) else { return Ok(DEFAULT.into()) };
        let known = self.calendars().await?;
        let same = |text: &str| text.to_lowercase() == name.to_lowercase();
        if let Some(found) = known.iter().find(|info| same(&info.id) || same(&info.name)) {
            return Ok(found.id.clone());
        }
        if name.chars().count() > LONGEST_NAME || name.chars().any(char::is_control) {
            return Err(CalendarError::Refused { reason: "that is not a name for a calendar".into() });
        }
        Ok(name.to_owned())
    }

    async fn list(&self, calendar: &str, from: Wall, to: Wall) -> Result<Vec<Event>, CalendarError> {
        let (calendar, home) = (calendar.to_owned(), self.zone.clone());
        self.store
            .read(move |connection| {
                let mut events = Vec::new();
                for row in rows::in_range(connection, &calendar, from, to)? {
                    match row.series(&home) {
                        Ok(series) => {
                            let dates = recurrence::occurrences(&series, from.timestamp(), to.timestamp(), &home);
                            events.extend(dates);
                        }
                        Err(error) => tracing::warn!(id = row.id, %error, "an event is left out of a list"),
                    }
                }
                events.sort_by_cached_key(|event| event.start.instant(&home));
                Ok(events)
            })
            .await
    }

    async fn get(&self, calendar: &str, id: &str) -> Result<Event, CalendarError> {
        let (calendar, id, home) = (calendar.to_owned(), id.to_owned(), self.zone.clone());
        self.store
            .read(move |connection| {
                let row = rows::by_id(connection, &id)?.filter(|row| row.calendar == calendar);
                let row = row.ok_or_else(|| CalendarError::NotFound { id: id.clone() })?;
                first_event(row.series(&home)?, &id)
            })
            .await
    }

    async fn create(&self, draft: &EventDraft) -> Result<Event, CalendarError> {
        let (draft, home, now, stamp) = (draft.clone(), self.zone.clone(), self.now(), self.stamp());
        self.store
            .write("calendar.local.create", Durability::Normal, move |tx| {
                let data = draft_calendar(&draft, None, &stamp);
                let series = read_series(&data, Some(&draft.id), &home)
                    .map_err(|error| CalendarError::Refused { reason: error.to_string() })?;
                if rows::insert(tx, &draft.calendar, &series, &data.print(), now, &home)? {
                    return first_event(series.placed(&draft.calendar, "1"), &draft.id);
                }
                let row = rows::by_id(tx, &draft.id)?;
                let row = row.ok_or_else(|| CalendarError::NotFound { id: draft.id.clone() })?;
                let current = first_event(row.series(&home)?, &draft.id)?;
                Err(CalendarError::Exists { current: Box::new(current) })
            })
            .await
    }

    async fn update(
        &self,
        calendar: &str,
        id: &str,
        occurrence: Option<&EventTime>,
        changes: &EventChanges,
        etag: Option<&str>,
    ) -> Result<Event, CalendarError> {
        let (event_id, changes, occurrence) = (id.to_owned(), changes.clone(), occurrence.cloned());
        let wanted = occurrence.clone();
        let changed = self
            .change(calendar, id, etag, move |data, stamp, home| match &occurrence {
                None => apply(data, &event_id, &changes, stamp, home),
                Some(date) => override_occurrence(data, &event_id, date, &changes, stamp, home),
            })
            .await?;
        let Some(wanted) = wanted else { return Ok(changed) };
        self.changed_date(calendar, id, &wanted).await
    }

    async fn delete(
        &self,
        calendar: &str,
        id: &str,
        occurrence: Option<&EventTime>,
        etag: Option<&str>,
    ) -> Result<(), CalendarError> {
        if let Some(date) = occurrence {
            let (event_id, date) = (id.to_owned(), date.clone());
            self.change(calendar, id, etag, move |data, stamp, home| {
                exclude_occurrence(data, &event_id, &date, stamp, home)
            })
            .await?;
            return Ok(());
        }
        let (calendar, id, etag) = (calendar.to_owned(), id.to_owned(), etag.map(str::to_owned));
        let home = self.zone.clone();
        self.store
            .write("calendar.local.delete", Durability::Normal, move |tx| {
                current(tx, &calendar, &id, etag.as_deref(), &home)?;
                rows::delete(tx, &id)?;
                Ok(())
            })
            .await
    }
}

impl LocalCalendar {
    /// The one date of a series, as it is now.
    async fn changed_date(&self, calendar: &str, id: &str, wanted: &EventTime) -> Result<Event, CalendarError> {
        let (calendar, id, wanted, home) = (calendar.to_owned(), id.to_owned(), wanted.clone(), self.zone.clone());
        self.store
            .read(move |connection| {
                let row = rows::by_id(connection, &id)?.filter(|row| row.calendar == calendar);
                let row = row.ok_or_else(|| CalendarError::NotFound { id: id.clone() })?;
                let series = row.series(&home)?;
                recurrence::event_at(&series, &wanted, &home).ok_or(CalendarError::NotFound { id })
            })
            .await
    }
}

/// The row, if it is there in the version that the caller saw.
fn current(
    tx: &Transaction<'_>,
    calendar: &str,
    id: &str,
    etag: Option<&str>,
    home: &TimeZone,
) -> Result<StoredEvent, CalendarError> {
    let row = rows::by_id(tx, id)?.filter(|row| row.calendar == calendar);
    let row = row.ok_or_else(|| CalendarError::NotFound { id: id.to_owned() })?;
    if etag.is_some_and(|etag| etag != row.version.to_string()) {
        let current = first_event(row.series(home)?, id)?;
        return Err(CalendarError::Changed { current: Box::new(current) });
    }
    Ok(row)
}

fn first_event(series: crate::calendar::ics::Series, id: &str) -> Result<Event, CalendarError> {
    series.event().cloned().ok_or_else(|| CalendarError::NotFound { id: id.to_owned() })
}

fn change_error(id: &str, error: ChangeError) -> CalendarError {
    match error {
        ChangeError::NoOccurrence { .. } => CalendarError::NotFound { id: id.to_owned() },
        ChangeError::Ics(_) | ChangeError::When(_) | ChangeError::RecurrenceOfOccurrence => {
            CalendarError::Refused { reason: error.to_string() }
        }
    }
}
