//! The port on a Google account.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::tz::TimeZone;
use reqwest::Method;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::Mutex;

use super::json::{self, GoogleEvent};
use super::settings::Settings;
use super::transport::{Call, Failure, Transport};
use crate::domain::action::EventChanges;
use crate::domain::calendar::{CalendarInfo, Event, EventDraft, EventTime};
use crate::domain::ids::AccountId;
use crate::domain::ports::{Calendar, CalendarError};
use crate::domain::time::Wall;
use crate::runtime::oauth::OAuthClient;

/// Reads and writes again when somebody else changes the event in between and any version will do.
const TRIES: u32 = 3;

pub struct GoogleCalendar {
    pub(super) settings: Settings,
    pub(super) transport: Transport,
    pub(super) zone: TimeZone,
    known: Mutex<Option<Vec<Entry>>>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct CalendarList {
    items: Vec<Entry>,
    next_page_token: Option<String>,
}

#[derive(Deserialize, Clone, Default)]
#[serde(default, rename_all = "camelCase")]
struct Entry {
    id: String,
    summary: String,
    summary_override: Option<String>,
    primary: bool,
    access_role: String,
}

impl Entry {
    fn name(&self) -> &str {
        self.summary_override.as_deref().unwrap_or(&self.summary)
    }

    /// One calendar must have one id, or the same event in it would be two: Google knows the main one by two names.
    fn one_id(&self) -> String {
        if self.primary { "primary".to_owned() } else { self.id.clone() }
    }

    fn writable(&self) -> bool {
        matches!(self.access_role.as_str(), "owner" | "writer")
    }
}

impl GoogleCalendar {
    /// `oauth` signs in with [`SCOPES`](super::SCOPES).
    pub fn new(settings: Settings, oauth: Arc<OAuthClient>, zone: TimeZone) -> Result<Self, CalendarError> {
        let transport = Transport::new(&settings, oauth)?;
        Ok(Self { settings, transport, zone, known: Mutex::new(None) })
    }

    async fn entries(&self, afresh: bool) -> Result<Vec<Entry>, CalendarError> {
        let mut known = self.known.lock().await;
        if let Some(entries) = known.as_ref().filter(|_| !afresh) {
            return Ok(entries.clone());
        }
        let path = ["users", "me", "calendarList"];
        let mut entries = Vec::new();
        let mut next: Option<String> = None;
        loop {
            let mut call = Call::get(&path).with("maxResults", "250");
            if let Some(token) = next.take() {
                call = call.with("pageToken", token);
            }
            let page: CalendarList =
                self.transport.call(call).await.map_err(|failure| failure.error(false, "calendarList"))?;
            let full = page.items.is_empty();
            entries.extend(page.items);
            match page.next_page_token {
                Some(token) if !full => next = Some(token),
                Some(_) | None => break,
            }
        }
        *known = Some(entries.clone());
        Ok(entries)
    }

    async fn read(&self, calendar: &str, id: &str) -> Result<GoogleEvent, CalendarError> {
        let path = ["calendars", calendar, "events", id];
        self.transport.call(Call::get(&path)).await.map_err(|failure| failure.error(false, id))
    }

    fn event(&self, raw: &GoogleEvent, calendar: &str, id: &str) -> Result<Event, CalendarError> {
        raw.read(calendar, &self.zone)
            .ok_or_else(|| CalendarError::Refused { reason: format!("Google's event {id} has no start") })
    }

    /// The event where it is, or where somebody moved it to; one that was deleted is answered as cancelled.
    async fn locate(&self, calendar: &str, id: &str) -> Result<(String, GoogleEvent), CalendarError> {
        let here = match self.read(calendar, id).await {
            Ok(found) if found.status != "cancelled" => return Ok((calendar.to_owned(), found)),
            Ok(cancelled) => Some(cancelled),
            Err(CalendarError::NotFound { .. }) => None,
            Err(other) => return Err(other),
        };
        for entry in self.entries(false).await?.iter().filter(|entry| entry.writable()) {
            let other = entry.one_id();
            if entry.id == calendar || other == calendar {
                continue;
            }
            match self.read(&other, id).await {
                Ok(found) if found.status != "cancelled" => return Ok((other, found)),
                Ok(_) | Err(CalendarError::NotFound { .. } | CalendarError::Refused { .. }) => {}
                Err(other) => return Err(other),
            }
        }
        let cancelled = here.ok_or_else(|| CalendarError::NotFound { id: id.to_owned() })?;
        Ok((calendar.to_owned(), cancelled))
    }

