//! Acts of the person at the window, each through the stage that owns it, durable before it is answered.

use super::desk::Desk;
use super::snapshot;
use super::wire::{Answer as Word, Decided, Decision, Failure, FailureCode, Stopped};
use crate::approvals::{self, Surface};
use crate::domain::action::{Action, CreateEvent, DeleteEvent};
use crate::domain::calendar::EventTime;
use crate::domain::conversation::{Address, ChannelKind, ConversationKind};
use crate::domain::effect::{DedupeClass, Intent, Origin, Verdict};
use crate::domain::ids::{ApprovalId, ConversationId, EffectId, OutboundId, PreventedId};
use crate::domain::message::{InputKind, Media, NewInput, Parts};
use crate::domain::tool::{PolicyKey, ToolDeclaration, ToolKind, Waiting};
use crate::domain::when;
use crate::evidence;
use crate::guard::{self, AdmitRequest, Person};
use crate::outbox;
use crate::store::{Durability, StoreError, meta};

/// Who acts here: whoever sits at this computer.
const WHO: &str = "window";
/// Session of the window's own conversation.
const SESSION: &str = "window";

type Answer<T> = Result<T, Failure>;

impl Desk {
    fn person(&self) -> Person {
        Person { surface: Surface::Window, who: "owner".to_owned() }
    }

    /// Makes sure that the window's own conversation is there to be shown and written to.
    pub async fn ready(&self) -> Answer<()> {
        let now = self.0.guard.clock.now().wall;
        self.store()
            .write("window.ready", Durability::Normal, move |tx| {
                tx.execute(
                    "INSERT INTO conversations (channel, account, contact, thread, kind, title, created_at)
                     VALUES ('window', 'local', ?1, '', 'private', '', ?2)
                     ON CONFLICT (channel, account, contact, thread) DO NOTHING",
                    rusqlite::params![SESSION, now],
                )?;
                Ok::<_, StoreError>(())
            })
            .await
            .map_err(Failure::from)
    }

    /// Hands a message to the inbox; it is stored when this returns.
    pub async fn send_message(&self, text: String, files: Vec<Media>) -> Answer<()> {
        let address = window_address();
        self.submit(address, ConversationKind::Private, text, files).await
    }

    async fn submit(&self, address: Address, kind: ConversationKind, text: String, media: Vec<Media>) -> Answer<()> {
        let ids = &self.0.guard.rules.ids;
        let input = NewInput {
            address: Some(address),
            conversation_kind: kind,
            conversation_title: String::new(),
            kind: InputKind::Message,
            dedupe_key: format!("window:{}", ids.uuid()),
            external_id: None,
            sender_id: WHO.to_owned(),
            sender_name: String::new(),
            owner: true,
            text,
            parts: Parts { media, ..Parts::default() },
            sent_at: self.0.guard.clock.now().wall,
        };
        self.0.ingress.submit(input).await?;
        Ok(())
    }

    /// Stops what a conversation is doing, as `/stop` said there by its owner.
    pub async fn stop(&self, conversation: String) -> Answer<Stopped> {
        let id: ConversationId = conversation.parse().map_err(|_| Failure::not_found())?;
        let address = self.store().read(move |connection| Ok::<_, Failure>(address_of(connection, id)?)).await?;
        let (address, kind) = address.ok_or_else(Failure::not_found)?;
        self.submit(address, kind, "/stop".to_owned(), Vec::new()).await?;
        let text = self.0.language.pick("Stopped. What is done stays done.", "Detenido. Lo hecho, hecho está.");
        Ok(Stopped { text: text.to_owned() })
    }

    pub async fn send_again(&self, outbound: String) -> Answer<()> {
        let id: OutboundId = outbound.parse().map_err(|_| Failure::not_found())?;
        let now = self.0.guard.clock.now();
        let again = self
            .store()
            .write("outbox.send_again", Durability::Full, move |tx| outbox::send_again(tx, now, id, WHO))
            .await
            .map_err(Failure::from)?;
        again.map(|_| ()).ok_or_else(|| Failure::new(FailureCode::AlreadySettled, ""))
    }

    /// Decides an approval; the first decision anywhere wins.
    pub async fn decide_by(&self, id: &str, decision: Decision, surface: Surface) -> Answer<Decided> {
        let approval: ApprovalId = id.parse().map_err(|_| Failure::not_found())?;
        let decision = match decision {
            Decision::Approve => approvals::Decision::Approve,
            Decision::Deny => approvals::Decision::Deny,
        };
        let guard = &self.0.guard;
        approvals::decide_now(&guard.store, &guard.clock, &guard.rules, approval, decision, "owner", surface).await?;
        let row = self.approval(id.to_owned()).await?.row;
        Ok(Decided { state: row.state, hold_until: row.hold_until })
    }

