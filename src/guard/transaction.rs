//! Admission in one transaction: read, judge, decide by policy, insert, and store the verdict under the exact key.

use rusqlite::{OptionalExtension, Transaction, params};
use serde_json::{Value, json};

use super::differences::differences;
use super::error::GuardError;
use super::judge::{Judgement, judge};
use super::key::{exact_key, fault_key};
use super::look::{Looks, ReadBack, is_readable};
use super::near;
use super::normalise::{NORMALISATION, Normalised, normalise};
use super::policy;
use super::prevented::{self, Why, turn_of};
use super::provenance;
use super::request::{AdmitRequest, ByPerson};
use super::settings::Settings;
use super::standing::{Standing, standing};
use crate::approvals::{self, Notes, Rules};
use crate::audit::{self, Actor, Entry, Kind};
use crate::domain::action::Action;
use crate::domain::calendar::Event;
use crate::domain::effect::{Difference, Mark, Origin, Receipt, ReceiptSource, Verdict};
use crate::domain::ids::{EffectId, ExactKey};
use crate::domain::time::Now;
use crate::domain::tool::{Policy, Waiting};
use crate::evidence::{self, Birth, EffectRow, NewEffect};
use crate::outbox;
use crate::store::StoreError;

/// What the transaction came to.
#[derive(Debug)]
pub(super) enum Step {
    Settled(Box<Verdict>),
    /// The same action is being done right now: try again when it has ended. Nothing may be committed.
    Wait,
    /// Its event must be read first. Nothing may be committed.
    Read(Box<EffectRow>),
    /// The calendar must be looked at first. Nothing may be committed.
    Look,
}

/// Everything beside the transaction itself.
pub(super) struct Admission<'a> {
    pub now: Now,
    pub settings: &'a Settings,
    pub rules: &'a Rules,
    pub mail_saves_only: bool,
    pub request: &'a AdmitRequest,
    pub person: &'a ByPerson,
    pub normalised: &'a Normalised,
    /// The account's calendar can be looked at.
    pub can_look: bool,
    pub looks: &'a Looks,
    /// Time is left to wait for an action in flight.
    pub patient: bool,
}

/// Why a fresh or repeated action needs a second look by a person, and what the card says of it.
#[derive(Default)]
struct Doubt {
    marks: Vec<Mark>,
    notes: Notes,
    repeat_of: Option<EffectId>,
    /// Insert under the identity with guests.
    by_guests: bool,
    near: Option<(EffectId, Vec<Difference>)>,
}

