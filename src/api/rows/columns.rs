//! How columns become fields of a row.

use crate::domain::time::Wall;

/// Rows read at a time, so that a long list is no long snapshot.
pub const PAGE: i64 = 500;

pub(super) fn time(at: i64, zone: &jiff::tz::TimeZone) -> String {
    Wall(at).rfc3339(zone)
}

/// JSON text of a column; unreadable text stays text, so that nothing is hidden.
pub(super) fn json(text: String) -> serde_json::Value {
    serde_json::from_str(&text).unwrap_or(serde_json::Value::String(text))
}
