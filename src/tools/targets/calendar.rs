//! Calendar effects: created with an id of our own, changed and deleted by comparing before and after.
//!
//! The id comes from the exact key, so the same call creates the same id however often it is tried, and a server that
//! refuses a second event with it proves that the first one stands. A cancelled event is not a done one.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::domain::action::{Action, CreateEvent, DeleteEvent, EventChanges, UpdateEvent};
use crate::domain::calendar::{Event, EventDraft, EventTime};
use crate::domain::effect::{DedupeClass, Dispatch, Found, Outcome, Performed, Receipt, ReceiptSource};
use crate::domain::ids::ExactKey;
use crate::domain::mail::FrozenMail;
use crate::domain::ports::{Calendar, CalendarError, EffectTarget};
use crate::domain::time::{Now, Wall};
use crate::domain::when;
use crate::runtime::failpoint;

/// Performs calendar effects on one calendar account.
pub struct CalendarTarget {
    calendar: Arc<dyn Calendar>,
}

impl CalendarTarget {
    pub fn new(calendar: Arc<dyn Calendar>) -> Self {
        Self { calendar }
    }
}

/// The event id of an effect: 160 bits of its key in lower-case base32hex, which is valid as UID, as file name and as an
/// id of Google Calendar (<https://developers.google.com/workspace/calendar/api/v3/reference/events/insert>).
pub fn event_id(key: &ExactKey) -> String {
    const DIGITS: &[u8; 32] = b"0123456789abcdefghijklmnopqrstuv";
    let hash = Sha256::digest(format!("unavez event {key}"));
    let mut id = String::with_capacity(32);
    // 20 bytes are 32 groups of 5 bits without a rest.
    for five in hash[..20].chunks(5) {
        let bits = five.iter().fold(0_u64, |bits, byte| bits << 8 | u64::from(*byte));
        for group in (0..8).rev() {
            id.push(char::from(DIGITS[((bits >> (5 * group)) & 31) as usize]));
        }
    }
    id
}

#[async_trait]
impl EffectTarget for CalendarTarget {
    fn dedupe(&self) -> DedupeClass {
        DedupeClass::ClientId
    }

    fn freeze(&self, _dispatch: &Dispatch, _now: Now) -> Result<Option<FrozenMail>, String> {
        Ok(None)
    }

    async fn perform(&self, dispatch: &Dispatch) -> Performed {
        if let Err(failed) = failpoint::hit("calendar.before_request") {
            return retryable(failed.to_string(), None);
        }
        let performed = match &dispatch.action {
            Action::CreateEvent(event) => self.create(&dispatch.key, event).await,
            Action::UpdateEvent(update) => self.update(update).await,
            Action::DeleteEvent(delete) => self.delete(delete, dispatch.epoch).await,
            Action::SendEmail(_) | Action::Other(_) => rejected("this is no calendar action".to_owned()),
        };
        match failpoint::hit("calendar.after_reply") {
            Ok(()) => performed,
            Err(failed) => unknown(failed.to_string()),
        }
    }

    async fn reconcile(&self, dispatch: &Dispatch) -> Found {
        match &dispatch.action {
            Action::CreateEvent(event) => self.created(&dispatch.key, event).await,
            Action::UpdateEvent(update) => self.updated(update).await,
            Action::DeleteEvent(delete) => self.deleted(delete).await,
            Action::SendEmail(_) | Action::Other(_) => Found::CannotTell,
        }
    }
}

impl CalendarTarget {
    async fn create(&self, key: &ExactKey, event: &CreateEvent) -> Performed {
        let end = match when::settle_end(&event.start, event.end.as_ref()) {
            Ok(end) => end,
            Err(error) => return rejected(error.to_string()),
        };
        let draft = EventDraft {
            id: event_id(key),
            calendar: event.calendar.clone(),
            title: event.title.clone(),
            start: event.start.clone(),
            end,
            location: event.location.clone(),
            description: event.description.clone(),
            guests: event.guests.clone(),
            recurrence: event.recurrence.clone(),
            reminders: event.reminders.clone(),
        };
        match self.calendar.create(&draft).await {
            Ok(created) => accepted(&created, ReceiptSource::Provider),
            Err(CalendarError::Exists { current }) if current.cancelled => {
                rejected("this event was created and has been cancelled since".to_owned())
            }
            Err(CalendarError::Exists { current }) => accepted(&current, ReceiptSource::Found),
            Err(error) => failed(error),
        }
    }

