//! A desk with an owner, a turn and a running queue, and a calendar that answers from a list.

pub use std::sync::{Arc, Mutex};
pub use std::time::Duration;

use async_trait::async_trait;

pub use crate::approvals;
pub use crate::domain::action::{Action, EventChanges};
pub use crate::domain::calendar::{CalendarInfo, Event, EventDraft, EventTime};
pub use crate::domain::effect::{DedupeClass, Intent, Origin, Verdict};
pub use crate::domain::ids::{AccountId, ConversationId, EffectId, TurnId};
pub use crate::domain::ports::{Calendar, CalendarError, IdSource};
pub use crate::domain::provenance::{TargetKind, TargetOrigin, TargetSource};
pub use crate::domain::time::Wall;
pub use crate::domain::tool::{PolicyKey, ToolDeclaration, ToolKind, Waiting};
pub use crate::evidence::testing::World;
pub use crate::guard::{AdmitRequest, Deps, GuardError, Settings, admit};

pub const SECOND: Duration = Duration::from_secs(1);
pub const MINUTE: Duration = Duration::from_secs(60);
pub const HOUR: Duration = Duration::from_secs(3600);

/// A world with a running worker, a conversation and a turn.
pub struct Desk {
    pub world: World,
    pub conversation: ConversationId,
    pub turn: TurnId,
    pub settings: Settings,
    pub approvals: approvals::Settings,
    pub calendar: Option<Arc<FakeCalendar>>,
    pub saves_only: bool,
    ordinal: Mutex<i64>,
}

impl Desk {
    pub async fn new() -> Self {
        let mut world = World::new();
        world.start_worker();
        let conversation = world.owner("1001").await;
        let turn = world.turn(conversation).await;
        Self {
            world,
            conversation,
            turn,
            settings: Settings::default(),
            approvals: approvals::Settings::default(),
            calendar: None,
            saves_only: false,
            ordinal: Mutex::new(0),
        }
    }

    pub fn rules(&self) -> approvals::Rules {
        approvals::Rules {
            ids: self.world.ids.clone(),
            targets: self.world.targets.clone(),
            settings: self.approvals.clone(),
            evidence: self.world.settings.clone(),
        }
    }

    pub fn deps(&self) -> Deps {
        Deps {
            store: self.world.store.clone(),
            clock: Arc::new(self.world.clock.clone()),
            calendar: self.calendar.clone().map(|calendar| calendar as Arc<dyn Calendar>),
            settings: self.settings.clone(),
            rules: self.rules(),
            mail_saves_only: self.saves_only,
        }
    }

    /// The next call of the turn; every target was written by the owner.
    pub fn request(&self, action: Action) -> AdmitRequest {
        let mut ordinal = self.ordinal.lock().unwrap();
        *ordinal += 1;
        let call_id = self.world.ids.token();
        AdmitRequest {
            declaration: declaration(&action),
            account: AccountId::new("me"),
            target: target(&action).into(),
            intent: Intent { tool: declaration(&action).name, ..Intent::default() },
            origin: Origin::Turn { turn: self.turn.clone(), epoch: 1, ordinal: *ordinal, call_id },
            conversation: Some(self.conversation),
            stale_seconds: None,
            repeat: false,
            provenance: by_owner(&action),
            action,
        }
    }

    pub async fn ask(&self, action: Action) -> Verdict {
        self.admit(self.request(action)).await.unwrap()
    }

    pub async fn admit(&self, request: AdmitRequest) -> Result<Verdict, GuardError> {
        admit(&self.deps(), request).await
    }

    /// Asks, lets the worker run, and gives the effect.
    pub async fn done(&self, action: Action) -> EffectId {
        let effect = admitted(self.ask(action).await);
        self.world.pass(SECOND).await;
        effect
    }

    pub async fn decide(&self, approval: crate::domain::ids::ApprovalId, decision: approvals::Decision) {
        let rules = self.rules();
        self.world
            .write(move |tx, now| {
                approvals::decide(tx, now, &rules, approval, decision, "1001", approvals::Surface::Window)
            })
            .await
            .unwrap();
        self.world.pass(SECOND * 12).await;
    }

    /// Calls that really reached the calendar.
    pub fn made(&self) -> usize {
        self.world.calendar.calls()
    }

    pub async fn prevented(&self) -> Vec<String> {
        self.world.texts("SELECT verdict || '/' || layer FROM prevented ORDER BY id").await
    }
}

pub fn admitted(verdict: Verdict) -> EffectId {
    match verdict {
        Verdict::Admitted { effect } => effect,
        other => panic!("expected admitted: {other:?}"),
    }
}

pub fn asked(verdict: Verdict) -> (EffectId, crate::domain::ids::ApprovalId, Vec<crate::domain::effect::Mark>) {
    match verdict {
        Verdict::NeedsApproval { effect, approval, marks } => (effect, approval, marks),
        other => panic!("expected a card: {other:?}"),
    }
}

