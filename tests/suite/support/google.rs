//! Google Calendar in memory: token endpoint, two calendars, ids chosen by the client, faults on request.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use jiff::civil::DateTime;
use serde_json::{Value, json};

use super::exchange::{Asked, Reply, serve};

/// What happens to the next call of this kind (`insert`, `patch`, `delete`, `get`, `list`, `token`).
#[derive(Clone, PartialEq, Debug)]
pub enum Fault {
    /// This answer instead of doing it: status, Google's reason, seconds to wait.
    Refuse(u16, &'static str, Option<u32>),
    CutBefore,
    /// It is done, and the line cut instead of answering.
    CutAfter,
    /// It is done, and answered with this status.
    DoneThen(u16),
    /// Just before it, somebody else changes the title of this event.
    Meanwhile {
        id: String,
        title: String,
    },
}

#[derive(Default)]
struct State {
    /// By calendar and id.
    events: BTreeMap<(String, String), Value>,
    versions: u64,
    faults: VecDeque<(String, Fault)>,
    log: Vec<(String, Asked)>,
    tokens: u64,
    revoked: bool,
    /// (calendar, id) in the order of changes; a sync token is a position in it.
    changes: Vec<(String, String)>,
    forgets_tokens: bool,
}

#[derive(Clone)]
pub struct GoogleServer {
    pub url: String,
    state: Arc<Mutex<State>>,
}

impl GoogleServer {
    pub async fn start() -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let shared = state.clone();
        let url = serve(move |asked| {
            let shared = shared.clone();
            async move { shared.lock().unwrap().answer(asked) }
        })
        .await;
        Self { url, state }
    }

    pub fn fault(&self, kind: &str, fault: Fault) {
        self.state.lock().unwrap().faults.push_back((kind.to_owned(), fault));
    }

    /// Access tokens given so far are void.
    pub fn expire_tokens(&self) {
        self.state.lock().unwrap().tokens += 1;
    }

    pub fn revoke(&self) {
        let mut state = self.state.lock().unwrap();
        state.revoked = true;
        state.tokens += 1;
    }

    pub fn forget_tokens(&self) {
        self.state.lock().unwrap().forgets_tokens = true;
    }

    pub fn asked(&self, kind: &str) -> Vec<Asked> {
        let state = self.state.lock().unwrap();
        state.log.iter().filter(|(known, _)| known == kind).map(|(_, asked)| asked.clone()).collect()
    }

    /// Everything that stands, cancelled events left out.
    pub fn standing(&self) -> Vec<Value> {
        let state = self.state.lock().unwrap();
        state.events.values().filter(|event| event["status"] != "cancelled").cloned().collect()
    }

    pub fn put(&self, calendar: &str, event: Value) {
        self.state.lock().unwrap().store(calendar, event);
    }

    /// Another program moves an event to another calendar: cancelled here, standing there.
    pub fn move_event(&self, id: &str, from: &str, to: &str) {
        let mut state = self.state.lock().unwrap();
        let mut event = state.events[&(from.to_owned(), id.to_owned())].clone();
        state.store(to, event.clone());
        event["status"] = json!("cancelled");
        state.store(from, event);
    }
}

impl State {
    fn store(&mut self, calendar: &str, mut event: Value) -> Value {
        self.versions += 1;
        event["etag"] = json!(format!("\"{}\"", self.versions));
        if event["status"].is_null() {
            event["status"] = json!("confirmed");
        }
        let key = (calendar.to_owned(), event["id"].as_str().unwrap().to_owned());
        self.changes.push(key.clone());
        self.events.insert(key, event.clone());
        event
    }

