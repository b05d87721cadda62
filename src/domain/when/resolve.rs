//! From a written time to an instant or a date.

use jiff::civil::{Date, DateTime};
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};
use jiff::{Timestamp, ZonedDateTime};

use super::error::WhenError;
use super::note::Note;
use super::zone::{time_zone, zone_name};
use crate::domain::calendar::EventTime;

/// A time and, where the clocks change, what was decided about it.
#[derive(Clone, PartialEq, Debug)]
pub struct Resolved {
    pub time: EventTime,
    pub note: Option<Note>,
}

/// What `text` denotes for a person in `zone`.
///
/// - `2026-03-10`: a date, all day.
/// - `2026-03-10T09:00`, also with seconds, a space or lower case: local time in `zone`.
/// - `2026-03-10T08:00Z`, `…+01:00`: that instant, kept as local time of `zone` so that a series follows its clock.
/// - `2026-03-10T09:00[Europe/Berlin]`, `2026-03-10T09:00 Europe/Berlin`: local time in the zone named.
pub fn resolve(text: &str, zone: &TimeZone) -> Result<Resolved, WhenError> {
    resolve_in(text, None, zone)
}

/// As [`resolve`], with a zone named beside the text; a zone within the text wins.
pub fn resolve_in(text: &str, named: Option<&str>, zone: &TimeZone) -> Result<Resolved, WhenError> {
    let written = Written::parse(text)?;
    let named = named.map(str::trim).filter(|name| !name.is_empty());
    let zone = match written.zone.or(named) {
        Some(name) => time_zone(name)?,
        None => zone.clone(),
    };
    match written.moment {
        Moment::Date(date) => Ok(Resolved { time: EventTime::Date { date: date.to_string() }, note: None }),
        Moment::Local(local) => resolve_local(local, &zone),
        Moment::Instant(instant) => Ok(Resolved { time: at_instant(instant, &zone), note: None }),
    }
}

/// A wall-clock time in `zone`. Skipped times go forward by the length of the gap and repeated ones are the first,
/// as RFC 5545 (3.3.5, form 3) asks for.
pub fn resolve_local(local: DateTime, zone: &TimeZone) -> Result<Resolved, WhenError> {
    let ambiguous = zone.to_ambiguous_zoned_datetime(local);
    let offset = ambiguous.offset();
    let zoned = ambiguous.compatible().map_err(|_| WhenError::OutOfRange { text: local.to_string() })?;
    let clock = |local: DateTime| local.strftime("%H:%M").to_string();
    let note = match offset {
        AmbiguousOffset::Unambiguous { .. } => None,
        AmbiguousOffset::Gap { .. } => Some(Note::Gap {
            asked: clock(local),
            taken: clock(zoned.datetime()),
            date: local.date().to_string(),
            zone: zone_name(zone),
        }),
        AmbiguousOffset::Fold { before, after } => Some(Note::Fold {
            asked: clock(local),
            date: local.date().to_string(),
            zone: zone_name(zone),
            taken_offset: offset_text(before),
            other_offset: offset_text(after),
        }),
    };
    Ok(Resolved { time: timed(&zoned), note })
}

/// An instant as local time of `zone`, whole seconds.
pub fn at_instant(instant: Timestamp, zone: &TimeZone) -> EventTime {
    timed(&instant.to_zoned_datetime(zone.clone()))
}

fn timed(zoned: &ZonedDateTime) -> EventTime {
    EventTime::Timed { at: zoned.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(), zone: zone_name(zoned.time_zone()) }
}

fn offset_text(offset: Offset) -> String {
    let minutes = offset.seconds() / 60;
    let sign = if minutes < 0 { '-' } else { '+' };
    format!("{sign}{:02}:{:02}", minutes.abs() / 60, minutes.abs() % 60)
}

enum Moment {
    Date(Date),
    Local(DateTime),
    Instant(Timestamp),
}

struct Written<'a> {
    moment: Moment,
    zone: Option<&'a str>,
}

