//! The port on a CalDAV account.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use async_trait::async_trait;
use jiff::tz::TimeZone;
use tokio::sync::Mutex;

use super::errors::Intent;
use super::home::{Server, last_part};
use super::requests::{EventQuery, Wanted};
use super::resources::{Places, Put, Resource, own_href};
use super::settings::Settings;
use crate::calendar::ics::{
    ChangeError, Component, Series, Stamp, apply, draft_calendar, exclude_occurrence, override_occurrence,
    parse_calendar, series_of,
};
use crate::calendar::intake::Intake;
use crate::calendar::recurrence;
use crate::domain::action::EventChanges;
use crate::domain::calendar::{CalendarInfo, Event, EventDraft, EventTime};
use crate::domain::ids::AccountId;
use crate::domain::ports::{Calendar, CalendarError, CalendarWarning, Clock};
use crate::domain::time::Wall;

/// Reads and writes again when somebody else changes the event in between and any version will do.
const TRIES: u32 = 3;

/// An account on a CalDAV server. Connects when first needed.
pub struct CalDavCalendar {
    pub(super) settings: Settings,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) zone: TimeZone,
    pub(super) places: Places,
    server: Mutex<Option<Server>>,
    ids: AtomicU8,
}

/// Whether the server refuses a second event under one name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ids {
    NotKnown,
    Honoured,
    Ignored,
}

impl CalDavCalendar {
    pub fn new(settings: Settings, clock: Arc<dyn Clock>, zone: TimeZone) -> Self {
        Self { settings, clock, zone, places: Places::default(), server: Mutex::new(None), ids: AtomicU8::new(0) }
    }

    /// What is known of the server's respect for `If-None-Match`, from its own answers.
    pub fn ids(&self) -> Ids {
        match self.ids.load(Ordering::Relaxed) {
            1 => Ids::Honoured,
            2 => Ids::Ignored,
            _not_seen => Ids::NotKnown,
        }
    }

    pub(super) fn saw_ids(&self, ids: Ids) {
        let value = match ids {
            Ids::NotKnown => return,
            Ids::Honoured => 1,
            Ids::Ignored => 2,
        };
        // One proof of being ignored outweighs any number of polite answers.
        self.ids.fetch_max(value, Ordering::Relaxed);
    }

    pub(super) async fn server(&self) -> Result<Server, CalendarError> {
        let mut known = self.server.lock().await;
        if let Some(server) = known.as_ref() {
            return Ok(server.clone());
        }
        let server = Server::discover(&self.settings).await?;
        *known = Some(server.clone());
        Ok(server)
    }

    async fn rediscover(&self) -> Result<Server, CalendarError> {
        *self.server.lock().await = None;
        self.server().await
    }

    pub(super) fn stamp(&self) -> Stamp {
        Stamp { now: self.clock.now().wall.timestamp(), organizer: self.settings.organizer() }
    }

    fn default_calendar(&self, server: &Server) -> Result<String, CalendarError> {
        let wanted = self.settings.calendar.trim();
        if !wanted.is_empty() {
            return find(server, wanted).ok_or_else(|| unknown(server, wanted));
        }
        let at_address = server.collections.iter().find(|known| known.href == server.client.base_url.path());
        let writable = || server.collections.iter().find(|known| known.writable);
        let chosen = at_address.or_else(writable);
        chosen
            .map(|collection| collection.href.clone())
            .ok_or_else(|| CalendarError::Refused { reason: "this account has no calendar that can be written".into() })
    }

    /// Reads, changes and writes the event's data, keeping everything else in it.
    async fn change(
        &self,
        calendar: &str,
        id: &str,
        etag: Option<&str>,
        change: impl Fn(&mut Component, &Stamp, &TimeZone) -> Result<(), ChangeError> + Send + Sync,
    ) -> Result<Resource, CalendarError> {
        let server = self.server().await?;
        for _ in 0..TRIES {
            let current = self.read_version(&server, calendar, id, etag).await?;
            let mut data = current.data.clone();
            change(&mut data, &self.stamp(), &self.zone).map_err(|error| change_error(id, error))?;
            match server.put_next(&current.href, &data.print(), &current.etag, id).await? {
                Put::Stored { .. } => return self.read_back(&server, current, data, id).await,
                Put::Conflict => {}
            }
            if etag.is_some() {
                let now = server.locate(calendar, id, &self.places, &self.zone).await?;
                return Err(CalendarError::Changed { current: Box::new(now.event(id)?) });
            }
        }
        Err(CalendarError::Unavailable { reason: "the event is being changed by others".into(), retry_after: None })
    }

