//! The slots of a rule, in the local time of its zone.

use rrule::{RRuleSet, Tz};

use super::error::ScheduleError;
use crate::domain::time::Wall;
use crate::domain::when;

/// Rules that would come back more often than a person can bear.
const TOO_OFTEN: [&str; 2] = ["SECONDLY", "MINUTELY"];

/// First slot after `after` of a rule that starts at `start`; `None` when it has ended.
pub fn next_after(start: Wall, zone: &str, rule: &str, after: Wall) -> Result<Option<Wall>, ScheduleError> {
    let wrong = |reason: String| ScheduleError::Rule { rule: rule.to_owned(), reason };
    let canonical = when::canonical_rule(rule)?;
    if TOO_OFTEN.iter().any(|frequency| canonical.contains(&format!("FREQ={frequency}"))) {
        return Err(wrong("at most once an hour".to_owned()));
    }
    let zone = when::time_zone(zone)?;
    let name = when::zone_name(&zone);
    let local = start.timestamp().to_zoned_datetime(zone).strftime("%Y%m%dT%H%M%S").to_string();
    let set: RRuleSet = format!("DTSTART;TZID={name}:{local}\nRRULE:{canonical}")
        .parse()
        .map_err(|error: rrule::RRuleError| wrong(error.to_string()))?;
    let Some(from) = chrono::DateTime::from_timestamp_millis(after.0) else { return Ok(None) };
    // `after` of the crate includes the moment itself.
    let found = set.after(from.with_timezone(&Tz::UTC)).all(2);
    Ok(found.dates.iter().map(|date| Wall(date.timestamp_millis())).find(|slot| *slot > after))
}
