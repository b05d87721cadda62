//! What only a person can start: doing a prevented duplicate anyway, and editing a draft.

use rusqlite::{OptionalExtension, Transaction, params};

use super::admit::run;
use super::error::GuardError;
use super::request::{AdmitRequest, ByPerson, Deps};
use crate::approvals::{self, Surface};
use crate::audit::{self, Actor, Entry, Kind};
use crate::domain::action::Action;
use crate::domain::effect::{DedupeClass, EffectState, Intent, Origin, Verdict};
use crate::domain::ids::{AccountId, ConversationId, EffectId, PreventedId};
use crate::domain::provenance::{TargetKind, TargetOrigin, TargetSource};
use crate::domain::time::Now;
use crate::domain::tool::{PolicyKey, ToolDeclaration, ToolKind, Waiting};
use crate::evidence::{self, EffectRow};

/// Who acts, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Person {
    pub surface: Surface,
    /// Within the surface, e.g. a Telegram user id; `owner` in the window.
    pub who: String,
}

/// Does a prevented duplicate after all. The act approves exactly the action that was shown; `deny` still wins, and one
/// that is under way or unresolved is not started beside.
pub async fn do_anyway(deps: &Deps, id: PreventedId, person: Person) -> Result<Verdict, GuardError> {
    let (action, intent, tool, account, target, conversation) =
        deps.store.read(move |connection| prevented(connection, id)).await?;
    let request = AdmitRequest {
        declaration: declaration(&action, &tool),
        target,
        account,
        intent,
        // One act per row: pressed twice, it is done once.
        origin: Origin::Person { act: format!("do_anyway:{id}") },
        conversation,
        stale_seconds: None,
        repeat: false,
        provenance: written_by_person(&action),
        action,
    };
    let by = ByPerson { approves: Some((person.surface, person.who)), replaces: None, prevented: Some(id) };
    run(deps, request, by, |_| Ok(())).await
}

/// A draft as a person changed it: a new effect with a new hash and a new card, linked to the old one. A draft that
/// still waits is withdrawn in the same transaction; a failed or unresolved mail stays as it is.
///
/// Errors: [`GuardError::Meets`] when the edited action is under way or done already; then nothing was changed.
pub async fn edit(deps: &Deps, effect: EffectId, action: Action, person: Person) -> Result<Verdict, GuardError> {
    let old = {
        let effect = effect.clone();
        deps.store.read(move |connection| evidence::load(connection, &effect).map_err(GuardError::from)).await?
    };
    let request = AdmitRequest {
        declaration: declaration(&action, &old.tool),
        target: old.target.clone(),
        account: old.account.clone(),
        intent: old.intent.clone(),
        origin: Origin::Person { act: format!("edit:{}:{}", old.id, deps.rules.ids.uuid()) },
        conversation: old.conversation,
        stale_seconds: old.intent.stale_seconds,
        repeat: old.repeat_of.is_some(),
        provenance: written_by_person(&action),
        action,
    };
    let by = ByPerson { approves: None, replaces: Some(effect.clone()), prevented: None };
    let (rules, clock) = (deps.rules.clone(), deps.clock.clone());
    run(deps, request, by, move |tx| withdraw(tx, clock.now(), &rules, &effect, &person)).await
}

/// Takes back what still waits, so that its edited form can be admitted beside it.
fn withdraw(
    tx: &Transaction<'_>,
    now: Now,
    rules: &approvals::Rules,
    effect: &EffectId,
    person: &Person,
) -> Result<(), GuardError> {
    let row: EffectRow = evidence::load(tx, effect)?;
    match row.state {
        EffectState::AwaitingApproval => {
            approvals::withdraw_edited(tx, now, rules, effect, &person.who, person.surface).map_err(GuardError::from)
        }
        EffectState::Rejected
        | EffectState::Unknown
        | EffectState::Cancelled
        | EffectState::Denied
        | EffectState::Expired => {
            let actor = Actor::Person(format!("{}:{}", person.surface.as_str(), person.who));
            let mut entry = Entry::new(Kind::ApprovalDecided, actor).of_effect(effect).detail("decision", "edited");
            entry.conversation = row.conversation;
            audit::append(tx, now, entry)?;
            Ok(())
        }
        EffectState::Ready
        | EffectState::Dispatching
        | EffectState::Retryable
        | EffectState::Accepted
        | EffectState::Reverted => Err(GuardError::NotEditable(effect.clone())),
    }
}

type Prevented = (Action, Intent, String, AccountId, String, Option<ConversationId>);

fn prevented(connection: &rusqlite::Connection, id: PreventedId) -> Result<Prevented, GuardError> {
    type Row = (String, String, String, AccountId, Option<EffectId>, Option<ConversationId>);
    let row: Option<Row> = connection
        .prepare_cached(
            "SELECT action, intent, tool, account, first_effect_id, conversation_id FROM prevented WHERE id = ?1",
        )?
        .query_row(params![id], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?))
        })
        .optional()?;
    let Some((action, intent, tool, account, first, conversation)) = row else {
        return Err(GuardError::NoSuchDuplicate(id));
    };
    let action: Action = serde_json::from_str(&action)?;
    let intent: Intent = serde_json::from_str(&intent)?;
    let target = match first {
        Some(first) => evidence::load(connection, &first)?.target,
        None => target_of(&action, &tool),
    };
    Ok((action, intent, tool, account, target, conversation))
}

fn target_of(action: &Action, tool: &str) -> String {
    match action {
        Action::CreateEvent(_) | Action::UpdateEvent(_) | Action::DeleteEvent(_) => "calendar".to_owned(),
        Action::SendEmail(_) => "mail".to_owned(),
        // External tools are called server__tool.
        Action::Other(_) => format!("mcp:{}", tool.split_once("__").map_or(tool, |(server, _)| server)),
    }
}

/// What the action itself says of its tool.
fn declaration(action: &Action, tool: &str) -> ToolDeclaration {
    let (policy, waiting, dedupe, identity) = match action {
        Action::CreateEvent(_) => (PolicyKey::CalendarCreate, Waiting::Outcome, DedupeClass::ClientId, Vec::new()),
        Action::UpdateEvent(_) => (PolicyKey::CalendarUpdate, Waiting::Outcome, DedupeClass::Readable, Vec::new()),
        Action::DeleteEvent(_) => (PolicyKey::CalendarDelete, Waiting::Outcome, DedupeClass::Readable, Vec::new()),
        Action::SendEmail(_) => (PolicyKey::MailSend, Waiting::Queued, DedupeClass::Readable, Vec::new()),
        Action::Other(other) => {
            (PolicyKey::Other, Waiting::Queued, DedupeClass::Neither, other.identity_fields.clone())
        }
    };
    ToolDeclaration { name: tool.to_owned(), kind: ToolKind::Effect, identity, window: None, policy, dedupe, waiting }
}

/// A person saw and wrote every target of it.
fn written_by_person(action: &Action) -> Vec<TargetOrigin> {
    let people: Vec<&String> = match action {
        Action::SendEmail(mail) => mail.to.iter().chain(&mail.cc).chain(&mail.bcc).collect(),
        Action::CreateEvent(event) => event.guests.iter().collect(),
        Action::UpdateEvent(update) => update.changes.guests.iter().flatten().collect(),
        Action::DeleteEvent(_) | Action::Other(_) => Vec::new(),
    };
    people
        .into_iter()
        .map(|target| TargetOrigin { kind: TargetKind::Mail, target: target.clone(), source: TargetSource::Owner })
        .collect()
}
