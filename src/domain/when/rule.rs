//! Recurrence rules in one canonical spelling, so that two rules with the same meaning are equal.

use std::collections::BTreeSet;

use super::error::WhenError;
use crate::domain::calendar::EventTime;

/// Parts in the order of RFC 5545, section 3.3.10, with the values each list may have.
const PARTS: [(&str, Kind); 14] = [
    ("FREQ", Kind::Frequency),
    ("UNTIL", Kind::Until),
    ("COUNT", Kind::Number),
    ("INTERVAL", Kind::Number),
    ("BYSECOND", Kind::List { least: 0, most: 60, signed: false }),
    ("BYMINUTE", Kind::List { least: 0, most: 59, signed: false }),
    ("BYHOUR", Kind::List { least: 0, most: 23, signed: false }),
    ("BYDAY", Kind::Days),
    ("BYMONTHDAY", Kind::List { least: 1, most: 31, signed: true }),
    ("BYYEARDAY", Kind::List { least: 1, most: 366, signed: true }),
    ("BYWEEKNO", Kind::List { least: 1, most: 53, signed: true }),
    ("BYMONTH", Kind::List { least: 1, most: 12, signed: false }),
    ("BYSETPOS", Kind::List { least: 1, most: 366, signed: true }),
    ("WKST", Kind::Day),
];
const FREQUENCIES: [&str; 7] = ["SECONDLY", "MINUTELY", "HOURLY", "DAILY", "WEEKLY", "MONTHLY", "YEARLY"];
const DAYS: [&str; 7] = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"];

#[derive(Clone, Copy)]
enum Kind {
    Frequency,
    Until,
    Number,
    Day,
    Days,
    List { least: i32, most: i32, signed: bool },
}

/// The canonical spelling of an RRULE value: upper case, parts in order, lists sorted without repeats, defaults
/// (`INTERVAL=1`, `WKST=MO`) left out, no `RRULE:` before it.
pub fn canonical_rule(rule: &str) -> Result<String, WhenError> {
    Ok(spell(&parse(rule)?))
}

/// As [`canonical_rule`], and without parts that only repeat what the start says:
/// weekly on the start's weekday, monthly on its day, yearly on its day and month.
pub fn canonical_rule_from(rule: &str, start: &EventTime) -> Result<String, WhenError> {
    let mut parts = parse(rule)?;
    if let Some(date) = local_date(start) {
        let weekday = DAYS[usize::from(date.weekday().to_monday_zero_offset().unsigned_abs())];
        let only = |parts: &[Part], names: &[&str]| {
            parts.iter().filter(|part| part.name.starts_with("BY")).all(|part| names.contains(&part.name))
        };
        let frequency = parts.first().map(|part| part.value.clone()).unwrap_or_default();
        let month_day = date.day().to_string();
        let month = date.month().to_string();
        let implied: &[(&str, &str)] = match frequency.as_str() {
            "WEEKLY" if only(&parts, &["BYDAY"]) => &[("BYDAY", weekday)],
            "MONTHLY" if only(&parts, &["BYMONTHDAY"]) => &[("BYMONTHDAY", &month_day)],
            "YEARLY" if only(&parts, &["BYMONTHDAY", "BYMONTH"]) => &[("BYMONTHDAY", &month_day), ("BYMONTH", &month)],
            _ => &[],
        };
        let repeats = |part: &Part| implied.iter().any(|(name, value)| part.name == *name && part.value == *value);
        let by_parts = parts.iter().filter(|part| part.name.starts_with("BY")).count();
        if by_parts == parts.iter().filter(|part| repeats(part)).count() {
            parts.retain(|part| !repeats(part));
        }
    }
    Ok(spell(&parts))
}

struct Part {
    name: &'static str,
    value: String,
}