impl<'a> Written<'a> {
    fn parse(text: &'a str) -> Result<Self, WhenError> {
        let unreadable = || WhenError::Unreadable { text: text.to_owned() };
        let trimmed = text.trim();
        let (time, zone) = split_zone(trimmed);
        let time = time.trim();
        let clock_at = time.find(['T', 't', ' ', '_']);
        let Some(clock_at) = clock_at else {
            return Ok(Self { moment: Moment::Date(time.parse().map_err(|_| unreadable())?), zone });
        };
        let date: Date = time[..clock_at].parse().map_err(|_| unreadable())?;
        let clock = time[clock_at + 1..].trim();
        let (clock, offset) = split_offset(clock).ok_or_else(unreadable)?;
        let local = local(date, clock).ok_or_else(unreadable)?;
        let moment = match offset {
            None => Moment::Local(local),
            Some(offset) => Moment::Instant(
                offset.to_timestamp(local).map_err(|_| WhenError::OutOfRange { text: text.to_owned() })?,
            ),
        };
        Ok(Self { moment, zone })
    }
}

/// `TIME[Zone]` (RFC 9557, further annotations ignored) or `TIME Zone`.
fn split_zone(text: &str) -> (&str, Option<&str>) {
    if let Some((time, rest)) = text.split_once('[') {
        let zone = rest.split(']').next().unwrap_or_default().trim_start_matches('!');
        return (time, (!zone.contains('=')).then_some(zone).filter(|zone| !zone.is_empty()));
    }
    match text.rsplit_once(' ') {
        Some((time, zone)) if zone.starts_with(|first: char| first.is_ascii_alphabetic()) && zone.len() > 1 => {
            (time, Some(zone))
        }
        Some(_) | None => (text, None),
    }
}

/// Clock part and offset; `None` for an offset that cannot be read.
fn split_offset(clock: &str) -> Option<(&str, Option<Offset>)> {
    if let Some(clock) = clock.strip_suffix(['Z', 'z']) {
        return Some((clock.trim_end(), Some(Offset::UTC)));
    }
    let Some(at) = clock.find(['+', '-']) else { return Some((clock, None)) };
    let (clock, text) = clock.split_at(at);
    let digits: String = text[1..].chars().filter(|character| *character != ':').collect();
    if !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let (hours, minutes): (i32, i32) = match digits.len() {
        1 | 2 => (digits.parse().ok()?, 0),
        4 => (digits[..2].parse().ok()?, digits[2..].parse().ok()?),
        _ => return None,
    };
    if minutes > 59 {
        return None;
    }
    let seconds = (hours * 60 + minutes) * 60;
    let offset = Offset::from_seconds(if text.starts_with('-') { -seconds } else { seconds }).ok()?;
    Some((clock.trim_end(), Some(offset)))
}

/// `9:00`, `09:00`, `09:00:30`, `09:00:30.5`, `0900`, `090030`, `24:00`; fractions of a second are dropped.
fn local(date: Date, clock: &str) -> Option<DateTime> {
    let whole = clock.split(['.', ',']).next().unwrap_or_default();
    let parts: Vec<&str> = if whole.contains(':') {
        whole.split(':').collect()
    } else {
        match whole.len() {
            4 => vec![whole.get(..2)?, whole.get(2..)?],
            6 => vec![whole.get(..2)?, whole.get(2..4)?, whole.get(4..)?],
            _ => return None,
        }
    };
    let digits = |part: &&str| (1..=2).contains(&part.len()) && part.bytes().all(|digit| digit.is_ascii_digit());
    if !parts.iter().all(digits) {
        return None;
    }
    let numbers: Vec<i8> = parts.iter().map(|part| part.parse()).collect::<Result<_, _>>().ok()?;
    let (hour, minute, second) = match numbers[..] {
        [hour, minute] => (hour, minute, 0),
        // A leap second is the second before it, as everywhere.
        [hour, minute, second] => (hour, minute, if second == 60 { 59 } else { second }),
        _ => return None,
    };
    if (hour, minute, second) == (24, 0, 0) {
        return Some(date.tomorrow().ok()?.at(0, 0, 0, 0));
    }
    DateTime::new(date.year(), date.month(), date.day(), hour, minute, second, 0).ok()
}
