//! The worker: recovers, claims, performs, records; looks for evidence of what is unknown; sleeps in between.
//!
//! One effect per target at a time, so that changes of one event cannot overtake each other; targets run side by side.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use super::attempt::apply_result;
use super::claim::{Claim, Claimed, claim, due};
use super::error::EvidenceError;
use super::reconcile::{apply_found, reconcile_due};
use super::recover::{interrupt_expired_leases, recover};
use super::settings::Settings;
use super::targets::Targets;
use crate::domain::effect::{DedupeClass, Dispatch, Found, Outcome, Performed};
use crate::domain::ids::EffectId;
use crate::domain::ports::{Clock, EffectTarget, IdSource};
use crate::domain::time::{Elapsed, Now};
use crate::runtime::{backoff, failpoint, seeded};
use crate::store::{Durability, Store, StoreError, Table};

/// How long a failing database is left alone, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

#[derive(Clone)]
pub struct Deps {
    pub store: Store,
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<dyn IdSource>,
    pub targets: Targets,
    pub settings: Settings,
}

/// What a task of the worker was about.
enum Job {
    Perform { target: String },
    Look { effect: EffectId },
}

pub struct Worker {
    deps: Deps,
    owner: String,
    busy: BTreeSet<String>,
    looking: BTreeSet<EffectId>,
    tasks: JoinSet<()>,
    jobs: BTreeMap<tokio::task::Id, Job>,
}

impl Worker {
    pub fn new(deps: Deps) -> Self {
        let owner = deps.ids.uuid();
        Self {
            deps,
            owner,
            busy: BTreeSet::new(),
            looking: BTreeSet::new(),
            tasks: JoinSet::new(),
            jobs: BTreeMap::new(),
        }
    }

    /// Runs until it is dropped. What was under way then is found `dispatching` at the next start.
    pub async fn run(mut self) {
        let watch = self.deps.store.watch(&[Table::Effects]);
        let mut failures = 0;
        while let Err(error) = self.recover().await {
            tracing::warn!(%error, "claims of the last run could not be settled yet");
            self.pause(&mut failures).await;
        }
        failures = 0;
        loop {
            let wake = match self.start_due().await {
                Ok(wake) => {
                    failures = 0;
                    wake
                }
                Err(error) => {
                    tracing::warn!(%error, "the effect queue could not be read or written");
                    self.pause(&mut failures).await;
                    continue;
                }
            };
            let now = self.deps.clock.now().elapsed;
            let sleep = wake.map(|due| due.since(now).max(Duration::from_millis(1)));
            tokio::select! {
                _ = watch.changed() => {}
                Some(ended) = self.tasks.join_next_with_id(), if !self.tasks.is_empty() => self.ended(ended),
                () = sleep_or_forever(self.deps.clock.as_ref(), sleep) => {}
            }
            while let Some(ended) = self.tasks.try_join_next_with_id() {
                self.ended(ended);
            }
        }
    }

    /// Claims of a dead process become unknown.
    pub async fn recover(&self) -> Result<Vec<EffectId>, EvidenceError> {
        let (now, settings) = (self.deps.clock.now(), self.deps.settings.clone());
        self.deps.store.write("evidence.recover", Durability::Full, move |tx| recover(tx, now, &settings)).await
    }

    /// Starts everything that is due, and says when the next thing will be.
    async fn start_due(&mut self) -> Result<Option<Elapsed>, EvidenceError> {
        let mut wake = self.expire_leases().await?;
        loop {
            let (now, busy) = (self.deps.clock.now(), self.busy.iter().cloned().collect::<Vec<_>>());
            let (id, next) = self.deps.store.read(move |connection| due(connection, now, &busy)).await?;
            let Some(id) = id else {
                wake = earlier(wake, next);
                break;
            };
            self.start(now, id).await?;
        }
        loop {
            let (now, looking) = (self.deps.clock.now(), self.looking.iter().cloned().collect::<Vec<_>>());
            let (dispatch, next) =
                self.deps.store.read(move |connection| reconcile_due(connection, now, &looking)).await?;
            let Some(dispatch) = dispatch else {
                wake = earlier(wake, next);
                break;
            };
            self.look(dispatch).await;
        }
        Ok(wake)
    }

