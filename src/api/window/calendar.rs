//! Events of a range, with the effect that made each.

use super::desk::DeskParts;
use super::wire::{CalendarEntry, CalendarView, Failure};
use crate::api::rows;
use crate::domain::calendar::{Event, EventTime};
use crate::domain::time::Wall;

pub(super) async fn view(parts: &DeskParts, from: i64, until: i64) -> Result<CalendarView, Failure> {
    let api = parts.api.parts();
    let calendar = api.calendar.resolve(None).await?;
    let mut events = Vec::new();
    for event in api.calendar.list(&calendar, Wall(from), Wall(until)).await? {
        if event.cancelled {
            continue;
        }
        let id = event.id.clone();
        let effect =
            api.store.read(move |connection| rows::effect_of_event(connection, &id)).await.map_err(Failure::from)?;
        events.extend(entry(event, effect, &api.zone));
    }
    Ok(CalendarView { name: calendar, local: api.calendar.backend() == "local", events })
}

fn entry(event: Event, effect: Option<String>, zone: &jiff::tz::TimeZone) -> Option<CalendarEntry> {
    let instant = |time: &EventTime| Some(time.instant(zone)?.as_millisecond());
    Some(CalendarEntry {
        starts_at: instant(&event.start)?,
        ends_at: instant(&event.end)?,
        all_day: event.start.is_date(),
        recurring: event.recurrence.is_some() || event.occurrence.is_some(),
        id: event.id,
        title: event.title,
        start: event.start,
        end: event.end,
        location: event.location,
        guests: event.guests,
        effect,
    })
}