    fn answer(&mut self, asked: Asked) -> Reply {
        let path = asked.path.split('?').next().unwrap().replace("%40", "@");
        let parts: Vec<&str> = path.trim_start_matches("/calendar/v3/").split('/').collect();
        let kind = match (asked.method.as_str(), parts.as_slice()) {
            ("POST", [.., "token"]) => "token",
            ("GET", ["users", ..]) => "calendars",
            ("POST", _) => "insert",
            ("PATCH", _) => "patch",
            ("DELETE", _) => "delete",
            ("GET", ["calendars", _, "events"] | [.., "instances"]) => "list",
            _other => "get",
        };
        self.log.push((kind.to_owned(), asked.clone()));
        let at = self.faults.iter().position(|(known, _)| known == kind);
        let fault = at.and_then(|at| self.faults.remove(at)).map(|(_, fault)| fault);
        match fault {
            None => self.perform(kind, &parts, &asked),
            Some(Fault::Refuse(status, reason, wait)) => {
                wait.into_iter().fold(refuse(status, reason), |reply, wait| reply.with("retry-after", wait.to_string()))
            }
            Some(Fault::CutBefore) => Reply::Cut,
            Some(Fault::CutAfter) => {
                self.perform(kind, &parts, &asked);
                Reply::Cut
            }
            Some(Fault::DoneThen(status)) => {
                self.perform(kind, &parts, &asked);
                refuse(status, "backendError")
            }
            Some(Fault::Meanwhile { id, title }) => {
                let mut event = self.events[&("primary".to_owned(), id)].clone();
                event["summary"] = json!(title);
                self.store("primary", event);
                self.perform(kind, &parts, &asked)
            }
        }
    }

