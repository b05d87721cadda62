//! TZID to zone and back.

use std::str::FromStr;

use calcard::common::timezone::Tz;
use calcard::icalendar::{ICalendar, ICalendarComponent, ICalendarComponentType};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::document::{Component, parse_calendar};
use crate::domain::when;

/// The zone that `tzid` means within `calendar`: an IANA name, an alias, a name that Microsoft's programs write, or
/// one that its definition explains. Definitions themselves are not evaluated: their names are more current.
pub fn zone_of(tzid: &str, calendar: &Component) -> Option<TimeZone> {
    when::time_zone(tzid).ok().or_else(|| known_name(tzid)).or_else(|| {
        let definition = calendar
            .parts
            .iter()
            .filter(|part| part.name == "VTIMEZONE")
            .find(|part| part.line("TZID").is_some_and(|line| line.value == tzid))?;
        let location = definition.text("X-LIC-LOCATION").and_then(|name| when::time_zone(&name).ok());
        location.or_else(|| {
            let number = definition.text("X-MICROSOFT-CDO-TZID")?;
            from_calcard(Tz::from_ms_cdo_zone_id(&number)?)
        })
    })
}

fn known_name(tzid: &str) -> Option<TimeZone> {
    from_calcard(Tz::from_str(tzid).ok()?)
}

fn from_calcard(zone: Tz) -> Option<TimeZone> {
    when::time_zone(&zone.name()?).ok()
}

/// A `VTIMEZONE` for `zone` that holds from the year of `from` on. UTC needs none.
pub fn zone_definition(zone: &str, from: Timestamp) -> Option<Component> {
    if zone == "UTC" {
        return None;
    }
    let mut calendar = ICalendar { components: vec![ICalendarComponent::new(ICalendarComponentType::VCalendar)] };
    // Two years show the rule of a zone that changes its clocks regularly; calcard then states it without an end.
    const SPAN: i64 = 3 * 366 * 86_400;
    let from = from.as_second() - 366 * 86_400;
    calendar.add_timezone(zone, from, from + SPAN)?;
    let text = calendar.to_string();
    parse_calendar(&text).ok()?.parts.into_iter().find(|part| part.name == "VTIMEZONE")
}
