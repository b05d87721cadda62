//! Event times compared by meaning.

use jiff::Timestamp;

use crate::domain::calendar::EventTime;

/// What two equal times share: the UTC minute, or the date. A date never equals an instant.
///
/// Part of the identity of an action; the form is versioned with it.
pub fn key(time: &EventTime) -> String {
    match time {
        EventTime::Date { date } => format!("date:{date}"),
        EventTime::Timed { at, .. } => match at.parse::<Timestamp>() {
            Ok(instant) => format!("instant:{}", instant.strftime("%Y-%m-%dT%H:%MZ")),
            Err(_) => format!("text:{at}"),
        },
    }
}

/// Same date, or same minute in whatever zones.
pub fn same(one: &EventTime, other: &EventTime) -> bool {
    key(one) == key(other)
}

/// Whether `wanted` names the date of a series that starts at `start`: the same time, or the day of it alone.
pub fn names(wanted: &EventTime, start: &EventTime) -> bool {
    match (wanted, start) {
        (EventTime::Date { date }, EventTime::Timed { at, .. }) => at.get(..10) == Some(date),
        (EventTime::Date { .. } | EventTime::Timed { .. }, _) => same(wanted, start),
    }
}
