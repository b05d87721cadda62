//! From a rule to dates.

use chrono::TimeZone as _;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use rrule::{RRule, RRuleSet, Tz, Unvalidated};

use crate::calendar::ics::Series;
use crate::domain::calendar::{Event, EventTime};
use crate::domain::when;

/// Dates of one series in one range; a rule that yields more (every second, for years) is cut.
const MOST_DATES: u16 = 5_000;

/// Events of `series` that overlap `from..to`, in order of their start. A series' dates carry `occurrence`.
pub fn occurrences(series: &Series, from: Timestamp, to: Timestamp, home: &TimeZone) -> Vec<Event> {
    let overlaps = |event: &Event| match (event.start.instant(home), event.end.instant(home)) {
        // A moment without length overlaps the range it begins in.
        (Some(start), Some(end)) => start < to && (end > from || (end == start && start >= from)),
        (Some(start), None) => start < to && start >= from,
        (None, _) => false,
    };
    let mut found = Vec::new();
    if let Some(master) = &series.master {
        if series.recurs() {
            let length = length_of(master, home);
            let earliest = from.checked_sub(length).unwrap_or(Timestamp::MIN);
            for start in expand(series, master, Some((earliest, to)), home) {
                if series.overrides.iter().any(|event| stands_for(event, &start)) {
                    continue;
                }
                let end = moved_end(master, &start);
                found.push(Event { occurrence: Some(start.clone()), start, end, ..master.clone() });
            }
        } else {
            found.push(master.clone());
        }
    }
    found.extend(series.overrides.iter().cloned());
    found.retain(|event| overlaps(event));
    found.sort_by_key(|event| event.start.instant(home));
    found
}

/// When the last date of the series has ended; `None` if it goes on for ever.
pub fn ends(series: &Series, home: &TimeZone) -> Option<Timestamp> {
    let of_events = series.master.iter().chain(&series.overrides).filter_map(|event| event.end.instant(home));
    let mut last = of_events.max()?;
    let Some(master) = series.master.as_ref().filter(|_| series.recurs()) else { return Some(last) };
    let bounded = |rule: &String| {
        rule.to_uppercase().split(';').any(|part| part.starts_with("UNTIL=") || part.starts_with("COUNT="))
    };
    if !series.rules.iter().all(bounded) {
        return None;
    }
    let all = expand(series, master, None, home);
    // Cut short: more may come.
    if all.len() >= usize::from(MOST_DATES) {
        return None;
    }
    if let Some(end) = all.iter().filter_map(|start| moved_end(master, start).instant(home)).max() {
        last = last.max(end);
    }
    Some(last)
}

/// The start in the series that `wanted` means: the same instant, the start a changed date was moved to, or the only
/// date on that day.
pub fn find_occurrence(series: &Series, wanted: &EventTime, home: &TimeZone) -> Option<EventTime> {
    let of_override = |event: &Event| {
        let original = event.occurrence.as_ref()?;
        (when::same(original, wanted) || when::same(&event.start, wanted)).then(|| original.clone())
    };
    if let Some(original) = series.overrides.iter().find_map(of_override) {
        return Some(original);
    }
    let day = match wanted {
        EventTime::Date { date } => date.clone(),
        EventTime::Timed { at, .. } => at.get(..10)?.to_owned(),
    };
    let around = TimeZone::UTC.to_timestamp(day.parse::<jiff::civil::Date>().ok()?.at(12, 0, 0, 0)).ok()?;
    let two_days = jiff::SignedDuration::from_hours(48);
    let (from, to) = (around.checked_sub(two_days).ok()?, around.checked_add(two_days).ok()?);
    let dates = occurrences(series, from, to, home);
    let originals = || dates.iter().filter_map(|event| event.occurrence.as_ref());
    if let Some(start) = originals().find(|start| when::same(start, wanted)) {
        return Some(start.clone());
    }
    let mut on_day = originals().filter(|start| when::names(wanted, start));
    match (on_day.next(), on_day.next()) {
        (Some(only), None) => Some(only.clone()),
        (Some(_) | None, _) => None,
    }
}