    /// What a change is made to: the event, or one date of it, if the version is the one that the caller saw.
    async fn target(
        &self,
        calendar: &str,
        id: &str,
        occurrence: Option<&EventTime>,
        etag: Option<&str>,
    ) -> Result<(String, GoogleEvent), CalendarError> {
        let (calendar, series) = self.locate(calendar, id).await?;
        if series.status == "cancelled" {
            return Err(CalendarError::NotFound { id: id.to_owned() });
        }
        let wanted = match occurrence {
            None => series.clone(),
            Some(date) => self.instance(&calendar, id, date).await?,
        };
        // A date of a series may have been decided on by the series' version or by its own.
        if etag.is_some_and(|etag| etag != series.etag && etag != wanted.etag) {
            let current = self.event(&wanted, &calendar, id)?;
            return Err(CalendarError::Changed { current: Box::new(current) });
        }
        Ok((calendar, wanted))
    }

    /// Sends a change of `current`; `None` if another version stands there by now.
    async fn send<T: serde::de::DeserializeOwned>(
        &self,
        method: Method,
        calendar: &str,
        current: &GoogleEvent,
        body: Option<Value>,
        id: &str,
    ) -> Result<Option<T>, CalendarError> {
        let path = ["calendars", calendar, "events", current.id.as_str()];
        let call = Call {
            method,
            path: &path,
            query: vec![("sendUpdates", self.settings.send_updates.text().to_owned())],
            body,
            if_match: Some(current.etag.clone()).filter(|etag| !etag.is_empty()),
        };
        match self.transport.call(call).await {
            Ok(answer) => Ok(Some(answer)),
            Err(Failure::Refused(refusal)) if refusal.is_stale() => Ok(None),
            Err(failure) => Err(failure.error(true, id)),
        }
    }

    async fn lost_race(
        &self,
        calendar: &str,
        id: &str,
        occurrence: Option<&EventTime>,
    ) -> Result<CalendarError, CalendarError> {
        let (calendar, now) = self.target(calendar, id, occurrence, None).await?;
        Ok(CalendarError::Changed { current: Box::new(self.event(&now, &calendar, id)?) })
    }
}

fn busy() -> CalendarError {
    CalendarError::Unavailable { reason: "the event is being changed by others".into(), retry_after: None }
}

#[async_trait]
impl Calendar for GoogleCalendar {
    fn account(&self) -> AccountId {
        let user = if self.settings.user.is_empty() { &self.settings.calendar } else { &self.settings.user };
        AccountId::new(format!("google:{}", user.to_lowercase()))
    }

    fn backend(&self) -> &'static str {
        "google"
    }

    async fn calendars(&self) -> Result<Vec<CalendarInfo>, CalendarError> {
        let entries = self.entries(true).await?;
        let default = self.resolve(None).await.ok();
        let is_default = |entry: &Entry| default.as_deref() == Some(entry.one_id().as_str());
        let infos = entries.iter().map(|entry| CalendarInfo {
            id: entry.one_id(),
            name: entry.name().to_owned(),
            writable: entry.writable(),
            is_default: is_default(entry),
        });
        Ok(infos.collect())
    }

    async fn resolve(&self, name: Option<&str>) -> Result<String, CalendarError> {
        let configured = self.settings.calendar.trim();
        let name = name.map(str::trim).filter(|name| !name.is_empty()).unwrap_or(configured);
        // Google's own word for the main calendar; no list is needed for it.
        if name.is_empty() || name.eq_ignore_ascii_case("primary") {
            return Ok("primary".into());
        }
        let find = |entries: &[Entry]| {
            let same = |text: &str| text.to_lowercase() == name.to_lowercase();
            entries.iter().find(|entry| same(&entry.id) || same(entry.name())).map(Entry::one_id)
        };
        if let Some(found) = find(&self.entries(false).await?) {
            return Ok(found);
        }
        let entries = self.entries(true).await?;
        find(&entries).ok_or_else(|| {
            let known: Vec<&str> = entries.iter().map(Entry::name).collect();
            CalendarError::Refused {
                reason: format!("there is no calendar called {name}; there are: {}", known.join(", ")),
            }
        })
    }

