//! Changes in place: everything that is not changed stays as it was.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

use super::document::{Component, IcsError};
use super::line::Line;
use super::read::{read_event, read_series};
use super::time::{read_time, read_times, write_time};
use super::write::{add_zones, rule_line, set_guests, set_reminders};
use crate::calendar::recurrence;
use crate::domain::action::EventChanges;
use crate::domain::calendar::EventTime;
use crate::domain::when::{self, WhenError};

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ChangeError {
    #[error(transparent)]
    Ics(#[from] IcsError),
    #[error(transparent)]
    When(#[from] WhenError),
    #[error("the series has no date {occurrence}")]
    NoOccurrence { occurrence: String },
    #[error("one date of a series cannot have a recurrence of its own")]
    RecurrenceOfOccurrence,
}

/// When, and on whose behalf, a change is made.
#[derive(Clone, PartialEq, Debug)]
pub struct Stamp {
    pub now: Timestamp,
    /// Named as organizer where guests are invited first.
    pub organizer: Option<String>,
}

impl Stamp {
    pub(super) fn utc(&self) -> String {
        self.now.strftime("%Y%m%dT%H%M%SZ").to_string()
    }

    pub(super) fn put(&self, event: &mut Component) {
        event.set(Line::new("DTSTAMP", self.utc()));
        event.set(Line::new("LAST-MODIFIED", self.utc()));
    }
}

/// Changes the event, or the whole series, called `id`.
pub fn apply(
    calendar: &mut Component,
    id: &str,
    changes: &EventChanges,
    stamp: &Stamp,
    home: &TimeZone,
) -> Result<(), ChangeError> {
    let at = master(calendar, id).ok_or(IcsError::NoEvent)?;
    let before = read_event(&calendar.parts[at], calendar, home)?;
    let mut event = calendar.parts[at].clone();
    change_event(&mut event, calendar, changes, stamp, home)?;
    calendar.parts[at] = event;
    let after = read_event(&calendar.parts[at], calendar, home)?;
    if !when::same(&before.start, &after.start) {
        move_dates(calendar, at, id, (&before.start, &after.start), home);
    }
    add_zones(calendar);
    Ok(())
}

/// Changes one date of the series `id`.
pub fn override_occurrence(
    calendar: &mut Component,
    id: &str,
    occurrence: &EventTime,
    changes: &EventChanges,
    stamp: &Stamp,
    home: &TimeZone,
) -> Result<(), ChangeError> {
    if changes.recurrence.is_some() {
        return Err(ChangeError::RecurrenceOfOccurrence);
    }
    let original = original_start(calendar, id, occurrence, home)?;
    let at = match override_of(calendar, id, &original, home) {
        Some(at) => at,
        None => {
            let at = master(calendar, id).ok_or(IcsError::NoEvent)?;
            let instance = instance_of(&calendar.parts[at], calendar, &original, home)?;
            calendar.parts.push(instance);
            calendar.parts.len() - 1
        }
    };
    let mut event = calendar.parts[at].clone();
    change_event(&mut event, calendar, changes, stamp, home)?;
    calendar.parts[at] = event;
    add_zones(calendar);
    Ok(())
}

/// Takes one date out of the series `id`.
pub fn exclude_occurrence(
    calendar: &mut Component,
    id: &str,
    occurrence: &EventTime,
    stamp: &Stamp,
    home: &TimeZone,
) -> Result<(), ChangeError> {
    let original = original_start(calendar, id, occurrence, home)?;
    if let Some(at) = override_of(calendar, id, &original, home) {
        calendar.parts.remove(at);
    }
    // Without a series of our own, the single date was all there is.
    let Some(at) = master(calendar, id) else { return Ok(()) };
    calendar.parts[at].lines.push(write_time("EXDATE", &original));
    stamp.put(&mut calendar.parts[at]);
    raise_sequence(&mut calendar.parts[at]);
    Ok(())
}

/// The start that stands for `occurrence` in the series: by instant, by the moved start of a changed date, or, for a
/// bare date, by the day.
fn original_start(
    calendar: &Component,
    id: &str,
    occurrence: &EventTime,
    home: &TimeZone,
) -> Result<EventTime, ChangeError> {
    let series = read_series(calendar, Some(id), home)?;
    recurrence::find_occurrence(&series, occurrence, home)
        .ok_or_else(|| ChangeError::NoOccurrence { occurrence: when::key(occurrence) })
}

fn master(calendar: &Component, id: &str) -> Option<usize> {
    let is = |part: &Component| {
        part.name == "VEVENT" && part.line("RECURRENCE-ID").is_none() && part.text("UID").as_deref() == Some(id)
    };
    calendar.parts.iter().position(is)
}

fn override_of(calendar: &Component, id: &str, original: &EventTime, home: &TimeZone) -> Option<usize> {
    calendar.parts.iter().position(|part| {
        part.name == "VEVENT"
            && part.text("UID").as_deref() == Some(id)
            && part
                .line("RECURRENCE-ID")
                .and_then(|line| read_time(line, calendar, home))
                .is_some_and(|known| when::same(&known, original))
    })
}

/// The master as the one date `original`.
fn instance_of(
    master: &Component,
    calendar: &Component,
    original: &EventTime,
    home: &TimeZone,
) -> Result<Component, ChangeError> {
    let event = read_event(master, calendar, home)?;
    let mut instance = master.clone();
    for name in ["RRULE", "RDATE", "EXDATE", "EXRULE", "DURATION"] {
        instance.remove(name);
    }
    let end = recurrence::moved_end(&event, original);
    instance.set(write_time("DTSTART", original));
    instance.set_or_remove("DTEND", (end != *original).then(|| write_time("DTEND", &end)));
    instance.lines.push(write_time("RECURRENCE-ID", original));
    Ok(instance)
}

fn change_event(
    event: &mut Component,
    calendar: &Component,
    changes: &EventChanges,
    stamp: &Stamp,
    home: &TimeZone,
) -> Result<(), ChangeError> {
    let before = read_event(event, calendar, home)?;
    let start = changes.start.clone().unwrap_or_else(|| before.start.clone());
    if changes.start.is_some() || changes.end.is_some() {
        let end = match &changes.end {
            Some(end) => end.clone(),
            None if start.is_date() == before.start.is_date() => recurrence::moved_end(&before, &start),
            None => when::default_end(&start)?,
        };
        let end = when::settle_end(&start, Some(&end))?;
        event.remove("DURATION");
        event.set(write_time("DTSTART", &start));
        event.set_or_remove("DTEND", (end != start).then(|| write_time("DTEND", &end)));
    }
    let text = |name: &str, text: &String| (!text.is_empty()).then(|| Line::text_of(name, text));
    if let Some(title) = &changes.title {
        event.set_or_remove("SUMMARY", text("SUMMARY", title));
    }
    if let Some(location) = &changes.location {
        event.set_or_remove("LOCATION", text("LOCATION", location));
    }
    if let Some(description) = &changes.description {
        event.set_or_remove("DESCRIPTION", text("DESCRIPTION", description));
        // An HTML rendering of the old text would go on showing it.
        event.remove("X-ALT-DESC");
    }
    if let Some(rule) = &changes.recurrence {
        if rule.is_empty() {
            for name in ["RRULE", "RDATE", "EXDATE", "EXRULE"] {
                event.remove(name);
            }
        } else {
            event.set(rule_line(&when::canonical_rule(rule)?, &start));
        }
    }
    if let Some(guests) = &changes.guests {
        set_guests(event, guests, stamp.organizer.as_deref());
    }
    if let Some(minutes) = &changes.reminders {
        let title = event.text("SUMMARY").unwrap_or_default();
        set_reminders(event, minutes, &title);
    }
    stamp.put(event);
    raise_sequence(event);
    Ok(())
}

fn raise_sequence(event: &mut Component) {
    let sequence: u64 = event.line("SEQUENCE").and_then(|line| line.value.trim().parse().ok()).unwrap_or(0);
    event.set(Line::new("SEQUENCE", (sequence + 1).to_string()));
}

/// A series that starts at another time keeps its exceptions: dates taken out and changed dates move with it.
fn move_dates(calendar: &mut Component, at: usize, id: &str, moved: (&EventTime, &EventTime), home: &TimeZone) {
    let Some(shift) = shift_of(moved.0, moved.1) else { return };
    let shifted = |line: &Line, calendar: &Component| -> Vec<EventTime> {
        read_times(line, calendar, home).iter().filter_map(&shift).collect()
    };
    let excluded: Vec<EventTime> = calendar.parts[at].all("EXDATE").flat_map(|line| shifted(line, calendar)).collect();
    calendar.parts[at].remove("EXDATE");
    for time in &excluded {
        calendar.parts[at].lines.push(write_time("EXDATE", time));
    }
    for index in 0..calendar.parts.len() {
        let part = &calendar.parts[index];
        if part.name != "VEVENT" || part.text("UID").as_deref() != Some(id) {
            continue;
        }
        let Some(line) = part.line("RECURRENCE-ID") else { continue };
        if let Some(time) = shifted(line, calendar).first() {
            calendar.parts[index].set(write_time("RECURRENCE-ID", time));
        }
    }
}

/// Moves local times by what lies between two starts, into the zone of the second.
fn shift_of(before: &EventTime, after: &EventTime) -> Option<impl Fn(&EventTime) -> Option<EventTime>> {
    let local = |time: &EventTime| -> Option<DateTime> {
        match time {
            EventTime::Date { date } => Some(date.parse::<jiff::civil::Date>().ok()?.at(0, 0, 0, 0)),
            EventTime::Timed { at, .. } => at.get(..19)?.parse().ok(),
        }
    };
    if before.is_date() != after.is_date() {
        return None;
    }
    let span: Span = local(before)?.until(local(after)?).ok()?;
    let zone = match after {
        EventTime::Date { .. } => None,
        EventTime::Timed { zone, .. } => Some(when::time_zone(zone).ok()?),
    };
    Some(move |time: &EventTime| {
        let moved = local(time)?.checked_add(span).ok()?;
        match &zone {
            None => Some(EventTime::Date { date: moved.date().to_string() }),
            Some(zone) => when::resolve_local(moved, zone).ok().map(|resolved| resolved.time),
        }
    })
}
