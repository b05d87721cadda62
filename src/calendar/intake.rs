//! Taking over events from another calendar with everything they hold.

use async_trait::async_trait;

use super::ics::{Component, Series};
use crate::domain::ports::CalendarError;

/// An account that whole events can be moved to.
#[async_trait]
pub trait Intake: Send + Sync {
    /// Stores the event or series under its own id. `Exists` when it stands there already, so that an interrupted move
    /// can be made again.
    async fn take(&self, calendar: &str, data: &Component, series: &Series) -> Result<(), CalendarError>;
}
