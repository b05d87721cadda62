//! The tools that every installation has, in the order the model sees them.

use std::sync::Arc;

use super::calendar_access::CalendarAccess;
use super::effects::Effects;
use super::registry::Tool;
use super::{
    create_event, delete_event, facts, find_free_time, list_events, message, recent_actions, schedule, update_event,
};
use crate::domain::ports::{Calendar, Clock};
use crate::outbox::{self, Channels};
use crate::store::Store;

/// What the built-in tools need.
#[derive(Clone)]
pub struct BuiltinDeps {
    pub store: Store,
    pub clock: Arc<dyn Clock>,
    pub effects: Effects,
    /// No calendar: no calendar tools.
    pub calendar: Option<Arc<dyn Calendar>>,
    pub channels: Channels,
    pub outbox: outbox::Settings,
}

/// Message, calendar, ledger, schedules and memory. Mail and external tools are added by the composition.
pub fn builtin(deps: BuiltinDeps) -> Vec<Arc<dyn Tool>> {
    let mut tools = vec![message::tool(deps.store.clone(), deps.clock.clone(), deps.channels, deps.outbox)];
    if let Some(calendar) = deps.calendar {
        let calendar = CalendarAccess::new(calendar);
        tools.push(create_event::tool(calendar.clone(), deps.effects.clone()));
        tools.push(list_events::tool(calendar.clone()));
        tools.push(find_free_time::tool(calendar.clone()));
        tools.push(update_event::tool(calendar.clone(), deps.effects.clone()));
        tools.push(delete_event::tool(calendar, deps.effects));
    }
    tools.push(recent_actions::tool(deps.store.clone(), deps.clock.clone()));
    tools.extend(schedule::schedule_tools(&deps.store, &deps.clock));
    tools.extend(facts::memory_tools(&deps.store, &deps.clock));
    tools
}
