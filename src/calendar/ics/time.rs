//! `DTSTART`, `DTEND`, `RECURRENCE-ID`, `EXDATE`, `RDATE`: values of type DATE and DATE-TIME.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;

use super::document::Component;
use super::line::Line;
use super::zones::zone_of;
use crate::domain::calendar::EventTime;
use crate::domain::when;

/// Every value of a line as event times. A floating time, and one in a zone nobody knows, is in `home`.
pub fn read_times(line: &Line, calendar: &Component, home: &TimeZone) -> Vec<EventTime> {
    let zone = line.parameter("TZID").and_then(|tzid| zone_of(tzid, calendar));
    line.value
        .split(',')
        .filter_map(|value| {
            // Of a period its start.
            let value = value.split('/').next().unwrap_or(value).trim();
            read_value(value, zone.as_ref(), home)
        })
        .collect()
}

/// The one value of a line.
pub fn read_time(line: &Line, calendar: &Component, home: &TimeZone) -> Option<EventTime> {
    read_times(line, calendar, home).into_iter().next()
}

fn read_value(value: &str, zone: Option<&TimeZone>, home: &TimeZone) -> Option<EventTime> {
    if let Some(local) = value.strip_suffix('Z') {
        let instant = TimeZone::UTC.to_timestamp(local.parse::<DateTime>().ok()?).ok()?;
        return Some(when::at_instant(instant, zone.unwrap_or(&TimeZone::UTC)));
    }
    if !value.contains('T') {
        let date: Date = value.parse().ok()?;
        return Some(EventTime::Date { date: date.to_string() });
    }
    when::resolve_local(value.parse().ok()?, zone.unwrap_or(home)).ok().map(|resolved| resolved.time)
}

/// The line for `time`: a date, local time with its zone, or UTC where the local time would be read as another
/// instant (the second pass of a repeated hour).
pub fn write_time(name: &str, time: &EventTime) -> Line {
    match time {
        EventTime::Date { date } => Line::new(name, date.replace('-', "")).with("VALUE", "DATE"),
        EventTime::Timed { at, zone } => {
            let instant: Timestamp = at.parse().unwrap_or_default();
            let utc = || Line::new(name, instant.strftime("%Y%m%dT%H%M%SZ").to_string());
            let Ok(named) = when::time_zone(zone) else { return utc() };
            if zone == "UTC" {
                return utc();
            }
            let local = named.to_datetime(instant);
            let read_back = named.to_ambiguous_timestamp(local).compatible().ok();
            if read_back != Some(instant) {
                return utc();
            }
            Line::new(name, local.strftime("%Y%m%dT%H%M%S").to_string()).with("TZID", zone)
        }
    }
}
