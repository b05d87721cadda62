//! From calendar data to events.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

use super::document::{Component, IcsError};
use super::time::{read_time, read_times};
use crate::domain::calendar::{Event, EventTime};
use crate::domain::when;

/// One UID: the event or series itself, and the dates of it that differ.
#[derive(Clone, PartialEq, Debug)]
pub struct Series {
    pub id: String,
    /// Absent where only single dates of somebody else's series are known.
    pub master: Option<Event>,
    /// RRULE values.
    pub rules: Vec<String>,
    /// RDATE.
    pub additions: Vec<EventTime>,
    /// EXDATE.
    pub exclusions: Vec<EventTime>,
    /// `occurrence` is the date each stands for (RECURRENCE-ID).
    pub overrides: Vec<Event>,
}

impl Series {
    pub fn recurs(&self) -> bool {
        !self.rules.is_empty() || !self.additions.is_empty()
    }

    /// The event itself, or the first date known of it.
    pub fn event(&self) -> Option<&Event> {
        self.master.as_ref().or_else(|| self.overrides.first())
    }

    /// Sets what only the holder of the data knows.
    pub fn placed(mut self, calendar: &str, etag: &str) -> Self {
        for event in self.master.iter_mut().chain(&mut self.overrides) {
            calendar.clone_into(&mut event.calendar);
            etag.clone_into(&mut event.etag);
        }
        self
    }
}

/// All series in `calendar` by UID. An event that cannot be read is left out and counted.
pub fn series_of(calendar: &Component, home: &TimeZone) -> (Vec<Series>, usize) {
    let mut found: BTreeMap<String, Series> = BTreeMap::new();
    let mut unreadable = 0;
    for component in calendar.events() {
        let event = match read_event(component, calendar, home) {
            Ok(event) => event,
            Err(_) => {
                unreadable += 1;
                continue;
            }
        };
        let series = found.entry(event.id.clone()).or_insert_with(|| Series {
            id: event.id.clone(),
            master: None,
            rules: Vec::new(),
            additions: Vec::new(),
            exclusions: Vec::new(),
            overrides: Vec::new(),
        });
        if event.occurrence.is_some() {
            series.overrides.push(event);
        } else if series.master.is_none() {
            series.rules = component.all("RRULE").map(|line| line.value.clone()).collect();
            series.additions = component.all("RDATE").flat_map(|line| read_times(line, calendar, home)).collect();
            series.exclusions = component.all("EXDATE").flat_map(|line| read_times(line, calendar, home)).collect();
            series.master = Some(event);
        }
    }
    (found.into_values().collect(), unreadable)
}

/// The series of `id`, or the only one when the data has just one.
pub fn read_series(calendar: &Component, id: Option<&str>, home: &TimeZone) -> Result<Series, IcsError> {
    let (found, _) = series_of(calendar, home);
    match id {
        Some(id) => found.into_iter().find(|series| series.id == id).ok_or(IcsError::NoEvent),
        None => found.into_iter().next().ok_or(IcsError::NoEvent),
    }
}

/// One `VEVENT`. Calendar and ETag stay empty: see [`Series::placed`].
pub fn read_event(component: &Component, calendar: &Component, home: &TimeZone) -> Result<Event, IcsError> {
    let id = component.text("UID").ok_or(IcsError::NoUid)?;
    let start_line = component.line("DTSTART").ok_or_else(|| IcsError::NoStart { value: String::new() })?;
    let start =
        read_time(start_line, calendar, home).ok_or_else(|| IcsError::NoStart { value: start_line.value.clone() })?;
    Ok(Event {
        id,
        calendar: String::new(),
        title: component.text("SUMMARY").unwrap_or_default(),
        end: end_of(component, calendar, home, &start),
        start,
        location: component.text("LOCATION"),
        description: component.text("DESCRIPTION"),
        guests: component.all("ATTENDEE").filter_map(|line| address(&line.value)).collect(),
        recurrence: component.line("RRULE").map(|line| line.value.clone()),
        reminders: reminders(component),
        occurrence: component.line("RECURRENCE-ID").and_then(|line| read_time(line, calendar, home)),
        etag: String::new(),
        cancelled: component.line("STATUS").is_some_and(|line| line.value.eq_ignore_ascii_case("CANCELLED")),
    })
}

/// DTEND, or start plus DURATION, or one day for a date and nothing for a time (RFC 5545, section 3.6.1).
fn end_of(component: &Component, calendar: &Component, home: &TimeZone, start: &EventTime) -> EventTime {
    let stated = component.line("DTEND").and_then(|line| read_time(line, calendar, home));
    let stated = stated.filter(|end| end.is_date() == start.is_date());
    let by_duration = || component.line("DURATION").and_then(|line| when::add(start, line.value.trim()).ok());
    let implied = || if start.is_date() { when::default_end(start).ok() } else { None };
    stated.or_else(by_duration).or_else(implied).unwrap_or_else(|| start.clone())
}

/// Address of a `mailto:` URI.
pub(super) fn address(value: &str) -> Option<String> {
    let scheme = value.get(..7)?;
    if !scheme.eq_ignore_ascii_case("mailto:") {
        return None;
    }
    Some(value[7..].trim().to_owned()).filter(|address| !address.is_empty())
}

/// Minutes before the start of each alarm that is set relative to it.
fn reminders(component: &Component) -> Vec<i64> {
    let alarms = component.parts.iter().filter(|part| part.name == "VALARM");
    let minutes = alarms.filter_map(|alarm| {
        let trigger = alarm.line("TRIGGER")?;
        if trigger.parameter("RELATED").is_some_and(|related| related.eq_ignore_ascii_case("END")) {
            return None;
        }
        let span: Span = trigger.value.trim().parse().ok()?;
        let epoch = Timestamp::UNIX_EPOCH.to_zoned_datetime(TimeZone::UTC);
        let moved = epoch.checked_add(span).ok()?;
        Some(-moved.timestamp().as_second().div_euclid(60))
    });
    minutes.collect()
}
