//! Identity, digest and near key of each kind of action, field by field.

use std::collections::BTreeSet;

use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use super::body::body_text;
use super::canonical::canonical_hash;
use super::text::{line, subject, title};
use crate::domain::action::{Action, CreateEvent, DeleteEvent, OtherAction, SendEmail, UpdateEvent};
use crate::domain::address::{identity_of, parse_message_id};
use crate::domain::calendar::EventTime;
use crate::domain::ids::{Digest, Identity, LiteralHash};
use crate::domain::when;
use crate::evidence::literal_hash;
use crate::store::StoreError;

/// Version of the canonical form, stored with every effect. A change of any rule here raises it.
pub const NORMALISATION: i64 = 1;

/// One field of an action.
#[derive(Clone, PartialEq, Debug)]
pub struct Field {
    pub name: String,
    /// Compared.
    pub normal: Value,
    /// As given, for the words.
    pub shown: Value,
    /// Part of the identity; otherwise only of the digest.
    pub identifies: bool,
}

/// An action by its meaning.
#[derive(Clone, PartialEq, Debug)]
pub struct Normalised {
    pub identity: Identity,
    /// Where guests are named: the identity together with who they are. Two parallel events with the same title and
    /// start but other people are told apart by it.
    pub guest_identity: Option<Identity>,
    pub digest: Digest,
    pub literal: LiteralHash,
    /// What near duplicates share.
    pub near_key: Option<String>,
    pub fields: Vec<Field>,
}

/// Normalises `action`. `zone` is the user's, for times that carry none of their own.
pub fn normalise(action: &Action, zone: &TimeZone, account: &str) -> Result<Normalised, StoreError> {
    let (kind, fields) = match action {
        Action::CreateEvent(event) => ("create_event", create_event(event)),
        Action::UpdateEvent(update) => ("update_event", update_event(update)),
        Action::DeleteEvent(delete) => ("delete_event", delete_event(delete)),
        Action::SendEmail(mail) => ("send_email", send_email(mail)),
        Action::Other(other) => (other.tool.as_str(), other_action(other)),
    };
    let whole = |wanted: &dyn Fn(&Field) -> bool| {
        let fields: Map<String, Value> = fields
            .iter()
            .filter(|field| wanted(field) && !field.normal.is_null())
            .map(|field| (field.name.clone(), field.normal.clone()))
            .collect();
        json!({ "version": NORMALISATION, "kind": kind, "account": account, "fields": fields })
    };
    let guests = fields.iter().find(|field| field.name == "guests" && !field.normal.is_null());
    let guest_identity = match (action, guests) {
        (Action::CreateEvent(_), Some(_)) => {
            Some(Identity(canonical_hash(&whole(&|field| field.identifies || field.name == "guests"))?))
        }
        _ => None,
    };
    Ok(Normalised {
        identity: Identity(canonical_hash(&whole(&|field| field.identifies))?),
        guest_identity,
        digest: Digest(canonical_hash(&whole(&|_| true))?),
        literal: literal_hash(account, action)?,
        near_key: near_key(action, zone, account)?,
        fields,
    })
}

/// Same start in the same calendar; same sender, recipients and subject; same event changed.
fn near_key(action: &Action, zone: &TimeZone, account: &str) -> Result<Option<String>, StoreError> {
    let shared = match action {
        Action::CreateEvent(event) => {
            let start = match event.start.instant(zone) {
                Some(_) => when::key(&event.start),
                None => return Ok(None),
            };
            json!({ "near": "event", "account": account, "calendar": event.calendar, "start": start })
        }
        Action::UpdateEvent(update) => json!({ "near": "change", "account": account, "event": update.event_id }),
        Action::DeleteEvent(delete) => json!({ "near": "change", "account": account, "event": delete.event_id }),
        Action::SendEmail(mail) => json!({
            "near": "mail", "account": account, "from": identity_of(&mail.from), "to": recipients(mail),
            "subject": subject(&mail.subject, true),
        }),
        Action::Other(_) => return Ok(None),
    };
    canonical_hash(&shared).map(Some)
}

