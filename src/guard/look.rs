//! Looking at the calendar itself: before creating, and before an event is called done.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;

use super::normalise::{line, title};
use super::settings::Settings;
use crate::domain::action::{Action, CreateEvent, EventChanges};
use crate::domain::calendar::{Event, EventTime};
use crate::domain::ids::EffectId;
use crate::domain::ports::{Calendar, CalendarError};
use crate::domain::time::Wall;
use crate::domain::when;
use crate::evidence::EffectRow;

/// What reading the event of an earlier effect showed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ReadBack {
    /// As we left it.
    Same,
    /// Deleted, by whomever.
    Gone,
    /// Moved or renamed, or it stands again after a deletion.
    Changed,
    Unreachable,
}

/// What was looked at so far in one admission.
#[derive(Clone, Debug, Default)]
pub(super) struct Looks {
    pub reads: BTreeMap<EffectId, ReadBack>,
    /// `Some(None)`: looked (or could not), nothing stands there.
    pub exists: Option<Option<Event>>,
}

/// True for actions whose earlier effect can be read in a calendar.
pub(super) fn is_readable(action: &Action) -> bool {
    matches!(action, Action::CreateEvent(_) | Action::UpdateEvent(_) | Action::DeleteEvent(_))
}

/// Reads the event behind an accepted effect.
pub(super) async fn read_back(calendar: &Arc<dyn Calendar>, settings: &Settings, row: &EffectRow) -> ReadBack {
    let (name, id) = match &row.action {
        Action::CreateEvent(event) => match &row.provider_id {
            Some(id) => (&event.calendar, id),
            None => return ReadBack::Unreachable,
        },
        Action::UpdateEvent(update) => (&update.calendar, &update.event_id),
        Action::DeleteEvent(delete) => (&delete.calendar, &delete.event_id),
        Action::SendEmail(_) | Action::Other(_) => return ReadBack::Unreachable,
    };
    let read = tokio::time::timeout(settings.look_timeout, calendar.get(name, id)).await;
    let stands = match read {
        Ok(Ok(event)) if event.cancelled => None,
        Ok(Ok(event)) => Some(event),
        Ok(Err(CalendarError::NotFound { .. })) => None,
        Ok(Err(error)) => {
            tracing::debug!(%error, "an event could not be read before answering duplicate");
            return ReadBack::Unreachable;
        }
        Err(_) => return ReadBack::Unreachable,
    };
    match (&row.action, stands) {
        (Action::CreateEvent(made), Some(event)) => as_we_left_it(same_event(made, &event)),
        (Action::UpdateEvent(update), Some(event)) => {
            as_we_left_it(update.occurrence.is_some() || holds(&update.changes, &event))
        }
        (Action::CreateEvent(_) | Action::UpdateEvent(_), None) => ReadBack::Gone,
        (Action::DeleteEvent(_), None) => ReadBack::Same,
        // One date of a series was deleted: the series stands, and the date cannot be told from here.
        (Action::DeleteEvent(delete), Some(_)) => as_we_left_it(delete.occurrence.is_some()),
        (Action::SendEmail(_) | Action::Other(_), _) => ReadBack::Unreachable,
    }
}

fn as_we_left_it(same: bool) -> ReadBack {
    if same { ReadBack::Same } else { ReadBack::Changed }
}

fn same_event(made: &CreateEvent, event: &Event) -> bool {
    title(&made.title) == title(&event.title) && when::same(&made.start, &event.start)
}

/// What the update set is still so.
fn holds(changes: &EventChanges, event: &Event) -> bool {
    let time = |wanted: &Option<EventTime>, is: &EventTime| wanted.as_ref().is_none_or(|wanted| when::same(wanted, is));
    changes.title.as_ref().is_none_or(|wanted| title(wanted) == title(&event.title))
        && time(&changes.start, &event.start)
        && time(&changes.end, &event.end)
        && changes
            .location
            .as_ref()
            .is_none_or(|wanted| line(wanted) == line(event.location.as_deref().unwrap_or_default()))
}

/// An event with the same title and start that stands in the calendar, whoever made it. Series count by each of their
/// occurrences. An unreachable calendar shows nothing.
pub(super) async fn look_for(calendar: &Arc<dyn Calendar>, settings: &Settings, wanted: &CreateEvent) -> Option<Event> {
    let (from, to) = span(&wanted.start, &settings.zone)?;
    let found = match tokio::time::timeout(settings.look_timeout, calendar.list(&wanted.calendar, from, to)).await {
        Ok(Ok(events)) => events,
        Ok(Err(error)) => {
            tracing::debug!(%error, "the calendar could not be looked at before creating");
            return None;
        }
        Err(_) => return None,
    };
    found.into_iter().find(|event| {
        let start =
            event.occurrence.as_ref().filter(|_| !when::same(&event.start, &wanted.start)).unwrap_or(&event.start);
        !event.cancelled
            && title(&event.title) == title(&wanted.title)
            && event.start.is_date() == wanted.start.is_date()
            && when::same(start, &wanted.start)
    })
}

/// The minute, or the day, in which it begins.
fn span(start: &EventTime, zone: &TimeZone) -> Option<(Wall, Wall)> {
    let from = Wall::from(start.instant(zone)?);
    let length = if start.is_date() { Duration::from_secs(24 * 3600) } else { Duration::from_secs(60) };
    Some((from, from.plus(length)))
}
