//! What changed on the server since last time (RFC 6578).

use std::collections::HashSet;

use libdav::caldav::GetCalendarResources;
use libdav::dav::{SyncCollection, SyncCollectionParseError};
use libdav::requests::DavRequest;

use super::calendar::CalDavCalendar;
use super::errors::{Intent, refusal};
use super::home::Server;
use crate::calendar::ics::{Series, parse_calendar, series_of};
use crate::domain::ports::CalendarError;

/// Events named per request.
const PER_FETCH: usize = 100;
/// From here on the whole calendar comes in one request: servers look named events up one by one.
const MANY: usize = 500;

/// Changes of one calendar, and the token to ask with next.
#[derive(Clone, PartialEq, Debug)]
pub struct Synced {
    pub token: String,
    pub changed: Vec<SyncedEvent>,
    /// Paths of events that are gone.
    pub gone: Vec<String>,
    /// The token was too old: everything is listed, and what is not listed is gone.
    pub restarted: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub struct SyncedEvent {
    pub href: String,
    pub series: Series,
}

impl CalDavCalendar {
    /// Changes of `calendar` since `token`; everything without one, or when the server no longer knows it.
    pub async fn sync(&self, calendar: &str, token: Option<&str>) -> Result<Synced, CalendarError> {
        let server = self.server().await?;
        let mut request = SyncCollection::new(calendar);
        if let Some(token) = token {
            request = request.with_sync_token(token);
        }
        let (parts, body) = server.send(&request, Intent::Read).await?;
        let (answer, restarted) = match request.parse_response(&parts, &body) {
            Ok(answer) => (answer, false),
            Err(error) => {
                let expired = matches!(error, SyncCollectionParseError::PreconditionFailed(_));
                // Servers also answer 409, 410 or 412 to a token they do not know.
                if token.is_none() || !(expired || matches!(parts.status.as_u16(), 403 | 409 | 410 | 412)) {
                    return Err(if parts.status.is_success() {
                        CalendarError::Unavailable { reason: error.to_string(), retry_after: None }
                    } else {
                        refusal(&parts, &body, Intent::Read, calendar)
                    });
                }
                (server.run(&SyncCollection::new(calendar), Intent::Read, calendar).await?, true)
            }
        };
        let hrefs: Vec<String> = answer.changed.into_iter().map(|resource| resource.href).collect();
        let mut changed = Vec::new();
        if hrefs.len() > MANY {
            let wanted: HashSet<&String> = hrefs.iter().collect();
            changed = self.fetch(&server, calendar, GetCalendarResources::new(calendar)).await?;
            // What changed since the list was made is listed again next time.
            changed.retain(|event| wanted.contains(&event.href));
        } else {
            for some in hrefs.chunks(PER_FETCH) {
                let named = GetCalendarResources::new(calendar).with_hrefs(some);
                changed.extend(self.fetch(&server, calendar, named).await?);
            }
        }
        Ok(Synced { token: answer.new_sync_token, changed, gone: answer.deleted, restarted })
    }

    async fn fetch(
        &self,
        server: &Server,
        calendar: &str,
        request: GetCalendarResources<'_>,
    ) -> Result<Vec<SyncedEvent>, CalendarError> {
        let answer = server.run(&request, Intent::Read, calendar).await?;
        let mut events = Vec::new();
        for resource in answer.resources {
            // Gone again since the list was made.
            let Ok(content) = resource.content else { continue };
            let Ok(data) = parse_calendar(&content.data) else {
                tracing::warn!(href = resource.href, "an event that cannot be read is left out of a sync");
                continue;
            };
            for series in series_of(&data, &self.zone).0 {
                self.places.remember(calendar, &series.id, &resource.href);
                let series = series.placed(calendar, &content.etag);
                events.push(SyncedEvent { href: resource.href.clone(), series });
            }
        }
        Ok(events)
    }
}
