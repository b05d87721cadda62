//! New calendar data.

use super::change::Stamp;
use super::document::Component;
use super::line::Line;
use super::time::write_time;
use super::zones::zone_definition;
use crate::domain::calendar::{EventDraft, EventTime};

/// A `VCALENDAR` around `parts`.
pub fn wrap(parts: Vec<Component>) -> Component {
    let mut calendar = Component::new("VCALENDAR");
    calendar.lines.push(Line::new("VERSION", "2.0"));
    calendar.lines.push(Line::new("PRODID", "-//Unavez//Unavez//EN"));
    calendar.parts = parts;
    calendar
}

/// The event of `draft` with the definitions of its zones. `organizer` is named only where there are guests.
pub fn draft_calendar(draft: &EventDraft, organizer: Option<&str>, stamp: &Stamp) -> Component {
    let mut event = Component::new("VEVENT");
    event.lines.push(Line::text_of("UID", &draft.id));
    stamp.put(&mut event);
    event.lines.push(Line::new("CREATED", stamp.utc()));
    event.lines.push(Line::new("SEQUENCE", "0"));
    event.lines.push(Line::text_of("SUMMARY", &draft.title));
    event.lines.push(write_time("DTSTART", &draft.start));
    if draft.end != draft.start {
        event.lines.push(write_time("DTEND", &draft.end));
    }
    if let Some(rule) = &draft.recurrence {
        event.lines.push(rule_line(rule, &draft.start));
    }
    for (name, text) in [("LOCATION", &draft.location), ("DESCRIPTION", &draft.description)] {
        if let Some(text) = text.as_deref().filter(|text| !text.is_empty()) {
            event.lines.push(Line::text_of(name, text));
        }
    }
    set_guests(&mut event, &draft.guests, organizer);
    set_reminders(&mut event, &draft.reminders, &draft.title);
    let mut calendar = wrap(vec![event]);
    add_zones(&mut calendar);
    calendar
}

/// The RRULE line; an UNTIL is written in the form that goes with the start (RFC 5545, section 3.3.10).
pub(super) fn rule_line(rule: &str, start: &EventTime) -> Line {
    let rule = rule.trim().trim_start_matches("RRULE:");
    Line::new("RRULE", crate::calendar::recurrence::rule_for(rule, start))
}

/// Guests as attendees that were not asked yet; those who stand there already keep their answer.
pub(super) fn set_guests(event: &mut Component, guests: &[String], organizer: Option<&str>) {
    let known: Vec<Line> = event.all("ATTENDEE").cloned().collect();
    event.remove("ATTENDEE");
    for guest in guests {
        let (name, address) = split_name(guest);
        let same =
            |line: &&Line| super::read::address(&line.value).is_some_and(|known| known.eq_ignore_ascii_case(address));
        let line = known.iter().find(same).cloned().unwrap_or_else(|| {
            let line = Line::new("ATTENDEE", format!("mailto:{address}"));
            let line = name.iter().fold(line, |line, name| line.with("CN", name.replace('"', "'")));
            line.with("ROLE", "REQ-PARTICIPANT").with("PARTSTAT", "NEEDS-ACTION").with("RSVP", "TRUE")
        });
        event.lines.push(line);
    }
    if !guests.is_empty()
        && event.line("ORGANIZER").is_none()
        && let Some(organizer) = organizer
    {
        event.lines.push(Line::new("ORGANIZER", format!("mailto:{organizer}")));
    }
}

/// `Name <address>` or `address`.
fn split_name(guest: &str) -> (Option<&str>, &str) {
    match guest.split_once('<') {
        Some((name, rest)) => {
            let name = name.trim().trim_matches('"');
            (Some(name).filter(|name| !name.is_empty()), rest.trim_end_matches('>').trim())
        }
        None => (None, guest.trim()),
    }
}

pub(super) fn set_reminders(event: &mut Component, minutes: &[i64], title: &str) {
    event.parts.retain(|part| part.name != "VALARM");
    for before in minutes {
        let mut alarm = Component::new("VALARM");
        alarm.lines.push(Line::new("ACTION", "DISPLAY"));
        alarm.lines.push(Line::text_of("DESCRIPTION", title));
        let sign = if *before >= 0 { "-" } else { "" };
        alarm.lines.push(Line::new("TRIGGER", format!("{sign}PT{}M", before.unsigned_abs())));
        event.parts.push(alarm);
    }
}

/// Adds the definition of every zone that the events name and the calendar does not define yet.
pub(super) fn add_zones(calendar: &mut Component) {
    let defined: Vec<String> = calendar
        .parts
        .iter()
        .filter(|part| part.name == "VTIMEZONE")
        .filter_map(|part| part.line("TZID").map(|line| line.value.clone()))
        .collect();
    let mut wanted: Vec<(String, jiff::Timestamp)> = Vec::new();
    for line in calendar.events().flat_map(|event| &event.lines) {
        let Some(tzid) = line.parameter("TZID") else { continue };
        if defined.iter().any(|known| known == tzid) || wanted.iter().any(|(known, _)| known == tzid) {
            continue;
        }
        let day = line.value.get(..8).and_then(|day| day.parse::<jiff::civil::Date>().ok());
        let from = day.and_then(|day| jiff::tz::TimeZone::UTC.to_timestamp(day.at(0, 0, 0, 0)).ok());
        wanted.push((tzid.to_owned(), from.unwrap_or_default()));
    }
    let definitions = wanted.iter().filter_map(|(tzid, from)| zone_definition(tzid, *from));
    for (at, definition) in definitions.enumerate() {
        calendar.parts.insert(at, definition);
    }
}