fn identifies(name: &str, normal: impl Into<Value>, shown: impl Into<Value>) -> Field {
    Field { name: name.to_owned(), normal: normal.into(), shown: shown.into(), identifies: true }
}

fn detail(name: &str, normal: impl Into<Value>, shown: impl Into<Value>) -> Field {
    Field { name: name.to_owned(), normal: normal.into(), shown: shown.into(), identifies: false }
}

fn create_event(event: &CreateEvent) -> Vec<Field> {
    let end = when::settle_end(&event.start, event.end.as_ref()).ok().or_else(|| event.end.clone());
    let shown_end = event.end.as_ref().or(end.as_ref()).map(shown_time);
    vec![
        identifies("calendar", event.calendar.as_str(), event.calendar.as_str()),
        identifies("title", title(&event.title), event.title.as_str()),
        identifies("start", when::key(&event.start), shown_time(&event.start)),
        identifies("all_day", event.start.is_date(), event.start.is_date()),
        detail("end", end.as_ref().map(when::key), shown_end),
        detail("location", filled(event.location.as_deref().map(line)), event.location.clone()),
        detail(
            "description",
            filled(event.description.as_deref().map(|text| body_text(text, None, false))),
            event.description.clone(),
        ),
        detail("guests", people(&event.guests), shown_list(&event.guests)),
        detail("recurrence", recurrence(event), event.recurrence.clone()),
        detail("reminders", sorted(&event.reminders), sorted(&event.reminders)),
    ]
}

/// A rule means something else in another zone, where the clocks change on other days.
fn recurrence(event: &CreateEvent) -> Value {
    let Some(rule) = event.recurrence.as_deref().filter(|rule| !rule.trim().is_empty()) else { return Value::Null };
    let rule = when::canonical_rule_from(rule, &event.start).unwrap_or_else(|_| rule.trim().to_uppercase());
    match &event.start {
        EventTime::Date { .. } => json!({ "rule": rule }),
        EventTime::Timed { zone, .. } => {
            json!({ "rule": rule, "zone": when::canonical_zone(zone).unwrap_or_else(|_| zone.clone()) })
        }
    }
}

fn update_event(update: &UpdateEvent) -> Vec<Field> {
    let changes = &update.changes;
    let mut fields = vec![identifies("event_id", update.event_id.as_str(), update.event_id.as_str())];
    let mut change = |name: &str, normal: Option<Value>, shown: Option<Value>| {
        if let (Some(normal), Some(shown)) = (normal, shown) {
            // A field that is cleared differs from one that is left alone.
            let normal = if normal.is_null() { json!("") } else { normal };
            fields.push(identifies(name, normal, shown));
        }
    };
    let time = |value: &Option<EventTime>| value.as_ref().map(|time| json!(when::key(time)));
    let shown = |value: &Option<EventTime>| value.as_ref().map(shown_time);
    change("occurrence", time(&update.occurrence), shown(&update.occurrence));
    change("title", changes.title.as_deref().map(|text| json!(title(text))), changes.title.clone().map(Value::from));
    change("start", time(&changes.start), shown(&changes.start));
    change("end", time(&changes.end), shown(&changes.end));
    change(
        "location",
        changes.location.as_deref().map(|text| json!(line(text))),
        changes.location.clone().map(Value::from),
    );
    change(
        "description",
        changes.description.as_deref().map(|text| json!(body_text(text, None, false))),
        changes.description.clone().map(Value::from),
    );
    change("guests", changes.guests.as_deref().map(people), changes.guests.as_deref().map(shown_list));
    change(
        "recurrence",
        changes
            .recurrence
            .as_deref()
            .map(|rule| json!(when::canonical_rule(rule).unwrap_or_else(|_| rule.to_uppercase()))),
        changes.recurrence.clone().map(Value::from),
    );
    change("reminders", changes.reminders.as_deref().map(sorted), changes.reminders.as_deref().map(sorted));
    fields
}

