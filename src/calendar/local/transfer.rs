//! `.ics` files in and out.

use std::collections::HashMap;

use super::calendar::LocalCalendar;
use super::rows;
use crate::calendar::ics::{Component, parse_calendar, series_of, wrap};
use crate::calendar::intake::Intake;
use crate::domain::ports::{Calendar, CalendarError};
use crate::store::Durability;

/// What became of the events of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Imported {
    pub added: usize,
    /// Their id stands here already: left as they are.
    pub already_there: usize,
    pub unreadable: usize,
}

impl LocalCalendar {
    /// Adds the events of a file, each with its own id, all in one transaction. Importing twice changes nothing.
    pub async fn import(&self, text: &str, calendar: &str) -> Result<Imported, CalendarError> {
        let data = parse_calendar(text).map_err(|error| CalendarError::Refused { reason: error.to_string() })?;
        let (calendar, home, now) = (calendar.to_owned(), self.zone.clone(), self.now());
        self.store
            .write("calendar.local.import", Durability::Full, move |tx| {
                let (found, unreadable) = series_of(&data, &home);
                let mut report = Imported { unreadable, ..Imported::default() };
                let events = by_id(&data);
                for series in found {
                    let own = alone(&data, events.get(&series.id).map_or(&[], Vec::as_slice)).print();
                    if rows::insert(tx, &calendar, &series, &own, now, &home)? {
                        report.added += 1;
                    } else {
                        report.already_there += 1;
                    }
                }
                Ok(report)
            })
            .await
    }

    /// Every event of `calendar`, or of all of them, as one file.
    pub async fn export(&self, calendar: Option<&str>) -> Result<String, CalendarError> {
        let calendar = calendar.map(str::to_owned);
        self.store
            .read(move |connection| {
                let mut zones: Vec<Component> = Vec::new();
                let mut events = Vec::new();
                for row in rows::all(connection, calendar.as_deref())? {
                    for part in row.parsed()?.parts {
                        if part.name != "VTIMEZONE" {
                            events.push(part);
                        } else if !zones.iter().any(|known| known.line("TZID") == part.line("TZID")) {
                            zones.push(part);
                        }
                    }
                }
                zones.extend(events);
                Ok(wrap(zones).print())
            })
            .await
    }
}

/// What became of a move to an account.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Moved {
    pub moved: usize,
    /// They stood there from an earlier try.
    pub already_there: usize,
    /// Left here: id and why.
    pub left: Vec<(String, String)>,
}

impl LocalCalendar {
    /// Moves every event of `calendar` to `account`, under the same ids, one after the other: an event leaves here only
    /// when it stands there. Stops at the first sign that the account cannot be reached; calling again goes on.
    pub async fn move_to(&self, calendar: &str, account: &dyn Intake, target: &str) -> Result<Moved, CalendarError> {
        let named = calendar.to_owned();
        let rows = self.store.read(move |connection| rows::all(connection, Some(&named))).await?;
        let mut report = Moved::default();
        for row in rows {
            let series = row.series(&self.zone)?;
            match account.take(target, &row.parsed()?, &series).await {
                Ok(()) => report.moved += 1,
                Err(CalendarError::Exists { current }) if !current.cancelled => report.already_there += 1,
                Err(error @ (CalendarError::Refused { .. } | CalendarError::Exists { .. })) => {
                    report.left.push((row.id, error.to_string()));
                    continue;
                }
                Err(other) => return Err(other),
            }
            // Changed here meanwhile: that version stays.
            let version = row.version.to_string();
            match self.delete(calendar, &row.id, None, Some(&version)).await {
                Ok(()) | Err(CalendarError::NotFound { .. }) => {}
                Err(CalendarError::Changed { .. }) => {
                    report.left.push((row.id, "it was changed here during the move".to_owned()));
                }
                Err(other) => return Err(other),
            }
        }
        Ok(report)
    }
}

/// The events of a file by UID.
fn by_id(data: &Component) -> HashMap<String, Vec<&Component>> {
    let mut grouped: HashMap<String, Vec<&Component>> = HashMap::new();
    for event in data.events() {
        if let Some(id) = event.text("UID") {
            grouped.entry(id).or_default().push(event);
        }
    }
    grouped
}

/// The calendar data of one UID: its events and the zones they name.
fn alone(data: &Component, events: &[&Component]) -> Component {
    let named = |tzid: &str| {
        let lines = events.iter().flat_map(|event| &event.lines);
        lines.filter_map(|line| line.parameter("TZID")).any(|known| known == tzid)
    };
    let zones = data
        .parts
        .iter()
        .filter(|part| part.name == "VTIMEZONE" && part.line("TZID").is_some_and(|line| named(&line.value)));
    let parts = zones.chain(events.iter().copied()).cloned().collect();
    let mut own = Component { name: data.name.clone(), lines: data.lines.clone(), parts };
    // A stored event is no scheduling message.
    own.remove("METHOD");
    own
}
