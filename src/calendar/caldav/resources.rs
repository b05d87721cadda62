//! Single events on the server: where they are, what they hold, in which version.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use http::{Method, Request};
use jiff::tz::TimeZone;
use libdav::dav::{Delete, PutResource};

use super::errors::{Intent, refusal};
use super::home::{Collection, Server, is_conflict};
use super::requests::{EventQuery, Wanted};
use crate::calendar::ics::{Component, Series, parse_calendar, read_series};
use crate::domain::calendar::Event;
use crate::domain::ports::CalendarError;
use crate::runtime::hash::sha256_hex;

const CALENDAR_DATA: &str = "text/calendar; charset=utf-8";

/// An event as it stands on the server.
pub struct Resource {
    pub href: String,
    /// Empty if the server names none.
    pub etag: String,
    pub data: Component,
    pub series: Series,
}

impl Resource {
    pub fn event(&self, id: &str) -> Result<Event, CalendarError> {
        self.series.event().cloned().ok_or_else(|| CalendarError::NotFound { id: id.to_owned() })
    }

    fn read(href: &str, etag: &str, text: &str, id: &str, calendar: &str, home: &TimeZone) -> Option<Self> {
        let data = parse_calendar(text).ok()?;
        let series = read_series(&data, Some(id), home).ok()?.placed(calendar, etag);
        Some(Self { href: href.to_owned(), etag: etag.to_owned(), data, series })
    }
}

/// What became of a conditional PUT.
pub enum Put {
    /// Stored; true if the server says that the resource is new.
    Stored { created: bool },
    /// Something stands there, or another version does.
    Conflict,
}

/// Where events with a given UID were last seen.
#[derive(Default)]
pub struct Places(Mutex<HashMap<(String, String), String>>);

impl Places {
    pub fn remember(&self, collection: &str, id: &str, href: &str) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert((collection.to_owned(), id.to_owned()), href.to_owned());
    }

    fn get(&self, collection: &str, id: &str) -> Option<String> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&(collection.to_owned(), id.to_owned())).cloned()
    }

    fn forget(&self, collection: &str, id: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&(collection.to_owned(), id.to_owned()));
    }
}

/// Path that an event has when we put it there: our ids are path segments by construction, others are hashed.
pub fn own_href(collection: &str, id: &str) -> String {
    let plain = !id.is_empty()
        && id.len() <= 128
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.@".contains(&byte));
    let name = if plain { id.to_owned() } else { sha256_hex(id) };
    format!("{}/{name}.ics", collection.trim_end_matches('/'))
}

impl Server {
    pub fn collection(&self, calendar: &str) -> Option<&Collection> {
        self.collections.iter().find(|known| known.href.trim_end_matches('/') == calendar.trim_end_matches('/'))
    }

    /// The event `id`: where it was last seen, under its own name, by its UID; then in the user's other calendars,
    /// because somebody may have moved it.
    pub async fn locate(
        &self,
        calendar: &str,
        id: &str,
        places: &Places,
        home: &TimeZone,
    ) -> Result<Resource, CalendarError> {
        if let Some(found) = self.locate_in(calendar, id, places, home).await? {
            return Ok(found);
        }
        for other in &self.collections {
            if other.href.trim_end_matches('/') != calendar.trim_end_matches('/')
                && let Some(found) = self.locate_in(&other.href, id, places, home).await?
            {
                return Ok(found);
            }
        }
        Err(CalendarError::NotFound { id: id.to_owned() })
    }

    pub async fn locate_in(
        &self,
        calendar: &str,
        id: &str,
        places: &Places,
        home: &TimeZone,
    ) -> Result<Option<Resource>, CalendarError> {
        let mut candidates: Vec<String> = places.get(calendar, id).into_iter().collect();
        let own = own_href(calendar, id);
        if !candidates.contains(&own) {
            candidates.push(own);
        }
        for href in candidates {
            if let Some(found) = self.read(&href, calendar, id, home).await? {
                return Ok(Some(found));
            }
        }
        places.forget(calendar, id);
        let query = EventQuery { collection: calendar, wanted: Wanted::Uid(id) };
        let answer = match self.run(&query, Intent::Read, id).await {
            Ok(answer) => answer,
            Err(CalendarError::NotFound { .. }) => return Ok(None),
            Err(other) => return Err(other),
        };
        for resource in answer.resources {
            let Ok(content) = resource.content else { continue };
            let read = Resource::read(&resource.href, &content.etag, &content.data, id, calendar, home);
            if let Some(found) = read {
                places.remember(calendar, id, &found.href);
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The resource at `href`, if it is there and holds the event `id`.
    async fn read(
        &self,
        href: &str,
        calendar: &str,
        id: &str,
        home: &TimeZone,
    ) -> Result<Option<Resource>, CalendarError> {
        let uri = self.client.relative_uri(href).map_err(bad_href)?;
        let request = Request::builder().method(Method::GET).uri(uri).body(String::new()).map_err(bad_href)?;
        let (parts, body) = self.raw(request, Intent::Read).await?;
        if !parts.status.is_success() {
            return match refusal(&parts, &body, Intent::Read, id) {
                CalendarError::NotFound { .. } => Ok(None),
                other => Err(other),
            };
        }
        let etag = parts.headers.get(http::header::ETAG).and_then(|value| value.to_str().ok()).unwrap_or_default();
        Ok(Resource::read(href, etag, &String::from_utf8_lossy(&body), id, calendar, home))
    }

    /// PUT of something new.
    pub async fn put_new(&self, href: &str, data: &str, id: &str) -> Result<Put, CalendarError> {
        self.put(&PutResource::new(href).create(data, CALENDAR_DATA), id).await
    }

    /// PUT of the next version of what was read as `etag`.
    pub async fn put_next(&self, href: &str, data: &str, etag: &str, id: &str) -> Result<Put, CalendarError> {
        self.put(&PutResource::new(href).update(data, CALENDAR_DATA, etag), id).await
    }

    async fn put<R: libdav::requests::DavRequest>(&self, request: &R, id: &str) -> Result<Put, CalendarError> {
        let (parts, body) = self.send(request, Intent::Write).await?;
        if parts.status.is_success() {
            return Ok(Put::Stored { created: parts.status == http::StatusCode::CREATED });
        }
        // RFC 4791, section 5.3.2.1: a UID that is in use is 403 or 409 with this condition.
        if is_conflict(parts.status) || String::from_utf8_lossy(&body).contains("no-uid-conflict") {
            return Ok(Put::Conflict);
        }
        Err(refusal(&parts, &body, Intent::Write, id))
    }

    /// False if another version stands there.
    pub async fn remove(&self, href: &str, etag: &str, id: &str) -> Result<bool, CalendarError> {
        let (parts, body) = self.send(&Delete::new(href).with_etag(etag), Intent::Write).await?;
        if parts.status.is_success() {
            return Ok(true);
        }
        if is_conflict(parts.status) { Ok(false) } else { Err(refusal(&parts, &body, Intent::Write, id)) }
    }
}

fn bad_href(error: http::Error) -> CalendarError {
    CalendarError::Refused { reason: format!("the server names an event by an unusable address: {error}") }
}