    /// The button of a notification.
    pub async fn decide_in_notification(&self, id: &str, decision: Decision) -> Answer<Decided> {
        self.decide_by(id, decision, Surface::Notification).await
    }

    pub(super) async fn edit(&self, id: &str, action: Action) -> Answer<String> {
        let approval: ApprovalId = id.parse().map_err(|_| Failure::not_found())?;
        let effect = self
            .store()
            .read(move |connection| Ok::<_, Failure>(approvals::load(connection, approval)?.effect))
            .await?;
        let action = self.resolved(action)?;
        match guard::edit(&self.0.guard, effect, action, self.person()).await? {
            Verdict::NeedsApproval { approval, .. } => Ok(approval.to_string()),
            Verdict::Pending { approval: Some(approval), .. } => Ok(approval.to_string()),
            verdict => {
                Err(Failure::new(FailureCode::AlreadySettled, guard::words::for_person(&verdict, self.0.language)))
            }
        }
    }

    /// Times that a person typed have no offset yet: they are in the event's zone.
    fn resolved(&self, action: Action) -> Answer<Action> {
        let Action::CreateEvent(event) = action else { return Ok(action) };
        let start = self.resolved_time(event.start)?;
        let end = event.end.map(|end| self.resolved_time(end)).transpose()?;
        Ok(Action::CreateEvent(CreateEvent { start, end, ..event }))
    }

    fn resolved_time(&self, time: EventTime) -> Answer<EventTime> {
        match &time {
            EventTime::Timed { at, zone } if at.parse::<jiff::Timestamp>().is_err() => {
                let zone = jiff::tz::TimeZone::get(zone)
                    .map_err(|error| Failure::new(FailureCode::Invalid, error.to_string()))?;
                let resolved =
                    when::resolve(at, &zone).map_err(|error| Failure::new(FailureCode::Invalid, error.to_string()))?;
                Ok(resolved.time)
            }
            EventTime::Timed { .. } | EventTime::Date { .. } => Ok(time),
        }
    }

    pub async fn ask_again(&self, id: String) -> Answer<String> {
        let approval: ApprovalId = id.parse().map_err(|_| Failure::not_found())?;
        let (now, rules) = (self.0.guard.clock.now(), self.0.guard.rules.clone());
        let fresh = self
            .store()
            .write("approvals.ask_again", Durability::Full, move |tx| {
                approvals::ask_again(tx, now, &rules, approval, WHO)
            })
            .await?;
        Ok(fresh.to_string())
    }

    /// Takes back what has not left.
    pub async fn undo(&self, effect: String) -> Answer<()> {
        let (effect, now) = (EffectId::new(effect), self.0.guard.clock.now());
        let settings = self.0.guard.rules.evidence.clone();
        self.store()
            .write("evidence.cancel", Durability::Full, move |tx| evidence::cancel(tx, now, &settings, &effect, WHO))
            .await?;
        Ok(())
    }

    pub async fn resolve(&self, id: String, answer: Word) -> Answer<()> {
        let resolution = match answer {
            Word::Sent => evidence::Resolution::Sent,
            Word::NotSent => evidence::Resolution::NotSent,
            Word::Drop => evidence::Resolution::Drop,
            Word::Leave => evidence::Resolution::Leave,
        };
        let (effect, now) = (EffectId::new(id), self.0.guard.clock.now());
        let settings = self.0.guard.rules.evidence.clone();
        self.store()
            .write("evidence.resolve", Durability::Full, move |tx| {
                evidence::resolve(tx, now, &settings, &effect, resolution, WHO)
            })
            .await?;
        Ok(())
    }

    /// Looks for evidence of an unknown outcome now instead of at its next due time.
    pub async fn check_again(&self, id: String) -> Answer<()> {
        let (effect, now) = (EffectId::new(id), self.0.guard.clock.now());
        let changed = self
            .store()
            .write("evidence.check_again", Durability::Normal, move |tx| {
                let changed = tx.execute(
                    "UPDATE effects SET next_attempt_elapsed = ?2, next_attempt_at = ?3 WHERE id = ?1 AND state = 'unknown'",
                    rusqlite::params![effect, now.elapsed, now.wall],
                )?;
                Ok::<_, StoreError>(changed)
            })
            .await
            .map_err(Failure::from)?;
        if changed == 0 { Err(Failure::new(FailureCode::AlreadySettled, "")) } else { Ok(()) }
    }