    async fn created(&self, key: &ExactKey, event: &CreateEvent) -> Found {
        match self.calendar.get(&event.calendar, &event_id(key)).await {
            Ok(found) if found.cancelled => absent("the event was created and has been cancelled since"),
            Ok(found) => Found::Yes { receipt: receipt(&found, ReceiptSource::Found) },
            // Trying again with the same id is refused by the server if the first request arrives after all.
            Err(CalendarError::NotFound { .. }) => absent("no event with our id"),
            Err(error) => unreachable(error),
        }
    }

    async fn update(&self, update: &UpdateEvent) -> Performed {
        let current = match self.find(&update.calendar, &update.event_id, update.occurrence.as_ref()).await {
            Ok(Some(current)) => current,
            Ok(None) => return rejected("there is no such event any more".to_owned()),
            Err(error) => return before_leaving(error),
        };
        if applied(&current, &update.changes) {
            return accepted(&current, ReceiptSource::Found);
        }
        let occurrence = update.occurrence.as_ref();
        let etag = Some(current.etag.as_str());
        match self.calendar.update(&update.calendar, &update.event_id, occurrence, &update.changes, etag).await {
            Ok(changed) => accepted(&changed, ReceiptSource::Provider),
            Err(CalendarError::Changed { current }) if applied(&current, &update.changes) => {
                accepted(&current, ReceiptSource::Found)
            }
            // Somebody changed something else meanwhile; the next attempt starts from what stands then.
            Err(CalendarError::Changed { .. }) => {
                retryable("the event was changed by someone else meanwhile".to_owned(), Some(Duration::from_secs(1)))
            }
            Err(CalendarError::NotFound { .. }) => rejected("there is no such event any more".to_owned()),
            Err(error) => failed(error),
        }
    }

    async fn updated(&self, update: &UpdateEvent) -> Found {
        match self.find(&update.calendar, &update.event_id, update.occurrence.as_ref()).await {
            Ok(Some(current)) if applied(&current, &update.changes) => {
                Found::Yes { receipt: receipt(&current, ReceiptSource::Found) }
            }
            // The change carries the old version's tag: should it arrive late, a repeated one has invalidated it.
            Ok(Some(_)) => absent("the event stands as it was"),
            Ok(None) => absent("there is no such event any more"),
            Err(error) => unreachable(error),
        }
    }

    async fn delete(&self, delete: &DeleteEvent, epoch: i64) -> Performed {
        let occurrence = delete.occurrence.as_ref();
        let current = match self.find(&delete.calendar, &delete.event_id, occurrence).await {
            Ok(Some(current)) => current,
            // A later attempt finds its own work; a first one finds somebody else's.
            Ok(None) if epoch > 1 => return deleted_receipt(delete, ReceiptSource::Found),
            Ok(None) => return rejected("there is no such event any more".to_owned()),
            Err(error) => return before_leaving(error),
        };
        let etag = Some(current.etag.as_str());
        match self.calendar.delete(&delete.calendar, &delete.event_id, occurrence, etag).await {
            Ok(()) => deleted_receipt(delete, ReceiptSource::Provider),
            Err(CalendarError::NotFound { .. }) => deleted_receipt(delete, ReceiptSource::Found),
            Err(CalendarError::Changed { .. }) => {
                retryable("the event was changed by someone else meanwhile".to_owned(), Some(Duration::from_secs(1)))
            }
            Err(error) => failed(error),
        }
    }

    async fn deleted(&self, delete: &DeleteEvent) -> Found {
        match self.find(&delete.calendar, &delete.event_id, delete.occurrence.as_ref()).await {
            Ok(None) => Found::Yes {
                receipt: Receipt {
                    source: ReceiptSource::Found,
                    provider_id: Some(delete.event_id.clone()),
                    detail: json!({ "deleted": true }),
                },
            },
            Ok(Some(_)) => absent("the event still stands"),
            Err(error) => unreachable(error),
        }
    }