fn parse(rule: &str) -> Result<Vec<Part>, WhenError> {
    let bad = |reason: String| WhenError::BadRule { rule: rule.to_owned(), reason };
    let upper: String = rule.chars().filter(|character| !character.is_whitespace()).collect::<String>().to_uppercase();
    let body = upper.strip_prefix("RRULE:").unwrap_or(&upper);
    let mut parts: Vec<(usize, Part)> = Vec::new();
    for text in body.split(';').filter(|text| !text.is_empty()) {
        let (name, value) = text.split_once('=').ok_or_else(|| bad(format!("{text} has no value")))?;
        let index = PARTS.iter().position(|(known, _)| *known == name);
        let (index, (name, kind)) = match index {
            Some(index) => (index, PARTS[index]),
            None => return Err(bad(format!("{name} is not a part of a rule"))),
        };
        if parts.iter().any(|(_, part)| part.name == name) {
            return Err(bad(format!("{name} is given twice")));
        }
        let value = canonical_value(kind, value).ok_or_else(|| bad(format!("{name} cannot be {value}")))?;
        parts.push((index, Part { name, value }));
    }
    parts.sort_by_key(|(index, _)| *index);
    let parts: Vec<Part> = parts.into_iter().map(|(_, part)| part).collect();
    let has = |name: &str| parts.iter().any(|part| part.name == name);
    if !has("FREQ") {
        return Err(bad("FREQ is missing".into()));
    }
    if has("UNTIL") && has("COUNT") {
        return Err(bad("UNTIL and COUNT exclude each other".into()));
    }
    Ok(parts)
}

fn canonical_value(kind: Kind, value: &str) -> Option<String> {
    match kind {
        Kind::Frequency => FREQUENCIES.contains(&value).then(|| value.to_owned()),
        Kind::Number => value.parse::<u32>().ok().filter(|number| *number > 0).map(|number| number.to_string()),
        Kind::Day => DAYS.contains(&value).then(|| value.to_owned()),
        Kind::Until => until(value),
        Kind::List { least, most, signed } => {
            let numbers: BTreeSet<i32> =
                value.split(',').map(|number| number.trim_start_matches('+').parse().ok()).collect::<Option<_>>()?;
            let fits = |number: &i32| (least..=most).contains(&if signed { number.abs() } else { *number });
            numbers.iter().all(fits).then(|| numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(","))
        }
        Kind::Days => {
            let days: BTreeSet<(usize, i32)> = value.split(',').map(numbered_day).collect::<Option<_>>()?;
            let spelled = days.iter().map(|(day, n)| match n {
                0 => DAYS[*day].to_owned(),
                n => format!("{n}{}", DAYS[*day]),
            });
            Some(spelled.collect::<Vec<_>>().join(","))
        }
    }
}

/// `TU`, `1TU`, `+1TU`, `-1FR`.
fn numbered_day(text: &str) -> Option<(usize, i32)> {
    let (number, day) = text.split_at_checked(text.len().checked_sub(2)?)?;
    let day = DAYS.iter().position(|known| *known == day)?;
    let number = match number.trim_start_matches('+') {
        "" => 0,
        number => number.parse().ok().filter(|number: &i32| (1..=53).contains(&number.abs()))?,
    };
    Some((day, number))
}

/// A date, a local time, or a UTC time; also as RFC 3339, which models write.
fn until(value: &str) -> Option<String> {
    let compact: String = value.chars().filter(|character| !matches!(character, '-' | ':')).collect();
    let digits = |text: &str, length: usize| text.len() == length && text.bytes().all(|digit| digit.is_ascii_digit());
    let (date, clock) = match compact.split_once('T') {
        None => return (digits(&compact, 8) && compact.parse::<jiff::civil::Date>().is_ok()).then_some(compact),
        Some(parts) => parts,
    };
    if value.contains('+') || value.matches('-').count() > 2 {
        let instant: jiff::Timestamp = value.parse().ok()?;
        return Some(instant.strftime("%Y%m%dT%H%M%SZ").to_string());
    }
    let fits = digits(date, 8) && date.parse::<jiff::civil::Date>().is_ok();
    (fits && digits(clock.strip_suffix('Z').unwrap_or(clock), 6)).then_some(compact)
}

fn spell(parts: &[Part]) -> String {
    let default = |part: &&Part| !matches!((part.name, part.value.as_str()), ("INTERVAL", "1") | ("WKST", "MO"));
    parts.iter().filter(default).map(|part| format!("{}={}", part.name, part.value)).collect::<Vec<_>>().join(";")
}

fn local_date(start: &EventTime) -> Option<jiff::civil::Date> {
    match start {
        EventTime::Date { date } => date.parse().ok(),
        EventTime::Timed { at, .. } => at.get(..10)?.parse().ok(),
    }
}