/// The date of `series` that `wanted` means, as it is now.
pub fn event_at(series: &Series, wanted: &EventTime, home: &TimeZone) -> Option<Event> {
    let original = find_occurrence(series, wanted, home)?;
    if let Some(changed) = series.overrides.iter().find(|event| stands_for(event, &original)) {
        return Some(changed.clone());
    }
    let master = series.master.as_ref()?;
    let end = moved_end(master, &original);
    Some(Event { occurrence: Some(original.clone()), start: original, end, ..master.clone() })
}

/// The end of `event` if it started at `start`: the same number of days, or the same elapsed time.
pub fn moved_end(event: &Event, start: &EventTime) -> EventTime {
    let moved = match (&event.start, &event.end, start) {
        (EventTime::Date { date: first }, EventTime::Date { date: last }, EventTime::Date { date }) => (|| {
            let days = first.parse::<jiff::civil::Date>().ok()?.until(last.parse::<jiff::civil::Date>().ok()?).ok()?;
            let end = date.parse::<jiff::civil::Date>().ok()?.checked_add(days).ok()?;
            Some(EventTime::Date { date: end.to_string() })
        })(),
        (
            EventTime::Timed { at: first, .. },
            EventTime::Timed { at: last, zone: end_zone },
            EventTime::Timed { at, zone },
        ) => (|| {
            let length = first.parse::<Timestamp>().ok()?.duration_until(last.parse::<Timestamp>().ok()?);
            let end = at.parse::<Timestamp>().ok()?.checked_add(length).ok()?;
            let zone = when::time_zone(end_zone).or_else(|_| when::time_zone(zone)).ok()?;
            Some(when::at_instant(end, &zone))
        })(),
        (EventTime::Date { .. } | EventTime::Timed { .. }, _, _) => None,
    };
    moved.unwrap_or_else(|| start.clone())
}