impl Admission<'_> {
    pub(super) fn run(&self, tx: &Transaction<'_>) -> Result<Step, GuardError> {
        self.check_turn(tx)?;
        let mut key = exact_key(&self.request.origin, &self.request.declaration.name, self.request.account.as_str());
        let mut doubt = Doubt::default();
        match self.stored(tx, &key)? {
            Some((identity, verdict)) if identity == self.normalised.identity.as_str() => {
                return self.replay(tx, verdict);
            }
            Some(_) => {
                key = fault_key(&key, &self.normalised.identity);
                if let Some((_, verdict)) = self.stored(tx, &key)? {
                    return self.replay(tx, verdict);
                }
                doubt.notes.fault = true;
                self.audit_fault(tx)?;
            }
            None => {}
        }
        self.judge(tx, &key, doubt)
    }

    fn judge(&self, tx: &Transaction<'_>, key: &ExactKey, mut doubt: Doubt) -> Result<Step, GuardError> {
        let (standing, other_guests) = self.find(tx)?;
        if let Some(row) = other_guests {
            // The same title and start, but other people: perhaps another room. Never "done", never silently a second.
            doubt.marks.extend([Mark::Guests, Mark::NearDuplicate]);
            doubt.by_guests = true;
            self.beside(&mut doubt.notes, &row)?;
        }
        let window = self.request.declaration.window.unwrap_or(self.settings.window);
        match judge(standing, self.now, window) {
            Judgement::Pending(row) => {
                let approval = approvals::pending_of(tx, &row.id)?;
                let differences = self.differences(&row)?;
                let verdict = Verdict::Pending { effect: row.id.clone(), approval, differences };
                self.prevent(tx, key, Why::Pending, &row, verdict)
            }
            Judgement::InFlight { wait: true, .. } if self.patient => Ok(Step::Wait),
            Judgement::InFlight { row, .. } => {
                let differences = self.differences(&row)?;
                let verdict = Verdict::InFlight { effect: row.id.clone(), state: row.state, differences };
                self.prevent(tx, key, Why::InFlight, &row, verdict)
            }
            Judgement::Unresolved(row) => {
                let verdict = Verdict::Unresolved { effect: row.id.clone(), differences: self.differences(&row)? };
                self.prevent(tx, key, Why::Unresolved, &row, verdict)
            }
            Judgement::Duplicate { row, age } => {
                let mut verified = false;
                if self.can_look && is_readable(&row.action) {
                    match self.looks.reads.get(&row.id) {
                        None => return Ok(Step::Read(row)),
                        Some(ReadBack::Same) => verified = true,
                        Some(ReadBack::Unreachable) => {}
                        Some(change @ (ReadBack::Gone | ReadBack::Changed)) => {
                            evidence::release_by_change(tx, self.now, &row.id, *change == ReadBack::Gone)?;
                            return self.judge(tx, key, doubt);
                        }
                    }
                }
                let differences = self.differences(&row)?;
                if self.wants_again() {
                    doubt.marks.push(Mark::Repeat);
                    doubt.repeat_of = Some(row.id.clone());
                    self.beside(&mut doubt.notes, &row)?;
                    return self.fresh(tx, key, doubt);
                }
                let why = if differences.is_empty() { Why::Duplicate } else { Why::Differs };
                let verdict = Verdict::Duplicate {
                    effect: row.id.clone(),
                    receipt: row.receipt.clone().unwrap_or(Receipt {
                        source: ReceiptSource::Provider,
                        provider_id: row.provider_id.clone(),
                        detail: Value::Null,
                    }),
                    age_seconds: seconds(age),
                    verified,
                    differences,
                };
                self.prevent(tx, key, why, &row, verdict)
            }
            Judgement::Fresh => self.look_and_near(tx, key, doubt, None),
            Judgement::Older { row, age } => self.look_and_near(tx, key, doubt, Some((&row, age))),
        }
    }

    /// Nothing blocks: look at the calendar, then at what resembles it.
    fn look_and_near(
        &self,
        tx: &Transaction<'_>,
        key: &ExactKey,
        mut doubt: Doubt,
        older: Option<(&EffectRow, std::time::Duration)>,
    ) -> Result<Step, GuardError> {
        let look = self.settings.look_before_create && self.can_look && !doubt.by_guests;
        if let (Action::CreateEvent(_), true) = (&self.request.action, look) {
            match &self.looks.exists {
                None => return Ok(Step::Look),
                Some(None) => {}
                Some(Some(event)) => {
                    if !self.wants_again() {
                        return self.exists(tx, key, event);
                    }
                    doubt.marks.push(Mark::Repeat);
                    doubt.notes.found = Some(shown_event(event));
                    doubt.repeat_of =
                        evidence::creator_of(tx, self.request.account.as_str(), &event.id)?.map(|row| row.id);
                }
            }
        }
        let hit = near::find(
            tx,
            self.now,
            self.settings,
            &self.request.action,
            self.request.account.as_str(),
            self.normalised,
            older,
        )?;
        if let Some(hit) = hit {
            self.beside(&mut doubt.notes, &hit.row)?;
            doubt.notes.earlier_unresolved = hit.unresolved;
            doubt.near = Some((hit.row.id.clone(), doubt.notes.differences.clone()));
            if self.wants_again() && !hit.unresolved {
                doubt.marks.push(Mark::Repeat);
                if hit.row.identity == self.normalised.identity {
                    doubt.repeat_of = Some(hit.row.id.clone());
                }
            } else {
                doubt.marks.push(Mark::NearDuplicate);
            }
        }
        self.fresh(tx, key, doubt)
    }

    /// Policy, then the row with what belongs to it.
    fn fresh(&self, tx: &Transaction<'_>, key: &ExactKey, mut doubt: Doubt) -> Result<Step, GuardError> {
        let request = self.request;
        if policy::names_guests(&request.action) {
            doubt.marks.push(Mark::Guests);
        }
        let targets = provenance::weigh(tx, &request.action, &request.provenance)?;
        if targets.new_recipient {
            doubt.marks.push(Mark::NewRecipient);
        }
        if !targets.untrusted.is_empty() {
            doubt.marks.push(Mark::UntrustedTarget);
        }
        if let Some(age) = request.stale_seconds
            && policy::stale_needs_person(&request.action, self.now.wall.timestamp(), &self.settings.zone)
        {
            doubt.marks.push(Mark::Stale);
            doubt.notes.stale_seconds = Some(age);
        }
        doubt.notes.origins = targets.untrusted;
        doubt.notes.saves_only = self.mail_saves_only && matches!(request.action, Action::SendEmail(_));
        doubt.marks.sort_unstable();
        doubt.marks.dedup();

        let policies = &self.rules.settings.policies;
        let policy = policy::decide(policies, request.declaration.policy, &request.action, &doubt.marks);
        let asks = doubt.notes.fault || self.person.replaces.is_some() || self.person.approves.is_some();
        match (policy, asks) {
            (Policy::Deny, _) => return self.denied(tx, key),
            (Policy::Auto, false) => {}
            (Policy::Ask, _) | (Policy::Auto, true) => return self.ask(tx, key, doubt, &targets.trusted),
        }
        let effect = self.insert(tx, key, &doubt, Birth::Ready)?;
        self.remember(tx, &targets.trusted)?;
        if matches!(request.action, Action::SendEmail(_)) {
            self.offer_undo(tx, &effect)?;
        }
        self.settle(tx, key, Verdict::Admitted { effect })
    }

    fn ask(
        &self,
        tx: &Transaction<'_>,
        key: &ExactKey,
        doubt: Doubt,
        trusted: &[(crate::domain::provenance::TargetKind, String, &'static str)],
    ) -> Result<Step, GuardError> {
        let effect = self.insert(tx, key, &doubt, Birth::AwaitingApproval)?;
        self.remember(tx, trusted)?;
        if let Some((first, differences)) = &doubt.near {
            prevented::record(tx, self.now, self.settings, self.request, Why::Near, Some(first), None, differences)?;
        }
        let approval = approvals::request(
            tx,
            self.now,
            self.rules,
            approvals::Request { effect: effect.clone(), marks: doubt.marks.clone(), notes: doubt.notes },
        )?;
        if let Some((surface, who)) = &self.person.approves {
            // The act itself approves exactly this action; what is kept is a decided approval like any other.
            approvals::decide(tx, self.now, self.rules, approval, approvals::Decision::Approve, who, *surface)?;
            return self.settle(tx, key, Verdict::Admitted { effect });
        }
        self.settle(tx, key, Verdict::NeedsApproval { effect, approval, marks: doubt.marks })
    }

    fn insert(
        &self,
        tx: &Transaction<'_>,
        key: &ExactKey,
        doubt: &Doubt,
        birth: Birth,
    ) -> Result<EffectId, GuardError> {
        let (request, normalised) = (self.request, self.normalised);
        let call_id = match &request.origin {
            Origin::Turn { call_id, .. } => Some(call_id.clone()),
            Origin::Person { .. } => None,
        };
        let identity = match (&normalised.guest_identity, doubt.by_guests) {
            (Some(by_guests), true) => by_guests.clone(),
            _ => normalised.identity.clone(),
        };
        let waits_in_call = birth == Birth::Ready && request.declaration.waiting == Waiting::Outcome;
        let new = NewEffect {
            id: EffectId(self.rules.ids.uuid()),
            tool: request.declaration.name.clone(),
            target: request.target.clone(),
            account: request.account.clone(),
            key: key.clone(),
            identity,
            digest: normalised.digest.clone(),
            literal: normalised.literal.clone(),
            normalisation: NORMALISATION,
            near_key: normalised.near_key.clone(),
            intent: request.intent.clone(),
            action: request.action.clone(),
            conversation: request.conversation,
            turn: turn_of(&request.origin).cloned(),
            call_id,
            repeat_of: doubt.repeat_of.clone(),
            replaces: self.person.replaces.clone(),
            told: request.conversation.is_some() && !waits_in_call,
        };
        evidence::insert(tx, self.now, &self.rules.evidence, &self.rules.targets, &new, birth, self.actor())?;
        if let Some(prevented) = self.person.prevented {
            tx.prepare_cached("UPDATE prevented SET done_anyway = ?2 WHERE id = ?1")?
                .execute(params![prevented, new.id])?;
        }
        self.fence(tx)?;
        Ok(new.id)
    }

    fn denied(&self, tx: &Transaction<'_>, key: &ExactKey) -> Result<Step, GuardError> {
        let mut entry = Entry::new(Kind::EffectAdmitted, Actor::System)
            .detail("tool", self.request.declaration.name.as_str())
            .detail("to", "denied_by_policy")
            .personal("summary", self.request.action.summary());
        entry.conversation = self.request.conversation;
        entry.turn = turn_of(&self.request.origin).cloned();
        audit::append(tx, self.now, entry)?;
        self.settle(tx, key, Verdict::Denied { reason: "the settings do not allow this action".to_owned() })
    }

    fn exists(&self, tx: &Transaction<'_>, key: &ExactKey, event: &Event) -> Result<Step, GuardError> {
        let effect = evidence::creator_of(tx, self.request.account.as_str(), &event.id)?.map(|row| row.id);
        let standing = Action::CreateEvent(crate::domain::action::CreateEvent {
            calendar: event.calendar.clone(),
            title: event.title.clone(),
            start: event.start.clone(),
            end: Some(event.end.clone()),
            location: event.location.clone(),
            description: event.description.clone(),
            guests: event.guests.clone(),
            recurrence: event.recurrence.clone(),
            reminders: event.reminders.clone(),
        });
        let first = normalise(&standing, &self.settings.zone, self.request.account.as_str())?;
        // What the new call leaves open cannot differ, except that a single date was asked for and a series stands there.
        let asked = |field: &str| {
            field == "recurrence" || self.normalised.fields.iter().any(|own| own.name == field && !own.normal.is_null())
        };
        let differences: Vec<Difference> = differences(&first, self.normalised)
            .into_iter()
            .filter(|difference| difference.field != "start" && asked(&difference.field))
            .collect();
        let external = shown_event(event);
        prevented::record(
            tx,
            self.now,
            self.settings,
            self.request,
            Why::Exists,
            effect.as_ref(),
            Some(&external),
            &differences,
        )?;
        self.settle(tx, key, Verdict::Exists { event_id: event.id.clone(), effect, differences })
    }

    /// Nothing is done: the first effect beside it, and its outcome told here too where it is still to come.
    fn prevent(
        &self,
        tx: &Transaction<'_>,
        key: &ExactKey,
        why: Why,
        first: &EffectRow,
        verdict: Verdict,
    ) -> Result<Step, GuardError> {
        let differences = match &verdict {
            Verdict::Pending { differences, .. }
            | Verdict::InFlight { differences, .. }
            | Verdict::Unresolved { differences, .. }
            | Verdict::Duplicate { differences, .. }
            | Verdict::Exists { differences, .. } => differences.as_slice(),
            Verdict::Admitted { .. } | Verdict::NeedsApproval { .. } | Verdict::Denied { .. } => &[],
        };
        prevented::record(tx, self.now, self.settings, self.request, why, Some(&first.id), None, differences)?;
        if let (true, Some(conversation)) = (first.state.is_live(), self.request.conversation) {
            evidence::listen(tx, &first.id, conversation)?;
        }
        self.settle(tx, key, verdict)
    }

    fn settle(&self, tx: &Transaction<'_>, key: &ExactKey, verdict: Verdict) -> Result<Step, GuardError> {
        let inserted = matches!(verdict, Verdict::Admitted { .. } | Verdict::NeedsApproval { .. });
        if self.person.replaces.is_some() && !inserted {
            // The draft that would be replaced stays as it was: the whole transaction is undone.
            return Err(GuardError::Meets(Box::new(verdict)));
        }
        tx.prepare_cached(
            "INSERT INTO admissions (idempotency_key, identity, verdict, effect_id, conversation_id, turn_id, created_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            key,
            self.normalised.identity,
            serde_json::to_string(&verdict)?,
            effect_of(&verdict),
            self.request.conversation,
            turn_of(&self.request.origin),
            self.now.wall,
        ])?;
        Ok(Step::Settled(Box::new(verdict)))
    }

    fn stored(&self, tx: &Transaction<'_>, key: &ExactKey) -> Result<Option<(String, Verdict)>, StoreError> {
        let found: Option<(String, String)> = tx
            .prepare_cached("SELECT identity, verdict FROM admissions WHERE idempotency_key = ?1")?
            .query_row([key], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        found.map(|(identity, verdict)| Ok((identity, serde_json::from_str(&verdict)?))).transpose()
    }

    fn replay(&self, tx: &Transaction<'_>, verdict: Verdict) -> Result<Step, GuardError> {
        let first = effect_of(&verdict).cloned();
        prevented::record(tx, self.now, self.settings, self.request, Why::Replayed, first.as_ref(), None, &[])?;
        Ok(Step::Settled(Box::new(verdict)))
    }

    fn audit_fault(&self, tx: &Transaction<'_>) -> Result<(), StoreError> {
        let mut entry = Entry::new(Kind::DuplicatePrevented, Actor::System)
            .detail("verdict", "fault")
            .detail("fault", "the same call came with another action")
            .detail("tool", self.request.declaration.name.as_str())
            .personal("summary", self.request.action.summary());
        entry.conversation = self.request.conversation;
        entry.turn = turn_of(&self.request.origin).cloned();
        audit::append(tx, self.now, entry)?;
        Ok(())
    }

    /// What stands under this identity. Where both name guests and the sets differ, the one with the same guests
    /// counts, and the other is given beside it.
    fn find(&self, tx: &Transaction<'_>) -> Result<(Standing, Option<EffectRow>), GuardError> {
        let by_title = standing(tx, &self.normalised.identity)?;
        let Some(by_guests) = &self.normalised.guest_identity else { return Ok((by_title, None)) };
        let same_people = standing(tx, by_guests)?;
        if same_people != Standing::Free {
            return Ok((same_people, None));
        }
        let Some(row) = by_title.row() else { return Ok((by_title, None)) };
        let guests = |of: &Normalised| {
            of.fields.iter().find(|field| field.name == "guests").map(|field| field.normal.clone()).unwrap_or_default()
        };
        let first = guests(&normalise(&row.action, &self.settings.zone, row.account.as_str())?);
        let window = self.request.declaration.window.unwrap_or(self.settings.window);
        let counts = match &by_title {
            Standing::Live(_) => true,
            Standing::Accepted(row) => {
                self.now.elapsed.since(row.accepted_elapsed.unwrap_or(self.now.elapsed)) < window
            }
            Standing::Free => false,
        };
        if counts && !first.is_null() && first != guests(self.normalised) {
            let row = row.clone();
            return Ok((Standing::Free, Some(row)));
        }
        Ok((by_title, None))
    }

    fn differences(&self, first: &EffectRow) -> Result<Vec<Difference>, StoreError> {
        if first.digest == self.normalised.digest {
            return Ok(Vec::new());
        }
        let first = normalise(&first.action, &self.settings.zone, first.account.as_str())?;
        Ok(differences(&first, self.normalised))
    }

    /// The earlier effect, for the card.
    fn beside(&self, notes: &mut Notes, row: &EffectRow) -> Result<(), StoreError> {
        notes.earlier = Some(row.id.clone());
        notes.earlier_age = Some(seconds(self.now.elapsed.since(row.accepted_elapsed.unwrap_or(row.created_elapsed))));
        notes.differences = self.differences(row)?;
        Ok(())
    }

    fn wants_again(&self) -> bool {
        self.request.repeat || self.person.approves.is_some()
    }

    fn actor(&self) -> Actor {
        match (&self.request.origin, &self.person.approves) {
            (_, Some((surface, who))) => Actor::Person(format!("{}:{who}", surface.as_str())),
            (Origin::Turn { .. }, None) => Actor::Model,
            (Origin::Person { act }, None) => Actor::Person(act.clone()),
        }
    }

    fn check_turn(&self, tx: &Transaction<'_>) -> Result<(), GuardError> {
        let Origin::Turn { turn, epoch, .. } = &self.request.origin else { return Ok(()) };
        let runs: bool = tx
            .prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM turns WHERE id = ?1 AND epoch = ?2 AND stop_requested = 0 AND state <> 'ended')",
            )?
            .query_row(params![turn, epoch], |row| row.get(0))?;
        if runs { Ok(()) } else { Err(GuardError::TurnSuperseded) }
    }

    /// From its first effect row on a turn can no longer be taken back.
    fn fence(&self, tx: &Transaction<'_>) -> Result<(), GuardError> {
        let Origin::Turn { turn, epoch, .. } = &self.request.origin else { return Ok(()) };
        let fenced = tx
            .prepare_cached(
                "UPDATE turns SET fenced = 1 WHERE id = ?1 AND epoch = ?2 AND stop_requested = 0 AND state <> 'ended'",
            )?
            .execute(params![turn, epoch])?;
        if fenced == 1 { Ok(()) } else { Err(GuardError::TurnSuperseded) }
    }

    fn remember(
        &self,
        tx: &Transaction<'_>,
        trusted: &[(crate::domain::provenance::TargetKind, String, &'static str)],
    ) -> Result<(), StoreError> {
        for (kind, target, source) in trusted {
            approvals::know(tx, self.now, *kind, target, source)?;
        }
        Ok(())
    }

    /// An automatic mail can be called back while it is held.
    fn offer_undo(&self, tx: &Transaction<'_>, effect: &EffectId) -> Result<(), GuardError> {
        let hold = self.rules.evidence.hold;
        let (Some(conversation), false) = (self.request.conversation, hold.is_zero()) else { return Ok(()) };
        let language = self.rules.evidence.language;
        let what = evidence::words::what(&self.request.action, language, &self.rules.evidence.zone);
        let text = match language {
            crate::domain::language::Language::En => format!("⏳ Leaves in {} s: {what}.", hold.as_secs()),
            crate::domain::language::Language::Es => format!("⏳ Sale en {} s: {what}.", hold.as_secs()),
        };
        let mut notice = outbox::New::text(conversation, outbox::Kind::Notice, text);
        notice.buttons = vec![vec![(language.pick("↩️ Undo", "↩️ Deshacer").to_owned(), format!("u:{effect}"))]];
        outbox::enqueue(tx, self.now, notice)?;
        Ok(())
    }
}

fn effect_of(verdict: &Verdict) -> Option<&EffectId> {
    match verdict {
        Verdict::Admitted { effect }
        | Verdict::NeedsApproval { effect, .. }
        | Verdict::Pending { effect, .. }
        | Verdict::InFlight { effect, .. }
        | Verdict::Unresolved { effect, .. }
        | Verdict::Duplicate { effect, .. } => Some(effect),
        Verdict::Exists { effect, .. } => effect.as_ref(),
        Verdict::Denied { .. } => None,
    }
}

fn seconds(duration: std::time::Duration) -> i64 {
    i64::try_from(duration.as_secs()).unwrap_or(i64::MAX)
}

fn shown_event(event: &Event) -> Value {
    json!({
        "id": event.id, "title": event.title, "start": event.start, "end": event.end, "recurrence": event.recurrence,
        "guests": event.guests, "calendar": event.calendar,
    })
}
