//! Targets that no owner wrote, configured or confirmed.

use rusqlite::Connection;

use crate::approvals;
use crate::domain::action::Action;
use crate::domain::address::identity_of;
use crate::domain::provenance::{TargetKind, TargetOrigin, TargetSource};
use crate::store::StoreError;

/// What the targets of an action come to.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Targets {
    /// Not to be trusted, with where they come from.
    pub untrusted: Vec<TargetOrigin>,
    /// Written or configured by an owner, to be remembered.
    pub trusted: Vec<(TargetKind, String, &'static str)>,
    /// Some recipient was never written to before.
    pub new_recipient: bool,
}

/// Weighs every recipient and guest of the action, and whatever else the caller names. Fails closed: a recipient whose
/// source nobody gave counts as unseen.
pub(super) fn weigh(
    connection: &Connection,
    action: &Action,
    provenance: &[TargetOrigin],
) -> Result<Targets, StoreError> {
    let mut out = Targets::default();
    let people: Vec<&String> = match action {
        Action::SendEmail(mail) => mail.to.iter().chain(&mail.cc).chain(&mail.bcc).collect(),
        Action::CreateEvent(event) => event.guests.iter().collect(),
        Action::UpdateEvent(update) => update.changes.guests.iter().flatten().collect(),
        Action::DeleteEvent(_) | Action::Other(_) => Vec::new(),
    };
    for person in &people {
        let identity = identity_of(person);
        let source = provenance
            .iter()
            .find(|origin| origin.kind == TargetKind::Mail && identity_of(&origin.target) == identity)
            .map(|origin| origin.source.clone())
            .unwrap_or(TargetSource::Unseen);
        let known = approvals::is_known(connection, TargetKind::Mail, person)?;
        out.new_recipient |= !known;
        // A guest that the model named by itself is a matter of the guests' policy. A mail's recipient is not: an address
        // that no owner ever wrote needs a person.
        if source == TargetSource::Model && !matches!(action, Action::SendEmail(_)) {
            continue;
        }
        place(&mut out, TargetOrigin { kind: TargetKind::Mail, target: (*person).clone(), source }, known);
    }
    for origin in provenance {
        let named = people
            .iter()
            .any(|person| origin.kind == TargetKind::Mail && identity_of(person) == identity_of(&origin.target));
        if !named {
            let known = approvals::is_known(connection, origin.kind, &origin.target)?;
            place(&mut out, origin.clone(), known);
        }
    }
    Ok(out)
}

fn place(out: &mut Targets, origin: TargetOrigin, known: bool) {
    match &origin.source {
        TargetSource::Owner => out.trusted.push((origin.kind, origin.target, "owner")),
        TargetSource::Configuration => out.trusted.push((origin.kind, origin.target, "configuration")),
        TargetSource::Untrusted { .. } | TargetSource::Unseen | TargetSource::Model if known => {}
        TargetSource::Untrusted { .. } | TargetSource::Unseen | TargetSource::Model => out.untrusted.push(origin),
    }
}