    /// The event, or one date of it; `None` when it is gone or cancelled.
    async fn find(
        &self,
        calendar: &str,
        id: &str,
        occurrence: Option<&EventTime>,
    ) -> Result<Option<Event>, CalendarError> {
        let event = match self.calendar.get(calendar, id).await {
            Ok(event) if event.cancelled => return Ok(None),
            Ok(event) => event,
            Err(CalendarError::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let Some(occurrence) = occurrence else { return Ok(Some(event)) };
        // A moved date may lie anywhere near its place in the series.
        let zone = jiff::tz::TimeZone::UTC;
        let Some(at) = occurrence.instant(&zone) else { return Ok(None) };
        let at = Wall::from(at);
        const NEAR: i64 = 370 * 86_400_000;
        let dates = self.calendar.list(calendar, Wall(at.0 - NEAR), Wall(at.0 + NEAR)).await?;
        Ok(dates
            .into_iter()
            .find(|date| {
                date.id == id && !date.cancelled && date.occurrence.as_ref().is_some_and(|o| when::names(occurrence, o))
            })
            // The tag that guards the change is the series' own.
            .map(|date| Event { etag: event.etag.clone(), ..date }))
    }
}

/// Everything that was to change stands so.
fn applied(event: &Event, changes: &EventChanges) -> bool {
    let text = |wanted: &Option<String>, found: Option<&String>| {
        wanted.as_ref().is_none_or(|wanted| wanted.trim() == found.map_or("", |found| found.trim()))
    };
    let time =
        |wanted: &Option<EventTime>, found: &EventTime| wanted.as_ref().is_none_or(|wanted| when::same(wanted, found));
    let guests = |wanted: &Option<Vec<String>>| {
        wanted.as_ref().is_none_or(|wanted| {
            let sorted = |list: &[String]| {
                let mut list: Vec<String> =
                    list.iter().map(|guest| crate::domain::address::identity_of(guest)).collect();
                list.sort();
                list
            };
            sorted(wanted) == sorted(&event.guests)
        })
    };
    let rule = changes.recurrence.as_ref().is_none_or(|wanted| {
        let canonical = |rule: &str| when::canonical_rule_from(rule, &event.start).unwrap_or_else(|_| rule.to_owned());
        match (wanted.trim(), event.recurrence.as_deref()) {
            ("", found) => found.is_none(),
            (wanted, Some(found)) => canonical(wanted) == canonical(found),
            (_, None) => false,
        }
    });
    text(&changes.title, Some(&event.title))
        && time(&changes.start, &event.start)
        && time(&changes.end, &event.end)
        && text(&changes.location, event.location.as_ref())
        && text(&changes.description, event.description.as_ref())
        && guests(&changes.guests)
        && rule
        && changes.reminders.as_ref().is_none_or(|wanted| *wanted == event.reminders)
}

fn receipt(event: &Event, source: ReceiptSource) -> Receipt {
    Receipt {
        source,
        provider_id: Some(event.id.clone()),
        detail: json!({ "etag": event.etag, "calendar": event.calendar }),
    }
}

fn accepted(event: &Event, source: ReceiptSource) -> Performed {
    done(Outcome::Accepted { receipt: receipt(event, source) }, "done")
}

fn deleted_receipt(delete: &DeleteEvent, source: ReceiptSource) -> Performed {
    let receipt = Receipt { source, provider_id: Some(delete.event_id.clone()), detail: json!({ "deleted": true }) };
    done(Outcome::Accepted { receipt }, "done")
}

fn rejected(reason: String) -> Performed {
    done(Outcome::Rejected { reason }, "request")
}

fn retryable(reason: String, retry_after: Option<Duration>) -> Performed {
    done(Outcome::Retryable { reason, retry_after, greylisted: false }, "connect")
}

fn unknown(reason: String) -> Performed {
    done(Outcome::Unknown { reason }, "request")
}

fn done(outcome: Outcome, phase: &str) -> Performed {
    Performed { outcome, phase: phase.to_owned(), reply: None, recipients: Vec::new(), provider_id: None }
}

/// A read before the change failed: nothing left.
fn before_leaving(error: CalendarError) -> Performed {
    match error {
        CalendarError::NoAnswer { reason } => retryable(reason, None),
        other => failed(other),
    }
}

fn failed(error: CalendarError) -> Performed {
    match error {
        CalendarError::Unavailable { reason, retry_after } => retryable(reason, retry_after),
        CalendarError::NoAnswer { reason } => unknown(reason),
        CalendarError::Unauthorized { reason } => retryable(reason, None),
        CalendarError::Refused { reason } => rejected(reason),
        CalendarError::NotFound { .. } | CalendarError::Changed { .. } | CalendarError::Exists { .. } => {
            rejected(error.to_string())
        }
    }
}

fn absent(detail: &str) -> Found {
    Found::No { authoritative: true, detail: detail.to_owned() }
}

fn unreachable(error: CalendarError) -> Found {
    Found::Unreachable { reason: error.to_string() }
}
