//! A test of an account with a real event, for the settings page and the doctor.

use super::calendar::{CalDavCalendar, Ids};
use super::resources::Put;
use crate::calendar::ics::draft_calendar;
use crate::domain::calendar::{CalendarInfo, EventDraft};
use crate::domain::ports::{Calendar, CalendarError};
use crate::domain::when;

/// What a live test found.
#[derive(Clone, PartialEq, Debug)]
pub struct LiveTest {
    pub calendars: Vec<CalendarInfo>,
    /// The calendar that the test event was written to and removed from.
    pub calendar: String,
    pub ids: Ids,
}

impl CalDavCalendar {
    /// Signs in, writes a test event under `id` in the past, tries to write another under the same name, reads back
    /// which of the two stands there, and removes it.
    pub async fn live_test(&self, id: &str) -> Result<LiveTest, CalendarError> {
        let calendars = self.calendars().await?;
        let calendar = self.resolve(None).await?;
        let server = self.server().await?;
        let start = when::at_instant(jiff::Timestamp::UNIX_EPOCH, &jiff::tz::TimeZone::UTC);
        let test = |title: &str| EventDraft {
            id: id.to_owned(),
            calendar: calendar.clone(),
            title: title.to_owned(),
            start: start.clone(),
            end: start.clone(),
            location: None,
            description: None,
            guests: Vec::new(),
            recurrence: None,
            reminders: Vec::new(),
        };
        let (first, second) = (test("Unavez test"), test("Unavez test, twice"));
        self.create(&first).await?;
        let href = super::resources::own_href(&calendar, id);
        let again = draft_calendar(&second, None, &self.stamp()).print();
        let tried = server.put_new(&href, &again, id).await;
        let standing = self.get(&calendar, id).await?;
        self.saw_ids(match tried {
            Ok(Put::Conflict) if standing.title == first.title => Ids::Honoured,
            Ok(Put::Conflict | Put::Stored { .. }) => Ids::Ignored,
            Err(_) => Ids::NotKnown,
        });
        self.delete(&calendar, id, None, None).await?;
        Ok(LiveTest { calendars, calendar, ids: self.ids() })
    }
}