    /// A second occurrence on purpose; the effect that carries it.
    pub async fn do_anyway(&self, id: String) -> Answer<String> {
        let prevented: PreventedId = id.parse().map_err(|_| Failure::not_found())?;
        match guard::do_anyway(&self.0.guard, prevented, self.person()).await? {
            Verdict::Admitted { effect } | Verdict::NeedsApproval { effect, .. } => Ok(effect.as_str().to_owned()),
            verdict => {
                Err(Failure::new(FailureCode::AlreadySettled, guard::words::for_person(&verdict, self.0.language)))
            }
        }
    }

    /// Undoes an event that the agent made: a deletion of its own, asked for and approved by this act.
    pub async fn undo_event(&self, effect: String) -> Answer<()> {
        let id = EffectId::new(effect);
        let made = {
            let id = id.clone();
            self.store().read(move |connection| Ok::<_, Failure>(evidence::load(connection, &id)?)).await?
        };
        let (Action::CreateEvent(event), Some(event_id)) = (&made.action, &made.provider_id) else {
            return Err(Failure::new(FailureCode::Invalid, ""));
        };
        let action = Action::DeleteEvent(DeleteEvent {
            calendar: event.calendar.clone(),
            event_id: event_id.clone(),
            occurrence: None,
            title: event.title.clone(),
            start: Some(event.start.clone()),
        });
        let request = AdmitRequest {
            action,
            declaration: ToolDeclaration {
                name: "delete_event".to_owned(),
                kind: ToolKind::Effect,
                identity: Vec::new(),
                window: None,
                policy: PolicyKey::CalendarDelete,
                dedupe: DedupeClass::Readable,
                waiting: Waiting::Outcome,
            },
            account: made.account.clone(),
            target: made.target.clone(),
            intent: Intent {
                tool: "delete_event".to_owned(),
                request: made.intent.request.clone(),
                ..Intent::default()
            },
            origin: Origin::Person { act: format!("undo_event:{id}") },
            conversation: made.conversation,
            stale_seconds: None,
            repeat: false,
            provenance: Vec::new(),
        };
        match guard::admit(&self.0.guard, request).await? {
            Verdict::Admitted { .. } => Ok(()),
            // The press of "undo" is the person's OK.
            Verdict::NeedsApproval { approval, .. } | Verdict::Pending { approval: Some(approval), .. } => {
                self.decide_by(&approval.to_string(), Decision::Approve, Surface::Window).await.map(|_| ())
            }
            verdict => {
                Err(Failure::new(FailureCode::AlreadySettled, guard::words::for_person(&verdict, self.0.language)))
            }
        }
    }

    pub async fn dismiss_away(&self) -> Answer<()> {
        self.remember(snapshot::AWAY_SEEN).await
    }

    pub async fn finish_first_start(&self) -> Answer<()> {
        self.remember(snapshot::FIRST_START_DONE).await
    }

    async fn remember(&self, key: &'static str) -> Answer<()> {
        let value = self.0.guard.clock.now().wall.0;
        self.store()
            .write("window.meta", Durability::Normal, move |tx| meta::set(tx, key, &value))
            .await
            .map_err(Failure::from)
    }
}

pub(super) fn window_address() -> Address {
    Address {
        channel: ChannelKind::Window,
        account: "local".to_owned(),
        contact: SESSION.to_owned(),
        thread: String::new(),
    }
}

fn address_of(
    connection: &rusqlite::Connection,
    id: ConversationId,
) -> Result<Option<(Address, ConversationKind)>, StoreError> {
    use rusqlite::OptionalExtension;
    let found = connection
        .prepare_cached("SELECT channel, account, contact, thread, kind FROM conversations WHERE id = ?1")?
        .query_row([id], |row| {
            let channel: String = row.get(0)?;
            let kind: String = row.get(4)?;
            Ok((channel, row.get(1)?, row.get(2)?, row.get(3)?, kind))
        })
        .optional()?;
    Ok(found.and_then(|(channel, account, contact, thread, kind)| {
        let channel = ChannelKind::ALL.into_iter().find(|one| one.as_str() == channel)?;
        let kind = if kind == "group" { ConversationKind::Group } else { ConversationKind::Private };
        Some((Address { channel, account, contact, thread }, kind))
    }))
}