fn delete_event(delete: &DeleteEvent) -> Vec<Field> {
    let mut fields = vec![identifies("event_id", delete.event_id.as_str(), delete.event_id.as_str())];
    if let Some(day) = &delete.occurrence {
        fields.push(identifies("occurrence", when::key(day), shown_time(day)));
    }
    fields
}

fn send_email(mail: &SendEmail) -> Vec<Field> {
    let is_reply = mail.in_reply_to.is_some() || mail.thread.is_some();
    let body = body_text(&mail.body, mail.html.as_deref(), is_reply);
    // Beside a text, HTML that says the same is only its form.
    let html = mail
        .html
        .as_deref()
        .filter(|_| !mail.body.trim().is_empty())
        .map(|html| body_text("", Some(html), is_reply))
        .filter(|html| *html != body);
    let thread = mail.thread.as_deref().or(mail.in_reply_to.as_deref());
    let hashes: BTreeSet<&str> = mail.attachments.iter().map(|file| file.sha256.as_str()).collect();
    let names: Vec<&str> = mail.attachments.iter().map(|file| file.name.as_str()).collect();
    let place = |list: &[String]| people(list);
    vec![
        identifies("from", identity_of(&mail.from), mail.from.as_str()),
        identifies("recipients", recipients(mail), shown_list(&all_recipients(mail))),
        identifies("subject", subject(&mail.subject, is_reply), mail.subject.as_str()),
        identifies(
            "thread",
            thread.map(|id| parse_message_id(id).unwrap_or_else(|_| id.to_owned())),
            thread.map(Value::from),
        ),
        identifies("body", body, mail.body.as_str()),
        identifies("attachments", if hashes.is_empty() { Value::Null } else { json!(hashes) }, json!(names)),
        detail("html", html, mail.html.clone()),
        detail("to", place(&mail.to), shown_list(&mail.to)),
        detail("cc", place(&mail.cc), shown_list(&mail.cc)),
        detail("bcc", place(&mail.bcc), shown_list(&mail.bcc)),
    ]
}

fn other_action(other: &OtherAction) -> Vec<Field> {
    let Value::Object(arguments) = &other.arguments else {
        return vec![identifies("arguments", other.arguments.clone(), other.arguments.clone())];
    };
    arguments
        .iter()
        // An argument that is null is one that is not given; `repeat` is a word to the guard.
        .filter(|(name, value)| !value.is_null() && name.as_str() != "repeat")
        .map(|(name, value)| {
            let identifies =
                other.identity_fields.is_empty() || other.identity_fields.iter().any(|field| field == name);
            Field { name: name.clone(), normal: value.clone(), shown: value.clone(), identifies }
        })
        .collect()
}

fn all_recipients(mail: &SendEmail) -> Vec<String> {
    mail.to.iter().chain(&mail.cc).chain(&mail.bcc).cloned().collect()
}

fn recipients(mail: &SendEmail) -> Value {
    let set: BTreeSet<String> = all_recipients(mail).iter().map(|one| identity_of(one)).collect();
    json!(set)
}

/// A set of people, or null for nobody.
fn people(list: &[String]) -> Value {
    let set: BTreeSet<String> = list.iter().map(|one| identity_of(one)).collect();
    if set.is_empty() { Value::Null } else { json!(set) }
}

fn shown_list(list: &[String]) -> Value {
    if list.is_empty() { Value::Null } else { json!(list) }
}

fn sorted(minutes: &[i64]) -> Value {
    let set: BTreeSet<i64> = minutes.iter().copied().collect();
    if set.is_empty() { Value::Null } else { json!(set) }
}

fn filled(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}

fn shown_time(time: &EventTime) -> Value {
    match time {
        EventTime::Date { date } => json!(date),
        EventTime::Timed { at, .. } => json!(at),
    }
}