/// `rule` with its UNTIL in the form that goes with `start`: a date with dates, UTC with times.
pub fn rule_for(rule: &str, start: &EventTime) -> String {
    let parts = rule.split(';').map(|part| match part.split_once('=') {
        Some((name, value)) if name.eq_ignore_ascii_case("UNTIL") => {
            format!("UNTIL={}", until_for(value, start).unwrap_or_else(|| value.to_owned()))
        }
        Some(_) | None => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join(";")
}

fn until_for(value: &str, start: &EventTime) -> Option<String> {
    let day = value.get(..8)?;
    match start {
        EventTime::Date { .. } => Some(day.to_owned()),
        EventTime::Timed { zone, .. } => {
            if value.ends_with('Z') {
                return None;
            }
            let zone = when::time_zone(zone).ok()?;
            let local = match value.get(8..) {
                // "Until the 24th" includes that day.
                None | Some("") => day.parse::<jiff::civil::Date>().ok()?.at(23, 59, 59, 0),
                Some(_) => value.parse().ok()?,
            };
            let instant = zone.to_ambiguous_timestamp(local).compatible().ok()?;
            Some(instant.strftime("%Y%m%dT%H%M%SZ").to_string())
        }
    }
}

fn stands_for(event: &Event, start: &EventTime) -> bool {
    event.occurrence.as_ref().is_some_and(|original| when::same(original, start))
}

fn length_of(event: &Event, home: &TimeZone) -> jiff::SignedDuration {
    match (event.start.instant(home), event.end.instant(home)) {
        // A day more than the elapsed time: an all-day event spans a clock change, a zone may lie elsewhere.
        (Some(start), Some(end)) => start.duration_until(end) + jiff::SignedDuration::from_hours(24),
        (Some(_) | None, _) => jiff::SignedDuration::from_hours(24),
    }
}

/// Starts by rule and RDATE without those in EXDATE; about a day around `range` at most.
fn expand(series: &Series, master: &Event, range: Option<(Timestamp, Timestamp)>, home: &TimeZone) -> Vec<EventTime> {
    let mut starts = by_rule(series, master, range).unwrap_or_else(|| vec![master.start.clone()]);
    let within = |time: &EventTime| match (range, time.instant(home)) {
        (Some((from, to)), Some(instant)) => instant >= from && instant < to,
        (None, Some(_)) => true,
        (_, None) => false,
    };
    starts.extend(series.additions.iter().filter(|time| within(time)).cloned());
    starts.retain(|start| !excluded(series, start));
    starts.sort_by_key(|start| start.instant(home));
    starts.dedup_by(|one, other| when::same(one, other));
    starts
}

/// An EXDATE of type DATE takes out that day of a timed series, as several programs write it.
fn excluded(series: &Series, start: &EventTime) -> bool {
    series.exclusions.iter().any(|excluded| when::names(excluded, start))
}

/// `None` where the rules cannot be evaluated: then only the first date is certain.
///
/// The crate works on local times as if they were UTC, and each date is resolved in its zone afterwards: so a date that
/// a clock change skips or repeats becomes what `when` makes of it everywhere else, and none is lost.
fn by_rule(series: &Series, master: &Event, range: Option<(Timestamp, Timestamp)>) -> Option<Vec<EventTime>> {
    let zone = match &master.start {
        EventTime::Date { .. } => None,
        EventTime::Timed { zone, .. } => Some(when::time_zone(zone).ok()?),
    };
    let first = as_utc(local_time(&master.start)?)?;
    // RFC 5545, section 3.8.5.3: the start is the first date even if it does not fit the rule.
    let mut set = RRuleSet::new(first).rdate(first);
    for rule in &series.rules {
        let rule: RRule<Unvalidated> = with_local_until(&rule_for(rule, &master.start), zone.as_ref()).parse().ok()?;
        set = set.rrule(rule.validate(first).ok()?);
    }
    if let Some((from, to)) = range {
        // Local times are up to 14 hours away from UTC; what is too much is left out by the instants.
        let slack = jiff::SignedDuration::from_hours(26);
        set = set.after(Tz::UTC.timestamp_opt(from.checked_sub(slack).unwrap_or(from).as_second(), 0).single()?);
        set = set.before(Tz::UTC.timestamp_opt(to.checked_add(slack).unwrap_or(to).as_second(), 0).single()?);
    }
    let times = set.all(MOST_DATES).dates.into_iter().filter_map(|date| {
        let local = TimeZone::UTC.to_datetime(Timestamp::from_second(date.timestamp()).ok()?);
        match &zone {
            Some(zone) => when::resolve_local(local, zone).ok().map(|resolved| resolved.time),
            None => Some(EventTime::Date { date: local.date().to_string() }),
        }
    });
    Some(times.collect())
}

fn local_time(time: &EventTime) -> Option<DateTime> {
    match time {
        EventTime::Date { date } => Some(date.parse::<jiff::civil::Date>().ok()?.at(0, 0, 0, 0)),
        EventTime::Timed { at, .. } => at.get(..19)?.parse().ok(),
    }
}

fn as_utc(local: DateTime) -> Option<chrono::DateTime<Tz>> {
    Tz::UTC.timestamp_opt(TimeZone::UTC.to_timestamp(local).ok()?.as_second(), 0).single()
}

/// `rule` with its UNTIL as the local time in `zone`, written as if in UTC; a date includes its day.
fn with_local_until(rule: &str, zone: Option<&TimeZone>) -> String {
    let parts = rule.split(';').map(|part| {
        let Some(until) = part.strip_prefix("UNTIL=") else { return part.to_owned() };
        let local = match (zone, until.strip_suffix('Z')) {
            (Some(zone), Some(utc)) => {
                let instant = utc.parse::<DateTime>().ok().and_then(|utc| TimeZone::UTC.to_timestamp(utc).ok());
                instant.map(|instant| zone.to_datetime(instant).strftime("%Y%m%dT%H%M%SZ").to_string())
            }
            (None, None) if until.len() == 8 => Some(format!("{until}T235959Z")),
            (Some(_) | None, _) => None,
        };
        format!("UNTIL={}", local.as_deref().unwrap_or(until))
    });
    parts.collect::<Vec<_>>().join(";")
}