    async fn start(&mut self, now: Now, id: EffectId) -> Result<(), EvidenceError> {
        let (settings, targets) = (self.deps.settings.clone(), self.deps.targets.clone());
        let by = Claim { owner: self.owner.clone(), lease: settings.lease };
        if seeded::bug("effect_before_claim") {
            self.perform_unclaimed(now, &id).await?;
        }
        let claimed = {
            let id = id.clone();
            self.deps
                .store
                .write("evidence.claim", Durability::Full, move |tx| claim(tx, now, &settings, &targets, &id, &by))
                .await
        };
        match claimed {
            Ok(Claimed::Dispatch { dispatch, search_first }) => {
                let target = self.target_of(&dispatch).await?;
                let Some(performer) = self.deps.targets.get(&target) else {
                    let performed = not_performed(format!("nothing here can perform effects of {target}"));
                    return record(&self.deps, None, &dispatch, performed).await;
                };
                let deps = self.deps.clone();
                self.busy.insert(target.clone());
                let task = self.tasks.spawn(perform(deps, performer, *dispatch, search_first));
                self.jobs.insert(task.id(), Job::Perform { target });
                Ok(())
            }
            Ok(Claimed::Postponed | Claimed::Changed | Claimed::Gone) => Ok(()),
            Err(EvidenceError::NotSendable { reason } | EvidenceError::NoTarget { target: reason }) => {
                self.postpone(now, id, reason).await
            }
            Err(error) => Err(error),
        }
    }

    /// A row whose bytes cannot be fixed, or whose target is not configured now: looked at again in a minute.
    async fn postpone(&self, now: Now, id: EffectId, reason: String) -> Result<(), EvidenceError> {
        const WAIT: Duration = Duration::from_secs(60);
        tracing::warn!(reason, effect = %id, "an effect cannot be performed now");
        self.deps
            .store
            .write("evidence.postpone", Durability::Normal, move |tx| {
                let mut row = super::row::load(tx, &id)?;
                row.next_attempt = Some(now.elapsed.plus(WAIT));
                row.last_error = Some(reason);
                super::step::save(tx, now, &row)?;
                Ok(())
            })
            .await
    }

    /// The bug that the claim exists against: acting first, writing it down afterwards.
    async fn perform_unclaimed(&self, now: Now, id: &EffectId) -> Result<(), EvidenceError> {
        let id = id.clone();
        let (target, dispatch) = self
            .deps
            .store
            .read(move |connection| {
                let row = super::row::load(connection, &id)?;
                let dispatch = super::row::dispatch(connection, now, &row)?;
                Ok::<_, EvidenceError>((row.target, dispatch))
            })
            .await?;
        if let Some(target) = self.deps.targets.get(&target) {
            target.perform(&dispatch).await;
        }
        Ok(())
    }

    async fn target_of(&self, dispatch: &Dispatch) -> Result<String, EvidenceError> {
        let id = dispatch.effect.clone();
        self.deps.store.read(move |connection| Ok(super::row::load(connection, &id)?.target)).await
    }

    async fn look(&mut self, dispatch: Dispatch) {
        let effect = dispatch.effect.clone();
        self.looking.insert(effect.clone());
        let task = self.tasks.spawn(look(self.deps.clone(), dispatch));
        self.jobs.insert(task.id(), Job::Look { effect });
    }

    /// Gives up on claims whose lease ran out, and says when the next one does.
    async fn expire_leases(&self) -> Result<Option<Elapsed>, EvidenceError> {
        let now = self.deps.clock.now();
        let next: Option<Elapsed> = self
            .deps
            .store
            .read(|connection| {
                Ok::<_, StoreError>(connection.query_row(
                    "SELECT MIN(lease_until) FROM effects
                     WHERE state IN ('awaiting_approval', 'ready', 'dispatching', 'retryable', 'unknown')
                       AND state = 'dispatching'",
                    [],
                    |row| row.get(0),
                )?)
            })
            .await?;
        if next.is_some_and(|lease| lease <= now.elapsed) {
            let settings = self.deps.settings.clone();
            self.deps
                .store
                .write("evidence.lease", Durability::Full, move |tx| interrupt_expired_leases(tx, now, &settings))
                .await?;
            return Ok(None);
        }
        Ok(next)
    }

    fn ended(&mut self, ended: Result<(tokio::task::Id, ()), tokio::task::JoinError>) {
        let id = match ended {
            Ok((id, ())) => id,
            Err(error) => {
                // The row stays dispatching until its lease ends, then unknown: nothing is assumed.
                tracing::error!(%error, "an attempt ended unexpectedly");
                error.id()
            }
        };
        match self.jobs.remove(&id) {
            Some(Job::Perform { target }) => {
                self.busy.remove(&target);
            }
            Some(Job::Look { effect }) => {
                self.looking.remove(&effect);
            }
            None => {}
        }
    }

    async fn pause(&self, failures: &mut u32) {
        let wait = backoff::doubling(FIRST_PAUSE, LONGEST_PAUSE, *failures, self.deps.ids.fraction());
        *failures = failures.saturating_add(1);
        self.deps.clock.sleep(wait).await;
    }
}

fn earlier(one: Option<Elapsed>, other: Option<Elapsed>) -> Option<Elapsed> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

