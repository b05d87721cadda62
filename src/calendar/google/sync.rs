//! Pages of events, and what changed since last time
//! (<https://developers.google.com/workspace/calendar/api/guides/sync>).

use serde::Deserialize;

use super::calendar::GoogleCalendar;
use super::json::GoogleEvent;
use super::transport::{Call, Failure};
use crate::domain::calendar::Event;
use crate::domain::ports::CalendarError;

/// The most that Google puts on a page.
const PER_PAGE: &str = "2500";
/// A server that names the same next page for ever is not followed further.
const MOST_PAGES: usize = 200;

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Page {
    items: Vec<GoogleEvent>,
    next_page_token: Option<String>,
    next_sync_token: Option<String>,
}

/// Changes of one calendar, and the token to ask with next.
#[derive(Clone, PartialEq, Debug)]
pub struct GoogleSynced {
    /// `None` if Google gave none: then everything is asked for next time.
    pub token: Option<String>,
    pub changed: Vec<Event>,
    /// Ids of events that are gone; of one date of a series, its own id.
    pub gone: Vec<String>,
    /// The token was too old: everything is listed, and what is not listed is gone.
    pub restarted: bool,
}

impl GoogleCalendar {
    /// Changes of `calendar` since `token`; everything without one, or when Google no longer knows it.
    pub async fn sync(&self, calendar: &str, token: Option<&str>) -> Result<GoogleSynced, CalendarError> {
        let path = ["calendars", calendar, "events"];
        let given = token.map(|token| ("syncToken", token.to_owned()));
        let (items, next, restarted) = match self.pages(&path, given.as_slice()).await {
            Ok((items, next)) => (items, next, false),
            Err(Failure::Refused(refusal)) if token.is_some() && refusal.wants_full_sync() => {
                let (items, next) = self.pages(&path, &[]).await.map_err(|failure| failure.error(false, calendar))?;
                (items, next, true)
            }
            Err(failure) => return Err(failure.error(false, calendar)),
        };
        let (gone, standing): (Vec<_>, Vec<_>) = items.into_iter().partition(|item| item.status == "cancelled");
        Ok(GoogleSynced {
            token: next,
            changed: standing.iter().filter_map(|item| item.read(calendar, &self.zone)).collect(),
            gone: gone.into_iter().map(|item| item.id).collect(),
            restarted,
        })
    }

    /// All pages of a list, and the sync token of the last.
    pub(super) async fn pages(
        &self,
        path: &[&str],
        query: &[(&'static str, String)],
    ) -> Result<(Vec<GoogleEvent>, Option<String>), Failure> {
        let mut items = Vec::new();
        let mut next: Option<String> = None;
        for _ in 0..MOST_PAGES {
            let mut call = Call::get(path).with("maxResults", PER_PAGE);
            call.query.extend_from_slice(query);
            if let Some(token) = next.take() {
                call = call.with("pageToken", token);
            }
            let page: Page = self.transport.call(call).await?;
            items.extend(page.items);
            match page.next_page_token {
                Some(token) => next = Some(token),
                None => return Ok((items, page.next_sync_token)),
            }
        }
        Err(Failure::Other(CalendarError::Unavailable {
            reason: "Google's list of events does not end".into(),
            retry_after: None,
        }))
    }
}
