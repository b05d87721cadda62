//! One date of a series: Google holds each as an event of its own.

use jiff::Timestamp;

use super::calendar::GoogleCalendar;
use super::json::GoogleEvent;
use super::transport::{Call, Failure};
use crate::domain::calendar::EventTime;
use crate::domain::ports::CalendarError;
use crate::domain::when;

impl GoogleCalendar {
    /// The date of series `id` that `wanted` names: by its place in the series, by where it was moved to, or, for a
    /// bare date, by the day.
    pub(super) async fn instance(
        &self,
        calendar: &str,
        id: &str,
        wanted: &EventTime,
    ) -> Result<GoogleEvent, CalendarError> {
        if let Some(found) = self.by_name(calendar, id, wanted).await? {
            return Ok(found);
        }
        let gone = || CalendarError::NotFound { id: id.to_owned() };
        let middle = wanted.instant(&self.zone).ok_or_else(gone)?;
        let text = |hours: i64| {
            let moved = middle.checked_add(jiff::SignedDuration::from_hours(hours)).unwrap_or(middle);
            moved.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
        };
        let path = ["calendars", calendar, "events", id, "instances"];
        let range = [("timeMin", text(-48)), ("timeMax", text(72))];
        let (items, _) = self.pages(&path, &range).await.map_err(|failure| failure.error(false, id))?;
        let dates: Vec<&GoogleEvent> = items.iter().filter(|item| item.status != "cancelled").collect();
        let original = |item: &GoogleEvent| item.original_start_time.as_ref().and_then(|time| time.read(&self.zone));
        let current = |item: &GoogleEvent| item.start.as_ref().and_then(|time| time.read(&self.zone));
        let is = |time: Option<EventTime>| time.is_some_and(|time| when::same(&time, wanted));
        let exact = dates.iter().find(|item| is(original(item)) || is(current(item)));
        if let Some(found) = exact {
            return Ok((*found).clone());
        }
        let on_day = |item: &&&GoogleEvent| original(item).is_some_and(|start| when::names(wanted, &start));
        let mut on_day = dates.iter().filter(on_day);
        match (on_day.next(), on_day.next()) {
            (Some(only), None) => Ok((*only).clone()),
            (Some(_) | None, _) => Err(gone()),
        }
    }

    /// Instances are named after the series and the start they had at first.
    async fn by_name(
        &self,
        calendar: &str,
        id: &str,
        wanted: &EventTime,
    ) -> Result<Option<GoogleEvent>, CalendarError> {
        let suffix = match wanted {
            EventTime::Date { date } => date.replace('-', ""),
            EventTime::Timed { at, .. } => match at.parse::<Timestamp>() {
                Ok(instant) => instant.strftime("%Y%m%dT%H%M%SZ").to_string(),
                Err(_) => return Ok(None),
            },
        };
        let name = format!("{id}_{suffix}");
        let path = ["calendars", calendar, "events", name.as_str()];
        match self.transport.call::<GoogleEvent>(Call::get(&path)).await {
            Ok(found) if found.status == "cancelled" => Err(CalendarError::NotFound { id: id.to_owned() }),
            Ok(found) => Ok(Some(found).filter(|found| found.recurring_event_id.as_deref() == Some(id))),
            Err(Failure::Refused(refusal)) if matches!(refusal.status, 400 | 404 | 410) => Ok(None),
            Err(failure) => Err(failure.error(false, id)),
        }
    }
}
