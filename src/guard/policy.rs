//! Policy, pure: whether a fresh action is done, asked, or refused.

use crate::approvals::Policies;
use crate::domain::action::Action;
use crate::domain::effect::Mark;
use crate::domain::tool::{Policy, PolicyKey};

/// What the marks and settings come to. `deny` always wins; a mark can only make a person look, never let pass.
pub(super) fn decide(policies: &Policies, key: PolicyKey, action: &Action, marks: &[Mark]) -> Policy {
    let base = policies.of(key);
    if base == Policy::Deny {
        return Policy::Deny;
    }
    let base = if names_guests(action) {
        match (key, policies.calendar_create_with_guests) {
            (_, Policy::Deny) => return Policy::Deny,
            // Creating with guests has a setting of its own.
            (PolicyKey::CalendarCreate, with_guests) => with_guests,
            (_, Policy::Ask) => Policy::Ask,
            (_, Policy::Auto) => base,
        }
    } else {
        base
    };
    let forces = marks.iter().any(|mark| match mark {
        Mark::UntrustedTarget | Mark::Stale | Mark::NearDuplicate | Mark::Repeat => true,
        // What they warn of is decided by the policy itself.
        Mark::NewRecipient | Mark::Guests => false,
    });
    if forces { Policy::Ask } else { base }
}

pub(super) fn names_guests(action: &Action) -> bool {
    match action {
        Action::CreateEvent(event) => !event.guests.is_empty(),
        Action::UpdateEvent(update) => update.changes.guests.as_ref().is_some_and(|guests| !guests.is_empty()),
        Action::DeleteEvent(_) | Action::SendEmail(_) | Action::Other(_) => false,
    }
}

/// An old request needs a person, except a new event without guests that still lies ahead: that can be undone.
pub(super) fn stale_needs_person(action: &Action, now: jiff::Timestamp, zone: &jiff::tz::TimeZone) -> bool {
    match action {
        Action::CreateEvent(event) => {
            !event.guests.is_empty() || event.start.instant(zone).is_none_or(|start| start <= now)
        }
        Action::UpdateEvent(_) | Action::DeleteEvent(_) | Action::SendEmail(_) | Action::Other(_) => true,
    }
}
