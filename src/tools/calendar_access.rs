//! The calendar as tools use it: errors become results that the model can act on.

use std::sync::Arc;

use super::context::ToolResult;
use crate::domain::calendar::Event;
use crate::domain::ids::AccountId;
use crate::domain::ports::{Calendar, CalendarError};
use crate::domain::time::Wall;

/// Cheap to clone.
#[derive(Clone)]
pub struct CalendarAccess(Arc<dyn Calendar>);

impl CalendarAccess {
    pub fn new(calendar: Arc<dyn Calendar>) -> Self {
        Self(calendar)
    }

    pub fn account(&self) -> AccountId {
        self.0.account()
    }

    /// Id of the calendar called `name`, or of the default one.
    pub async fn resolve(&self, name: Option<&str>) -> Result<String, ToolResult> {
        let name = name.map(str::trim).filter(|name| !name.is_empty());
        match self.0.resolve(name).await {
            Ok(id) => Ok(id),
            Err(CalendarError::NotFound { .. } | CalendarError::Refused { .. }) if name.is_some() => {
                let names: Vec<String> = match self.0.calendars().await {
                    Ok(calendars) => calendars.into_iter().map(|calendar| calendar.name).collect(),
                    Err(error) => return Err(result(&error)),
                };
                let message = format!(
                    "there is no calendar called {:?}; there are: {}",
                    name.unwrap_or_default(),
                    names.join(", ")
                );
                Err(ToolResult::error("unknown_calendar", message))
            }
            Err(error) => Err(result(&error)),
        }
    }

    pub async fn get(&self, calendar: &str, id: &str) -> Result<Event, ToolResult> {
        match self.0.get(calendar, id).await {
            Ok(event) if event.cancelled => Err(gone(id)),
            Ok(event) => Ok(event),
            Err(CalendarError::NotFound { .. }) => Err(gone(id)),
            Err(error) => Err(result(&error)),
        }
    }

    pub async fn list(&self, calendar: &str, from: Wall, to: Wall) -> Result<Vec<Event>, ToolResult> {
        self.0.list(calendar, from, to).await.map_err(|error| result(&error))
    }
}

fn gone(id: &str) -> ToolResult {
    ToolResult::error("not_found", format!("there is no event with id {id:?} (any more); list_events gives the ids"))
}

fn result(error: &CalendarError) -> ToolResult {
    let code = match error {
        CalendarError::Unavailable { .. } | CalendarError::NoAnswer { .. } => "calendar_unavailable",
        CalendarError::Unauthorized { .. } => "calendar_sign_in",
        CalendarError::NotFound { .. } => "not_found",
        CalendarError::Refused { .. } | CalendarError::Changed { .. } | CalendarError::Exists { .. } => "refused",
    };
    ToolResult::error(code, format!("{error}; nothing was changed"))
}
