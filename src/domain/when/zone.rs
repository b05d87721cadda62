//! Time zones by name, aliases made equal.

use jiff::tz::TimeZone;

use super::error::WhenError;

/// Other names of UTC that people, libraries and servers write where a zone is asked for.
const UTC_NAMES: [&str; 12] = [
    "z",
    "utc",
    "etc/utc",
    "etc/uct",
    "uct",
    "etc/zulu",
    "zulu",
    "etc/universal",
    "universal",
    "gmt",
    "etc/gmt",
    "etc/greenwich",
];

/// The zone called `name`: an IANA name in any case, an old alias, a name of UTC, or a whole-hour offset.
pub fn time_zone(name: &str) -> Result<TimeZone, WhenError> {
    let unknown = || WhenError::UnknownZone { zone: name.to_owned() };
    let trimmed = name.trim();
    if UTC_NAMES.contains(&trimmed.to_ascii_lowercase().as_str()) {
        return Ok(TimeZone::UTC);
    }
    if let Some(hours) = whole_hours(trimmed) {
        return match hours {
            0 => Ok(TimeZone::UTC),
            // The signs of the Etc zones are those of POSIX: Etc/GMT-2 is two hours ahead of UTC.
            ahead if ahead > 0 => TimeZone::get(&format!("Etc/GMT-{ahead}")).map_err(|_| unknown()),
            behind => TimeZone::get(&format!("Etc/GMT+{}", behind.abs())).map_err(|_| unknown()),
        };
    }
    let zone = TimeZone::get(trimmed).map_err(|_| unknown())?;
    match zone.primary_iana_name() {
        Some(primary) if Some(primary) != zone.iana_name() => TimeZone::get(primary).or(Ok(zone)),
        Some(_) => Ok(zone),
        None => Err(unknown()),
    }
}

/// The one name for `name` and its aliases: `Asia/Kolkata` for `Asia/Calcutta`, `UTC` for `Z`.
pub fn canonical_zone(name: &str) -> Result<String, WhenError> {
    Ok(zone_name(&time_zone(name)?))
}

/// Canonical IANA name of a zone; `UTC` for one without a name (an unreadable `/etc/localtime`).
pub fn zone_name(zone: &TimeZone) -> String {
    zone.primary_iana_name().or_else(|| zone.iana_name()).unwrap_or("UTC").to_owned()
}

fn whole_hours(text: &str) -> Option<i8> {
    let text = text.strip_prefix("UTC").or_else(|| text.strip_prefix("GMT")).unwrap_or(text);
    let (sign, digits) = match text.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-" | "−", digits) => (-1, digits),
        _ => return None,
    };
    let hours = match digits.split_once(':') {
        Some((hours, "00")) => hours,
        Some(_) => return None,
        None if digits.len() == 4 => digits.strip_suffix("00")?,
        None => digits,
    };
    let hours: i8 = hours.parse().ok().filter(|hours| (0..=14).contains(hours))?;
    Some(sign * hours)
}