async fn sleep_or_forever(clock: &dyn Clock, duration: Option<Duration>) {
    match duration {
        Some(duration) => clock.sleep(duration).await,
        None => std::future::pending().await,
    }
}

/// One attempt, from the claim on disk to the result on disk.
async fn perform(deps: Deps, target: Arc<dyn EffectTarget>, dispatch: Dispatch, search_first: bool) {
    let performed = attempt(target.as_ref(), &dispatch, search_first).await;
    if let Err(error) = record(&deps, Some(target.dedupe()), &dispatch, performed).await {
        tracing::error!(%error, effect = %dispatch.effect, "a result could not be written");
    }
}

async fn attempt(target: &dyn EffectTarget, dispatch: &Dispatch, search_first: bool) -> Performed {
    if search_first {
        // A person said that it was not sent: one more look before it leaves again.
        if let Found::Yes { receipt } = target.reconcile(dispatch).await {
            return Performed {
                outcome: Outcome::Accepted { receipt },
                phase: "search".into(),
                reply: Some("found before it was sent again".into()),
                recipients: Vec::new(),
                provider_id: None,
            };
        }
    }
    if let Err(failed) = failpoint::hit("evidence.before_perform") {
        return not_performed(failed.to_string());
    }
    let performed = target.perform(dispatch).await;
    if let Err(failed) = failpoint::hit("evidence.after_perform") {
        return Performed {
            outcome: Outcome::Unknown { reason: failed.to_string() },
            phase: "request".into(),
            reply: None,
            recipients: Vec::new(),
            provider_id: None,
        };
    }
    performed
}

/// Nothing left.
fn not_performed(reason: String) -> Performed {
    Performed {
        outcome: Outcome::Retryable { reason, retry_after: None, greylisted: false },
        phase: "claimed".into(),
        reply: None,
        recipients: Vec::new(),
        provider_id: None,
    }
}

/// Writes the result, for as long as it takes: it cannot be learned again.
async fn record(
    deps: &Deps,
    dedupe: Option<DedupeClass>,
    dispatch: &Dispatch,
    performed: Performed,
) -> Result<(), EvidenceError> {
    // An acceptance that can neither be repeated safely nor read back must survive a power cut.
    let durability = match (&performed.outcome, dedupe) {
        (Outcome::Accepted { .. }, Some(DedupeClass::Neither)) => Durability::Full,
        _ => Durability::Normal,
    };
    let mut failures = 0;
    loop {
        let (now, settings, fraction) = (deps.clock.now(), deps.settings.clone(), deps.ids.fraction());
        let (id, epoch, result) = (dispatch.effect.clone(), dispatch.epoch, performed.clone());
        let written = deps
            .store
            .write("evidence.result", durability, move |tx| {
                apply_result(tx, now, &settings, &id, epoch, &result, fraction)
            })
            .await;
        match written {
            Ok(applied) => {
                tracing::debug!(effect = %dispatch.effect, epoch = dispatch.epoch, ?applied, "attempt recorded");
                return Ok(());
            }
            Err(EvidenceError::Store(error)) if error.is_transient() => {
                tracing::warn!(%error, effect = %dispatch.effect, "a result waits for the database");
                let wait = backoff::doubling(FIRST_PAUSE, LONGEST_PAUSE, failures, deps.ids.fraction());
                failures = failures.saturating_add(1);
                deps.clock.sleep(wait).await;
            }
            Err(error) => return Err(error),
        }
    }
}

/// One look for evidence.
async fn look(deps: Deps, dispatch: Dispatch) {
    let target = {
        let id = dispatch.effect.clone();
        deps.store.read(move |connection| Ok::<_, EvidenceError>(super::row::load(connection, &id)?.target)).await
    };
    let found = match target {
        Ok(name) => match deps.targets.get(&name) {
            Some(target) => {
                if let Err(failed) = failpoint::hit("evidence.before_reconcile") {
                    Found::Unreachable { reason: failed.to_string() }
                } else {
                    target.reconcile(&dispatch).await
                }
            }
            None => Found::Unreachable { reason: format!("{name} is not set up now") },
        },
        Err(error) => Found::Unreachable { reason: error.to_string() },
    };
    let (now, settings) = (deps.clock.now(), deps.settings.clone());
    let (id, epoch) = (dispatch.effect.clone(), dispatch.epoch);
    let written = deps
        .store
        .write("evidence.reconcile", Durability::Normal, move |tx| apply_found(tx, now, &settings, &id, epoch, &found))
        .await;
    if let Err(error) = written {
        // The row is as it was; it is due again after the worker's pause.
        tracing::warn!(%error, effect = %dispatch.effect, "what a look showed could not be written");
        deps.clock.sleep(FIRST_PAUSE).await;
    }
}
