//! Google's event resource and ours.

use jiff::tz::TimeZone;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::calendar::recurrence;
use crate::domain::action::EventChanges;
use crate::domain::calendar::{Event, EventDraft, EventTime};
use crate::domain::when::{self, WhenError};

#[derive(Deserialize, Clone, PartialEq, Debug, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct GoogleEvent {
    pub id: String,
    pub etag: String,
    pub status: String,
    pub summary: Option<String>,
    pub location: Option<String>,
    pub description: Option<String>,
    pub start: Option<GoogleTime>,
    pub end: Option<GoogleTime>,
    pub recurrence: Vec<String>,
    pub recurring_event_id: Option<String>,
    pub original_start_time: Option<GoogleTime>,
    pub attendees: Vec<Value>,
    pub reminders: Option<Reminders>,
}

#[derive(Deserialize, Clone, PartialEq, Debug, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct GoogleTime {
    pub date: Option<String>,
    pub date_time: Option<String>,
    pub time_zone: Option<String>,
}

#[derive(Deserialize, Clone, PartialEq, Debug, Default)]
#[serde(default)]
pub struct Reminders {
    pub overrides: Vec<Reminder>,
}

#[derive(Deserialize, Clone, PartialEq, Debug, Default)]
#[serde(default)]
pub struct Reminder {
    pub minutes: i64,
}

impl GoogleTime {
    pub fn read(&self, home: &TimeZone) -> Option<EventTime> {
        if let Some(date) = &self.date {
            return Some(EventTime::Date { date: date.clone() });
        }
        let zone = self.time_zone.as_deref().and_then(|name| when::time_zone(name).ok());
        when::resolve(self.date_time.as_deref()?, zone.as_ref().unwrap_or(home)).ok().map(|resolved| resolved.time)
    }
}

impl GoogleEvent {
    /// `None` without a usable start: a cancelled instance may be only its id.
    pub fn read(&self, calendar: &str, home: &TimeZone) -> Option<Event> {
        let occurrence = self.original_start_time.as_ref().and_then(|time| time.read(home));
        let start = self.start.as_ref().and_then(|time| time.read(home)).or_else(|| occurrence.clone());
        let cancelled = self.status == "cancelled";
        let start = match start {
            Some(start) => start,
            // Only a deleted event has lost its start.
            None if cancelled => EventTime::Date { date: "1970-01-01".into() },
            None => return None,
        };
        let end = self.end.as_ref().and_then(|time| time.read(home)).unwrap_or_else(|| start.clone());
        let guest = |guest: &Value| guest.get("email").and_then(Value::as_str).map(str::to_owned);
        Some(Event {
            id: self.recurring_event_id.clone().unwrap_or_else(|| self.id.clone()),
            calendar: calendar.to_owned(),
            title: self.summary.clone().unwrap_or_default(),
            start,
            end,
            location: self.location.clone().filter(|text| !text.is_empty()),
            description: self.description.clone().filter(|text| !text.is_empty()),
            guests: self.attendees.iter().filter_map(guest).collect(),
            recurrence: self.rule(),
            reminders: self.reminders.iter().flat_map(|all| &all.overrides).map(|one| one.minutes).collect(),
            occurrence: self.recurring_event_id.as_ref().and(occurrence),
            etag: self.etag.clone(),
            cancelled,
        })
    }

    pub fn rule(&self) -> Option<String> {
        self.recurrence.iter().find_map(|line| line.strip_prefix("RRULE:")).map(str::to_owned)
    }
}

fn time(time: &EventTime) -> Value {
    // A patch keeps what is not named, so the other form is taken away explicitly.
    match time {
        EventTime::Date { date } => json!({ "date": date, "dateTime": null, "timeZone": null }),
        EventTime::Timed { at, zone } => json!({ "date": null, "dateTime": at, "timeZone": zone }),
    }
}

fn reminders(minutes: &[i64]) -> Value {
    let overrides: Vec<Value> =
        minutes.iter().map(|minutes| json!({ "method": "popup", "minutes": minutes })).collect();
    json!({ "useDefault": false, "overrides": overrides })
}

/// `Name <address>` or `address`.
fn guest(text: &str) -> Value {
    match text.split_once('<') {
        Some((name, rest)) if !name.trim().is_empty() => {
            json!({ "email": rest.trim_end_matches('>').trim(), "displayName": name.trim().trim_matches('"') })
        }
        Some((_, rest)) => json!({ "email": rest.trim_end_matches('>').trim() }),
        None => json!({ "email": text.trim() }),
    }
}

/// Body of an insert.
pub fn draft(draft: &EventDraft) -> Value {
    let mut body = Map::new();
    body.insert("id".into(), json!(draft.id));
    body.insert("summary".into(), json!(draft.title));
    body.insert("start".into(), without_nulls(time(&draft.start)));
    body.insert("end".into(), without_nulls(time(&draft.end)));
    for (name, text) in [("location", &draft.location), ("description", &draft.description)] {
        if let Some(text) = text {
            body.insert(name.into(), json!(text));
        }
    }
    if !draft.guests.is_empty() {
        body.insert("attendees".into(), draft.guests.iter().map(|text| guest(text)).collect());
    }
    if let Some(rule) = &draft.recurrence {
        let rule = recurrence::rule_for(rule.trim_start_matches("RRULE:"), &draft.start);
        body.insert("recurrence".into(), json!([format!("RRULE:{rule}")]));
    }
    if !draft.reminders.is_empty() {
        body.insert("reminders".into(), reminders(&draft.reminders));
    }
    Value::Object(body)
}

/// Body of a patch that makes `changes` to `current`, which Google holds as `raw`.
pub fn patch(changes: &EventChanges, current: &Event, raw: &GoogleEvent) -> Result<Value, WhenError> {
    let mut body = Map::new();
    let mut text = |name: &str, text: &Option<String>| {
        if let Some(text) = text {
            body.insert(name.to_owned(), json!(text));
        }
    };
    text("summary", &changes.title);
    text("location", &changes.location);
    text("description", &changes.description);
    let start = changes.start.clone().unwrap_or_else(|| current.start.clone());
    if changes.start.is_some() || changes.end.is_some() {
        let end = match &changes.end {
            Some(end) => end.clone(),
            None if start.is_date() == current.start.is_date() => recurrence::moved_end(current, &start),
            None => when::default_end(&start)?,
        };
        body.insert("start".into(), time(&start));
        body.insert("end".into(), time(&when::settle_end(&start, Some(&end))?));
    }
    if let Some(guests) = &changes.guests {
        // Guests who stay keep their answers.
        let standing = |wanted: &Value| {
            let address = |value: &Value| value.get("email").and_then(Value::as_str).map(str::to_lowercase);
            raw.attendees.iter().find(|known| address(known) == address(wanted)).cloned()
        };
        let guests = guests.iter().map(|text| guest(text)).map(|wanted| standing(&wanted).unwrap_or(wanted));
        body.insert("attendees".into(), guests.collect());
    }
    if let Some(rule) = &changes.recurrence {
        let mut lines: Vec<String> = Vec::new();
        if !rule.is_empty() {
            lines.push(format!("RRULE:{}", recurrence::rule_for(&when::canonical_rule(rule)?, &start)));
            lines.extend(raw.recurrence.iter().filter(|line| !line.starts_with("RRULE:")).cloned());
        }
        body.insert("recurrence".into(), json!(lines));
    }
    if let Some(minutes) = &changes.reminders {
        body.insert("reminders".into(), reminders(minutes));
    }
    Ok(Value::Object(body))
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(map.into_iter().filter(|(_, value)| !value.is_null()).collect()),
        other => other,
    }
}