/// The first effect and the names of the differing fields.
pub fn duplicate(verdict: Verdict) -> (EffectId, Vec<String>) {
    match verdict {
        Verdict::Duplicate { effect, differences, .. } => {
            (effect, differences.into_iter().map(|difference| difference.field).collect())
        }
        other => panic!("expected a duplicate: {other:?}"),
    }
}

pub fn by_owner(action: &Action) -> Vec<TargetOrigin> {
    let people: Vec<String> = match action {
        Action::SendEmail(mail) => mail.to.iter().chain(&mail.cc).chain(&mail.bcc).cloned().collect(),
        Action::CreateEvent(event) => event.guests.clone(),
        Action::UpdateEvent(update) => update.changes.guests.clone().unwrap_or_default(),
        Action::DeleteEvent(_) | Action::Other(_) => Vec::new(),
    };
    people
        .into_iter()
        .map(|target| TargetOrigin { kind: TargetKind::Mail, target, source: TargetSource::Owner })
        .collect()
}

pub fn target(action: &Action) -> &'static str {
    match action {
        Action::CreateEvent(_) | Action::UpdateEvent(_) | Action::DeleteEvent(_) => "calendar",
        Action::SendEmail(_) => "mail",
        Action::Other(_) => "mcp:notes",
    }
}

pub fn declaration(action: &Action) -> ToolDeclaration {
    let (name, policy, waiting) = match action {
        Action::CreateEvent(_) => ("create_event", PolicyKey::CalendarCreate, Waiting::Outcome),
        Action::UpdateEvent(_) => ("update_event", PolicyKey::CalendarUpdate, Waiting::Outcome),
        Action::DeleteEvent(_) => ("delete_event", PolicyKey::CalendarDelete, Waiting::Outcome),
        Action::SendEmail(_) => ("send_email", PolicyKey::MailSend, Waiting::Queued),
        Action::Other(_) => ("notes__add", PolicyKey::Other, Waiting::Outcome),
    };
    ToolDeclaration {
        name: name.into(),
        kind: ToolKind::Effect,
        identity: Vec::new(),
        window: None,
        policy,
        dedupe: DedupeClass::ClientId,
        waiting,
    }
}

/// A calendar that answers from a list, or not at all.
#[derive(Default)]
pub struct FakeCalendar {
    pub events: Mutex<Vec<Event>>,
    pub unreachable: Mutex<bool>,
    pub lists: Mutex<u32>,
}

impl FakeCalendar {
    fn check(&self) -> Result<(), CalendarError> {
        if *self.unreachable.lock().unwrap() {
            return Err(CalendarError::Unavailable { reason: "no network".into(), retry_after: None });
        }
        Ok(())
    }

    pub fn put(&self, id: &str, title: &str, start: EventTime, recurrence: Option<&str>) {
        let end = crate::domain::when::default_end(&start).unwrap();
        self.events.lock().unwrap().push(Event {
            id: id.into(),
            calendar: "local".into(),
            title: title.into(),
            occurrence: recurrence.map(|_| start.clone()),
            start,
            end,
            location: None,
            description: None,
            guests: Vec::new(),
            recurrence: recurrence.map(str::to_owned),
            reminders: Vec::new(),
            etag: "1".into(),
            cancelled: false,
        });
    }
}

#[async_trait]
impl Calendar for FakeCalendar {
    fn account(&self) -> AccountId {
        AccountId::new("me")
    }
    fn backend(&self) -> &'static str {
        "local"
    }
    async fn calendars(&self) -> Result<Vec<CalendarInfo>, CalendarError> {
        Ok(Vec::new())
    }
    async fn resolve(&self, _name: Option<&str>) -> Result<String, CalendarError> {
        Ok("local".into())
    }
    async fn list(&self, _calendar: &str, _from: Wall, _to: Wall) -> Result<Vec<Event>, CalendarError> {
        *self.lists.lock().unwrap() += 1;
        self.check()?;
        Ok(self.events.lock().unwrap().clone())
    }
    async fn get(&self, _calendar: &str, id: &str) -> Result<Event, CalendarError> {
        self.check()?;
        let events = self.events.lock().unwrap();
        events.iter().find(|event| event.id == id).cloned().ok_or(CalendarError::NotFound { id: id.into() })
    }
    async fn create(&self, _draft: &EventDraft) -> Result<Event, CalendarError> {
        Err(CalendarError::Refused { reason: "the guard never creates".into() })
    }
    async fn update(
        &self,
        _calendar: &str,
        _id: &str,
        _occurrence: Option<&EventTime>,
        _changes: &EventChanges,
        _etag: Option<&str>,
    ) -> Result<Event, CalendarError> {
        Err(CalendarError::Refused { reason: "the guard never changes".into() })
    }
    async fn delete(
        &self,
        _calendar: &str,
        _id: &str,
        _occurrence: Option<&EventTime>,
        _etag: Option<&str>,
    ) -> Result<(), CalendarError> {
        Err(CalendarError::Refused { reason: "the guard never deletes".into() })
    }
}
