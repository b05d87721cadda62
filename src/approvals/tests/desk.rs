//! An owner in a private chat, with the workers of approvals and of the queue.

pub use std::time::Duration;

pub use crate::approvals::{ApprovalError, Decided, Decision, Request, Rules, Sender, Settings, Surface, TapAnswer};
pub use crate::audit::Actor;
pub use crate::domain::action::Action;
pub use crate::domain::effect::Intent;
pub use crate::domain::ids::{AccountId, ApprovalId, ConversationId, Digest, EffectId, ExactKey, Identity};
pub use crate::domain::ports::IdSource;
pub use crate::evidence::testing::{World, mail};
pub use crate::evidence::{Birth, NewEffect};

pub const SECOND: Duration = Duration::from_secs(1);
pub const MINUTE: Duration = Duration::from_secs(60);
pub const HOUR: Duration = Duration::from_secs(3600);

/// An owner in a private chat, a worker for the queue, and one for approvals.
pub struct Desk {
    pub world: World,
    pub owner: ConversationId,
    pub rules: Rules,
    worker: Option<tokio::task::JoinHandle<()>>,
}

impl Drop for Desk {
    fn drop(&mut self) {
        if let Some(worker) = &self.worker {
            worker.abort();
        }
    }
}

impl Desk {
    pub async fn new() -> Self {
        let mut world = World::new();
        let owner = world.owner("1001").await;
        world.start_worker();
        let rules = Rules {
            ids: world.ids.clone(),
            targets: world.targets.clone(),
            settings: Settings::default(),
            evidence: world.settings.clone(),
        };
        let mut desk = Self { world, owner, rules, worker: None };
        desk.start();
        desk
    }

    pub fn start(&mut self) {
        let deps = crate::approvals::Deps {
            store: self.world.store.clone(),
            clock: std::sync::Arc::new(self.world.clock.clone()),
            rules: self.rules.clone(),
        };
        self.worker = Some(tokio::spawn(crate::approvals::Worker::new(deps).run()));
    }

    pub fn restart(&mut self) {
        if let Some(worker) = self.worker.take() {
            worker.abort();
        }
        self.world.restart();
        self.world.start_worker();
        self.start();
    }

    /// A mail that waits for its OK.
    pub async fn ask(&self, subject: &str) -> (EffectId, ApprovalId) {
        self.ask_for(Action::SendEmail(mail("a@example.test", subject, "Hi"))).await
    }

    pub async fn ask_for(&self, action: Action) -> (EffectId, ApprovalId) {
        let literal = crate::evidence::literal_hash("me", &action).unwrap();
        let new = NewEffect {
            id: EffectId(self.world.ids.uuid()),
            tool: "send_email".into(),
            target: "mail".into(),
            account: AccountId::new("me"),
            key: ExactKey(self.world.ids.token()),
            identity: Identity(literal.0.clone()),
            digest: Digest(literal.0.clone()),
            literal,
            normalisation: 1,
            near_key: None,
            intent: Intent::default(),
            action,
            conversation: Some(self.owner),
            turn: None,
            call_id: None,
            repeat_of: None,
            replaces: None,
            told: true,
        };
        let (rules, effect) = (self.rules.clone(), new.id.clone());
        let approval = self
            .world
            .write(move |tx, now| {
                crate::evidence::insert(
                    tx,
                    now,
                    &rules.evidence,
                    &rules.targets,
                    &new,
                    Birth::AwaitingApproval,
                    Actor::Model,
                )?;
                let request = Request { effect: new.id.clone(), marks: vec![], notes: Default::default() };
                crate::approvals::request(tx, now, &rules, request)
            })
            .await
            .unwrap();
        (effect, approval)
    }

    pub async fn decide(&self, id: ApprovalId, decision: Decision, surface: Surface) -> Result<Decided, ApprovalError> {
        let rules = self.rules.clone();
        self.world.write(move |tx, now| crate::approvals::decide(tx, now, &rules, id, decision, "1001", surface)).await
    }

    pub async fn tap(&self, data: &str, user: &str) -> TapAnswer {
        let (rules, data, sender) = (self.rules.clone(), data.to_owned(), Sender { id: user.to_owned() });
        self.world
            .write(move |tx, now| crate::approvals::decide_by_token(tx, now, &rules, &data, &sender))
            .await
            .unwrap()
    }

    pub async fn token(&self, id: ApprovalId) -> String {
        self.world.store.read(move |connection| crate::approvals::load(connection, id)).await.unwrap().token
    }

    pub async fn healthy(&self) {
        let now = crate::domain::ports::Clock::now(&self.world.clock);
        let found = self
            .world
            .store
            .read(move |connection| crate::audit::invariants::check(connection, now, Duration::from_secs(600)))
            .await
            .unwrap();
        assert_eq!(found, []);
    }
}