    async fn list(&self, calendar: &str, from: Wall, to: Wall) -> Result<Vec<Event>, CalendarError> {
        let text = |wall: Wall| wall.timestamp().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let range = [("timeMin", text(from)), ("timeMax", text(to))];
        let failed = |failure: Failure| failure.error(false, calendar);
        let path = ["calendars", calendar, "events"];
        let mut query = range.to_vec();
        query.push(("singleEvents", "true".to_owned()));
        query.push(("orderBy", "startTime".to_owned()));
        let (items, _) = self.pages(&path, &query).await.map_err(failed)?;
        let mut rules: HashMap<String, String> = HashMap::new();
        if items.iter().any(|item| item.recurring_event_id.is_some()) {
            // Dates do not carry the rule of their series.
            let (series, _) = self.pages(&path, &range).await.map_err(failed)?;
            rules.extend(series.into_iter().filter_map(|item| Some((item.id.clone(), item.rule()?))));
        }
        let standing = items.iter().filter(|item| item.status != "cancelled");
        let events = standing.filter_map(|item| item.read(calendar, &self.zone)).map(|event| {
            let recurrence = event.recurrence.clone().or_else(|| rules.get(&event.id).cloned());
            Event { recurrence, ..event }
        });
        let mut events: Vec<Event> = events.collect();
        events.sort_by_cached_key(|event| event.start.instant(&self.zone));
        Ok(events)
    }

    async fn get(&self, calendar: &str, id: &str) -> Result<Event, CalendarError> {
        let (calendar, raw) = self.locate(calendar, id).await?;
        self.event(&raw, &calendar, id)
    }

    async fn create(&self, draft: &EventDraft) -> Result<Event, CalendarError> {
        let path = ["calendars", draft.calendar.as_str(), "events"];
        let call = Call {
            method: Method::POST,
            path: &path,
            query: vec![("sendUpdates", self.settings.send_updates.text().to_owned())],
            body: Some(json::draft(draft)),
            if_match: None,
        };
        match self.transport.call::<GoogleEvent>(call).await {
            Ok(created) => self.event(&created, &draft.calendar, &draft.id),
            // Whoever put it there, it has our id: read what it is, a cancelled one included.
            Err(Failure::Refused(refusal)) if refusal.is_duplicate() => {
                match self.get(&draft.calendar, &draft.id).await {
                    Ok(current) => Err(CalendarError::Exists { current: Box::new(current) }),
                    Err(CalendarError::NotFound { .. }) => Err(CalendarError::Unavailable {
                        reason: "Google refused the event as existing, but does not show it".into(),
                        retry_after: None,
                    }),
                    Err(other) => Err(other),
                }
            }
            Err(failure) => Err(failure.error(true, &draft.id)),
        }
    }

    async fn update(
        &self,
        calendar: &str,
        id: &str,
        occurrence: Option<&EventTime>,
        changes: &EventChanges,
        etag: Option<&str>,
    ) -> Result<Event, CalendarError> {
        if occurrence.is_some() && changes.recurrence.is_some() {
            return Err(CalendarError::Refused {
                reason: "one date of a series cannot have a recurrence of its own".into(),
            });
        }
        for _ in 0..TRIES {
            let (calendar, raw) = self.target(calendar, id, occurrence, etag).await?;
            let current = self.event(&raw, &calendar, id)?;
            let body = json::patch(changes, &current, &raw)
                .map_err(|error| CalendarError::Refused { reason: error.to_string() })?;
            let sent: Option<GoogleEvent> = self.send(Method::PATCH, &calendar, &raw, Some(body), id).await?;
            match sent {
                Some(changed) => return self.event(&changed, &calendar, id),
                None if etag.is_some() => return Err(self.lost_race(&calendar, id, occurrence).await?),
                None => {}
            }
        }
        Err(busy())
    }

    async fn delete(
        &self,
        calendar: &str,
        id: &str,
        occurrence: Option<&EventTime>,
        etag: Option<&str>,
    ) -> Result<(), CalendarError> {
        for _ in 0..TRIES {
            let (calendar, raw) = self.target(calendar, id, occurrence, etag).await?;
            let sent: Option<Value> = self.send(Method::DELETE, &calendar, &raw, None, id).await?;
            match sent {
                Some(_) => return Ok(()),
                None if etag.is_some() => return Err(self.lost_race(&calendar, id, occurrence).await?),
                None => {}
            }
        }
        Err(busy())
    }
}
