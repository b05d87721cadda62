//! Taking over events: the series first, then the dates of it that differ.

use async_trait::async_trait;

use super::calendar::GoogleCalendar;
use crate::calendar::ics::{Component, Series};
use crate::calendar::intake::Intake;
use crate::domain::action::EventChanges;
use crate::domain::calendar::{Event, EventDraft};
use crate::domain::ports::{Calendar, CalendarError};
use crate::runtime::hash::sha256_hex;

#[async_trait]
impl Intake for GoogleCalendar {
    /// Google keeps what its events can hold; properties that only other programs know stay behind.
    async fn take(&self, calendar: &str, _data: &Component, series: &Series) -> Result<(), CalendarError> {
        let refused = |reason: &str| CalendarError::Refused { reason: reason.to_owned() };
        let Some(master) = &series.master else { return Err(refused("only single dates of a series are known")) };
        if series.rules.len() > 1 || !series.additions.is_empty() {
            return Err(refused("Google cannot take a series with several rules or added dates by this way"));
        }
        let id = google_id(&series.id);
        let draft = draft_of(master, &id, calendar);
        match self.create(&draft).await {
            Ok(_) => {}
            // From an earlier try, which may have ended before the dates that differ.
            Err(CalendarError::Exists { current }) if !current.cancelled && series.recurs() => {}
            Err(other) => return Err(other),
        }
        for date in &series.exclusions {
            match self.delete(calendar, &id, Some(date), None).await {
                Ok(()) | Err(CalendarError::NotFound { .. }) => {}
                Err(other) => return Err(other),
            }
        }
        for date in &series.overrides {
            let Some(occurrence) = &date.occurrence else { continue };
            self.update(calendar, &id, Some(occurrence), &all_of(date), None).await?;
        }
        Ok(())
    }
}

/// Ours are valid at Google (a-v and 0-9, 5 to 1024 characters); others are hashed.
fn google_id(id: &str) -> String {
    let fits =
        (5..=1024).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'v').contains(&byte));
    if fits { id.to_owned() } else { sha256_hex(id) }
}

fn draft_of(event: &Event, id: &str, calendar: &str) -> EventDraft {
    EventDraft {
        id: id.to_owned(),
        calendar: calendar.to_owned(),
        title: event.title.clone(),
        start: event.start.clone(),
        end: event.end.clone(),
        location: event.location.clone(),
        description: event.description.clone(),
        guests: event.guests.clone(),
        recurrence: event.recurrence.clone(),
        reminders: event.reminders.clone(),
    }
}

fn all_of(date: &Event) -> EventChanges {
    EventChanges {
        title: Some(date.title.clone()),
        start: Some(date.start.clone()),
        end: Some(date.end.clone()),
        location: Some(date.location.clone().unwrap_or_default()),
        description: Some(date.description.clone().unwrap_or_default()),
        guests: None,
        recurrence: None,
        reminders: None,
    }
}