    /// The event, if it is there in the version that the caller saw.
    async fn read_version(
        &self,
        server: &Server,
        calendar: &str,
        id: &str,
        etag: Option<&str>,
    ) -> Result<Resource, CalendarError> {
        let current = server.locate(calendar, id, &self.places, &self.zone).await?;
        if etag.is_some_and(|etag| etag != current.etag) {
            return Err(CalendarError::Changed { current: Box::new(current.event(id)?) });
        }
        if current.etag.is_empty() {
            return Err(CalendarError::Refused {
                reason: "the server gives no version for the event, so a change could undo somebody else's".into(),
            });
        }
        Ok(current)
    }

    /// What was stored; if it cannot be read just now, what was sent: it is never sent again for that.
    async fn read_back(
        &self,
        server: &Server,
        before: Resource,
        sent: Component,
        id: &str,
    ) -> Result<Resource, CalendarError> {
        let calendar = before.series.event().map(|event| event.calendar.clone()).unwrap_or_default();
        match server.locate_in(&calendar, id, &self.places, &self.zone).await {
            Ok(Some(stored)) => Ok(stored),
            Ok(None) | Err(_) => {
                let series = crate::calendar::ics::read_series(&sent, Some(id), &self.zone)
                    .map_err(|error| CalendarError::Refused { reason: error.to_string() })?
                    .placed(&calendar, "");
                Ok(Resource { href: before.href, etag: String::new(), data: sent, series })
            }
        }
    }

    /// Stores new data under the event's own name. The error names the event that stands there.
    pub(super) async fn put_new(&self, calendar: &str, id: &str, data: &Component) -> Result<Event, CalendarError> {
        let server = self.server().await?;
        let href = own_href(calendar, id);
        if self.ids() != Ids::Honoured
            && let Some(standing) = server.locate_in(calendar, id, &self.places, &self.zone).await?
        {
            return Err(CalendarError::Exists { current: Box::new(standing.event(id)?) });
        }
        let text = data.print();
        match server.put_new(&href, &text, id).await? {
            Put::Stored { created } => {
                // A success that is not "created" may have replaced something: the same bytes once more show it.
                if !created && self.ids() == Ids::NotKnown {
                    match server.put_new(&href, &text, id).await {
                        Ok(Put::Conflict) => self.saw_ids(Ids::Honoured),
                        Ok(Put::Stored { .. }) => self.saw_ids(Ids::Ignored),
                        Err(error) => tracing::debug!(%error, "whether the server honours ids is still open"),
                    }
                }
                let series = crate::calendar::ics::read_series(data, Some(id), &self.zone)
                    .map_err(|error| CalendarError::Refused { reason: error.to_string() })?
                    .placed(calendar, "");
                let sent = Resource { href, etag: String::new(), data: data.clone(), series };
                self.read_back(&server, sent, data.clone(), id).await?.event(id)
            }
            Put::Conflict => {
                let standing = match server.locate(calendar, id, &self.places, &self.zone).await {
                    Ok(standing) => standing,
                    Err(CalendarError::NotFound { .. }) => {
                        return Err(CalendarError::Unavailable {
                            reason: "the server refused the event as existing, but it is not there".into(),
                            retry_after: None,
                        });
                    }
                    Err(other) => return Err(other),
                };
                self.saw_ids(Ids::Honoured);
                Err(CalendarError::Exists { current: Box::new(standing.event(id)?) })
            }
        }
    }
}

#[async_trait]
impl Calendar for CalDavCalendar {
    fn account(&self) -> AccountId {
        let url = self.settings.url.trim();
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        let host = rest.split('/').next().unwrap_or(rest);
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        AccountId::new(format!("caldav:{}@{}", self.settings.user, host.to_lowercase()))
    }

