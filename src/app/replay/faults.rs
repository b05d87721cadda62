//! A calendar that fails when the scenario says so.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;

use super::scenario::CalendarFault;
use crate::domain::action::EventChanges;
use crate::domain::calendar::{CalendarInfo, Event, EventDraft, EventTime};
use crate::domain::ids::AccountId;
use crate::domain::ports::{Calendar, CalendarError};
use crate::domain::time::Wall;

/// Counts the requests to create over restarts of the app.
pub(super) struct Faults {
    calls: Mutex<usize>,
    faults: Vec<(usize, CalendarFault)>,
}

impl Faults {
    pub(super) fn new(faults: Vec<(usize, CalendarFault)>) -> Self {
        Self { calls: Mutex::new(0), faults }
    }

    fn next(&self) -> Option<CalendarFault> {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        *calls += 1;
        self.faults.iter().find(|(call, _)| call == &*calls).map(|(_, how)| *how)
    }
}

pub(super) struct FaultyCalendar {
    pub(super) inner: Arc<dyn Calendar>,
    pub(super) faults: Arc<Faults>,
}

#[async_trait]
impl Calendar for FaultyCalendar {
    fn account(&self) -> AccountId {
        self.inner.account()
    }
    fn backend(&self) -> &'static str {
        self.inner.backend()
    }
    async fn calendars(&self) -> Result<Vec<CalendarInfo>, CalendarError> {
        self.inner.calendars().await
    }
    async fn resolve(&self, name: Option<&str>) -> Result<String, CalendarError> {
        self.inner.resolve(name).await
    }
    async fn list(&self, calendar: &str, from: Wall, to: Wall) -> Result<Vec<Event>, CalendarError> {
        self.inner.list(calendar, from, to).await
    }
    async fn get(&self, calendar: &str, id: &str) -> Result<Event, CalendarError> {
        self.inner.get(calendar, id).await
    }
    async fn create(&self, draft: &EventDraft) -> Result<Event, CalendarError> {
        match self.faults.next() {
            None => self.inner.create(draft).await,
            Some(CalendarFault::Unavailable) => {
                Err(CalendarError::Unavailable { reason: "the calendar is down".to_owned(), retry_after: None })
            }
            Some(CalendarFault::LostAnswer) => {
                self.inner.create(draft).await?;
                Err(CalendarError::NoAnswer { reason: "the answer was lost".to_owned() })
            }
        }
    }
    async fn update(
        &self,
        calendar: &str,
        id: &str,
        occurrence: Option<&EventTime>,
        changes: &EventChanges,
        etag: Option<&str>,
    ) -> Result<Event, CalendarError> {
        self.inner.update(calendar, id, occurrence, changes, etag).await
    }
    async fn delete(
        &self,
        calendar: &str,
        id: &str,
        occurrence: Option<&EventTime>,
        etag: Option<&str>,
    ) -> Result<(), CalendarError> {
        self.inner.delete(calendar, id, occurrence, etag).await
    }
}