    fn perform(&mut self, kind: &str, parts: &[&str], asked: &Asked) -> Reply {
        if kind == "token" {
            if self.revoked || !asked.body.contains("refresh_token=lasting") {
                return Reply::status(400).body(
                    "application/json",
                    r#"{"error":"invalid_grant","error_description":"Token has been expired or revoked."}"#,
                );
            }
            let token = json!({ "access_token": format!("access-{}", self.tokens), "token_type": "Bearer", "expires_in": 3600 });
            return answer(&token);
        }
        if asked.header("authorization") != Some(format!("Bearer access-{}", self.tokens).as_str()) {
            return refuse(401, "authError");
        }
        let calendar = match parts {
            ["calendars", "ann@example.test", ..] => "primary".to_owned(),
            ["calendars", calendar, ..] => (*calendar).to_owned(),
            _other => String::new(),
        };
        match kind {
            "calendars" => answer(&json!({ "items": [
                { "id": "ann@example.test", "summary": "Ann", "primary": true, "accessRole": "owner" },
                { "id": "family@group.calendar.google.com", "summary": "Family", "accessRole": "writer" },
                { "id": "holidays@group.v.calendar.google.com", "summary": "Holidays", "accessRole": "reader" },
            ]})),
            "insert" => {
                let event: Value = serde_json::from_str(&asked.body).unwrap();
                let id = event["id"].as_str().unwrap().to_owned();
                let allowed = (5..=1024).contains(&id.len())
                    && id.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'v').contains(&byte));
                if !allowed || event["start"] == event["end"] && event["start"]["date"].is_string() {
                    return refuse(400, "invalid");
                }
                // A deleted event keeps its id.
                if self.events.contains_key(&(calendar.clone(), id)) {
                    return refuse(409, "duplicate");
                }
                answer(&self.store(&calendar, event))
            }
            "get" => match self.find(&calendar, parts[3]) {
                Some(event) => answer(&event),
                None => refuse(404, "notFound"),
            },
            "patch" | "delete" => {
                let Some(mut event) = self.find(&calendar, parts[3]) else { return refuse(404, "notFound") };
                if event["status"] == "cancelled" {
                    return refuse(410, "deleted");
                }
                if asked.header("if-match").is_some_and(|wanted| event["etag"] != wanted) {
                    return refuse(412, "conditionNotMet");
                }
                if kind == "delete" {
                    event["status"] = json!("cancelled");
                    self.store(&calendar, event);
                    return Reply::status(204);
                }
                merge(&mut event, &serde_json::from_str(&asked.body).unwrap());
                answer(&self.store(&calendar, event))
            }
            _list => self.list(&calendar, parts, asked),
        }
    }

    /// A stored event, or a date of a stored series.
    fn find(&self, calendar: &str, id: &str) -> Option<Value> {
        let stored = self.events.get(&(calendar.to_owned(), id.to_owned())).cloned();
        stored.or_else(|| {
            let series = self.events.get(&(calendar.to_owned(), id.split('_').next()?.to_owned()))?;
            self.dates(calendar, series).into_iter().find(|date| date["id"] == id)
        })
    }

    fn list(&self, calendar: &str, parts: &[&str], asked: &Asked) -> Reply {
        let url = format!("http://localhost{}", asked.path);
        let query: BTreeMap<String, String> = reqwest::Url::parse(&url).unwrap().query_pairs().into_owned().collect();
        if let Some(token) = query.get("syncToken") {
            if self.forgets_tokens {
                return refuse(410, "fullSyncRequired");
            }
            let since: usize = token.parse().unwrap();
            let changed = self.changes[since..].iter().filter(|(known, _)| known == calendar);
            let items: Vec<Value> = changed.map(|key| self.events[key].clone()).collect();
            return answer(&json!({ "items": items, "nextSyncToken": self.changes.len().to_string() }));
        }
        let within = |event: &Value| {
            let at = |name: &str| event[name]["dateTime"].as_str().or(event[name]["date"].as_str()).unwrap().to_owned();
            let instant = |text: String| match text.len() {
                10 => format!("{text}T00:00:00Z").parse::<jiff::Timestamp>().unwrap(),
                _timed => text.parse().unwrap(),
            };
            let bound = |name: &str| query.get(name).map(|text| text.parse::<jiff::Timestamp>().unwrap());
            bound("timeMax").is_none_or(|to| instant(at("start")) < to)
                && bound("timeMin").is_none_or(|from| instant(at("end")) > from)
        };
        let of_calendar = self.events.iter().filter(|((known, _), _)| known == calendar).map(|(_, event)| event);
        let mut items = Vec::new();
        for event in of_calendar.filter(|event| event["status"] != "cancelled") {
            let is_series = event["recurrence"].is_array();
            if parts.len() == 5 {
                if event["id"] == parts[3] {
                    items.extend(self.dates(calendar, event).into_iter().filter(within));
                }
            } else if is_series && query.get("singleEvents").map(String::as_str) == Some("true") {
                items.extend(self.dates(calendar, event).into_iter().filter(within));
            } else if !event["recurringEventId"].is_string() && (is_series || within(event)) {
                items.push(event.clone());
            }
        }
        // Two pages, so that following them is tested.
        let second = query.contains_key("pageToken");
        let half = items.len() / 2;
        let page: Vec<Value> = if second { items.split_off(half) } else { items.drain(..half).collect() };
        match second {
            false => answer(&json!({ "items": page, "nextPageToken": "second" })),
            true => answer(&json!({ "items": page, "nextSyncToken": self.changes.len().to_string() })),
        }
    }

    /// Ten dates of a weekly series, changed ones as they are stored.
    fn dates(&self, calendar: &str, series: &Value) -> Vec<Value> {
        let zone = jiff::tz::TimeZone::get(series["start"]["timeZone"].as_str().unwrap_or("UTC")).unwrap();
        let local = |name: &str| series[name]["dateTime"].as_str().unwrap()[..19].parse::<DateTime>().unwrap();
        let week = |from: DateTime, n: i64| {
            let moved = from.checked_add(jiff::Span::new().weeks(n)).unwrap();
            zone.to_ambiguous_zoned_datetime(moved).compatible().unwrap()
        };
        let id = series["id"].as_str().unwrap();
        (0..10)
            .map(|n| {
                let (start, end) = (week(local("start"), n), week(local("end"), n));
                let text = |zoned: &jiff::ZonedDateTime| zoned.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string();
                let name = format!("{id}_{}", start.timestamp().strftime("%Y%m%dT%H%M%SZ"));
                if let Some(changed) = self.events.get(&(calendar.to_owned(), name.clone())) {
                    return changed.clone();
                }
                let zone = &series["start"]["timeZone"];
                json!({
                    "id": name, "recurringEventId": id, "status": "confirmed", "etag": format!("{}-{n}", series["etag"].as_str().unwrap()),
                    "summary": series["summary"], "originalStartTime": { "dateTime": text(&start), "timeZone": zone },
                    "start": { "dateTime": text(&start), "timeZone": zone }, "end": { "dateTime": text(&end), "timeZone": zone },
                })
            })
            .filter(|date| date["status"] != "cancelled")
            .collect()
    }
}

/// JSON merge patch: null takes away, lists are replaced.
fn merge(into: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *into = patch.clone();
        return;
    };
    for (name, value) in patch {
        if value.is_null() {
            into.as_object_mut().unwrap().remove(name);
        } else if value.is_object() && into[name].is_object() {
            merge(&mut into[name], value);
        } else {
            into[name] = value.clone();
        }
    }
}

fn answer(value: &Value) -> Reply {
    Reply::status(200).body("application/json", value.to_string())
}

fn refuse(status: u16, reason: &str) -> Reply {
    let body =
        json!({ "error": { "code": status, "message": "no", "errors": [{ "domain": "calendar", "reason": reason }] } });
    Reply::status(status).body("application/json", body.to_string())
}