    fn backend(&self) -> &'static str {
        "caldav"
    }

    fn warnings(&self) -> Vec<CalendarWarning> {
        match self.ids() {
            Ids::Ignored => vec![CalendarWarning::IdsIgnored],
            Ids::Honoured | Ids::NotKnown => Vec::new(),
        }
    }

    async fn calendars(&self) -> Result<Vec<CalendarInfo>, CalendarError> {
        let server = self.rediscover().await?;
        let default = self.default_calendar(&server).ok();
        let infos = server.collections.iter().map(|collection| CalendarInfo {
            id: collection.href.clone(),
            name: collection.name.clone(),
            writable: collection.writable,
            is_default: default.as_ref() == Some(&collection.href),
        });
        Ok(infos.collect())
    }

    async fn resolve(&self, name: Option<&str>) -> Result<String, CalendarError> {
        let server = self.server().await?;
        let Some(name) = name.map(str::trim).filter(|name| !name.is_empty()) else {
            return self.default_calendar(&server);
        };
        if let Some(found) = find(&server, name) {
            return Ok(found);
        }
        let server = self.rediscover().await?;
        find(&server, name).ok_or_else(|| unknown(&server, name))
    }

    async fn list(&self, calendar: &str, from: Wall, to: Wall) -> Result<Vec<Event>, CalendarError> {
        let server = self.server().await?;
        // A day of slack on both sides: servers place all-day and floating events in a zone of their own.
        let day = std::time::Duration::from_secs(86_400);
        let text = |wall: Wall| wall.timestamp().strftime("%Y%m%dT%H%M%SZ").to_string();
        let start = text(Wall(from.0.saturating_sub(86_400_000)));
        let query =
            EventQuery { collection: calendar, wanted: Wanted::Between { start: &start, end: &text(to.plus(day)) } };
        let answer = server.run(&query, Intent::Read, calendar).await?;
        let mut events = Vec::new();
        for resource in answer.resources {
            let Ok(content) = resource.content else { continue };
            let Ok(data) = parse_calendar(&content.data) else {
                tracing::warn!(href = resource.href, "an event that cannot be read is left out of a list");
                continue;
            };
            for series in series_of(&data, &self.zone).0 {
                self.places.remember(calendar, &series.id, &resource.href);
                let series = series.placed(calendar, &content.etag);
                events.extend(recurrence::occurrences(&series, from.timestamp(), to.timestamp(), &self.zone));
            }
        }
        events.sort_by_cached_key(|event| event.start.instant(&self.zone));
        Ok(events)
    }

    async fn get(&self, calendar: &str, id: &str) -> Result<Event, CalendarError> {
        let server = self.server().await?;
        server.locate(calendar, id, &self.places, &self.zone).await?.event(id)
    }

    async fn create(&self, draft: &EventDraft) -> Result<Event, CalendarError> {
        let stamp = self.stamp();
        let data = draft_calendar(draft, stamp.organizer.as_deref(), &stamp);
        self.put_new(&draft.calendar, &draft.id, &data).await
    }

    async fn update(
        &self,
        calendar: &str,
        id: &str,
        occurrence: Option<&EventTime>,
        changes: &EventChanges,
        etag: Option<&str>,
    ) -> Result<Event, CalendarError> {
        let stored = self
            .change(calendar, id, etag, |data, stamp, home| match occurrence {
                None => apply(data, id, changes, stamp, home),
                Some(date) => override_occurrence(data, id, date, changes, stamp, home),
            })
            .await?;
        match occurrence {
            None => stored.event(id),
            Some(date) => recurrence::event_at(&stored.series, date, &self.zone)
                .ok_or_else(|| CalendarError::NotFound { id: id.to_owned() }),
        }
    }

    async fn delete(
        &self,
        calendar: &str,
        id: &str,
        occurrence: Option<&EventTime>,
        etag: Option<&str>,
    ) -> Result<(), CalendarError> {
        if let Some(date) = occurrence {
            self.change(calendar, id, etag, |data, stamp, home| exclude_occurrence(data, id, date, stamp, home))
                .await?;
            return Ok(());
        }
        let server = self.server().await?;
        for _ in 0..TRIES {
            let current = self.read_version(&server, calendar, id, etag).await?;
            if server.remove(&current.href, &current.etag, id).await? {
                return Ok(());
            }
            if etag.is_some() {
                let now = server.locate(calendar, id, &self.places, &self.zone).await?;
                return Err(CalendarError::Changed { current: Box::new(now.event(id)?) });
            }
        }
        Err(CalendarError::Unavailable { reason: "the event is being changed by others".into(), retry_after: None })
    }
}

#[async_trait]
impl Intake for CalDavCalendar {
    async fn take(&self, calendar: &str, data: &Component, series: &Series) -> Result<(), CalendarError> {
        self.put_new(calendar, &series.id, data).await.map(|_| ())
    }
}

/// By path, display name or last part of the path.
fn find(server: &Server, name: &str) -> Option<String> {
    let same = |text: &str| text.to_lowercase() == name.to_lowercase();
    let by_path = server.collection(name);
    let by_name = || server.collections.iter().find(|known| same(&known.name));
    let by_part = || server.collections.iter().find(|known| same(last_part(&known.href)));
    by_path.or_else(by_name).or_else(by_part).map(|collection| collection.href.clone())
}

fn unknown(server: &Server, name: &str) -> CalendarError {
    let known: Vec<&str> = server.collections.iter().map(|collection| collection.name.as_str()).collect();
    CalendarError::Refused { reason: format!("there is no calendar called {name}; there are: {}", known.join(", ")) }
}

fn change_error(id: &str, error: ChangeError) -> CalendarError {
    match error {
        ChangeError::NoOccurrence { .. } => CalendarError::NotFound { id: id.to_owned() },
        ChangeError::Ics(_) | ChangeError::When(_) | ChangeError::RecurrenceOfOccurrence => {
            CalendarError::Refused { reason: error.to_string() }
        }
    }
}
