//! The way of one admission: check, look, admit in one transaction, and wait outside of it for the same action in flight.

use std::sync::Arc;
use std::time::Duration;

use super::error::GuardError;
use super::look::{self, Looks};
use super::normalise::normalise;
use super::request::{AdmitRequest, ByPerson, Deps};
use super::transaction::{Admission, Step};
use super::validate::validate;
use crate::domain::action::Action;
use crate::domain::effect::Verdict;
use crate::runtime::{backoff, seeded};
use crate::store::{Durability, StoreError, Table};

/// How often a waiting call looks for what other programs committed.
const OTHERS_CHECK: Duration = Duration::from_millis(250);

/// A busy database is tried again before a caller hears of it.
const BUSY_TRIES: u32 = 4;
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Why a transaction was rolled back.
enum Unsettled {
    /// Something has to be done outside of it first.
    Step(Step),
    Failed(GuardError),
}

impl From<GuardError> for Unsettled {
    fn from(error: GuardError) -> Self {
        Self::Failed(error)
    }
}

impl From<StoreError> for Unsettled {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.into())
    }
}

/// Gives the verdict on an effect that somebody asks for, and inserts what it admits.
///
/// Errors: [`GuardError::TurnSuperseded`] ends the turn; [`GuardError::Refused`] is for the model to correct.
pub async fn admit(deps: &Deps, request: AdmitRequest) -> Result<Verdict, GuardError> {
    run(deps, request, ByPerson::default(), |_| Ok(())).await
}

/// `first` runs in the same transaction before the admission.
pub(super) async fn run(
    deps: &Deps,
    request: AdmitRequest,
    person: ByPerson,
    first: impl Fn(&rusqlite::Transaction<'_>) -> Result<(), GuardError> + Send + Sync + Clone + 'static,
) -> Result<Verdict, GuardError> {
    validate(&request.action, &deps.settings)?;
    let mut normalised = normalise(&request.action, &deps.settings.zone, request.account.as_str())?;
    if seeded::bug("chat_in_the_scope") {
        normalised.identity.0.push_str(&format!("{:?}", request.conversation));
    }
    let normalised = Arc::new(normalised);
    let (request, person) = (Arc::new(request), Arc::new(person));
    let calendar = deps
        .calendar
        .clone()
        .filter(|calendar| look::is_readable(&request.action) && calendar.account() == request.account);
    // A person's act is on disk when it is answered.
    let durability =
        if person.approves.is_some() || person.replaces.is_some() { Durability::Full } else { Durability::Normal };
    let until = deps.clock.now().elapsed.plus(deps.settings.in_flight_wait);
    let watch = deps.store.watch(&[Table::Effects]);
    let mut looks = Looks::default();
    let mut busy = 0;
    loop {
        let now = deps.clock.now();
        let (settings, rules) = (deps.settings.clone(), deps.rules.clone());
        let (in_request, in_person, in_normalised) = (request.clone(), person.clone(), normalised.clone());
        let (in_looks, mail_saves_only, can_look) = (looks.clone(), deps.mail_saves_only, calendar.is_some());
        let first = first.clone();
        let step = deps
            .store
            .write("guard.admit", durability, move |tx| {
                first(tx)?;
                let step = Admission {
                    now,
                    settings: &settings,
                    rules: &rules,
                    mail_saves_only,
                    request: &in_request,
                    person: &in_person,
                    normalised: &in_normalised,
                    can_look,
                    looks: &in_looks,
                    patient: now.elapsed < until,
                }
                .run(tx)?;
                match step {
                    Step::Settled(verdict) => Ok(*verdict),
                    // Rolled back: the next round reads and decides anew.
                    other => Err(Unsettled::Step(other)),
                }
            })
            .await;
        match step {
            Ok(verdict) => return Ok(verdict),
            Err(Unsettled::Step(Step::Settled(verdict))) => return Ok(*verdict),
            Err(Unsettled::Step(Step::Wait)) => {
                tokio::select! {
                    _ = watch.changed() => {}
                    // Another connection's commits are not announced here.
                    () = deps.clock.sleep(until.since(now.elapsed).min(OTHERS_CHECK)) => {}
                }
            }
            Err(Unsettled::Step(Step::Read(row))) => {
                let read = match &calendar {
                    Some(calendar) => look::read_back(calendar, &deps.settings, &row).await,
                    None => look::ReadBack::Unreachable,
                };
                looks.reads.insert(row.id.clone(), read);
            }
            Err(Unsettled::Step(Step::Look)) => {
                let found = match (&calendar, &request.action) {
                    (Some(calendar), Action::CreateEvent(event)) => {
                        look::look_for(calendar, &deps.settings, event).await
                    }
                    _ => None,
                };
                looks.exists = Some(found);
            }
            Err(Unsettled::Failed(GuardError::Store(error @ StoreError::Locked))) if busy < BUSY_TRIES => {
                tracing::debug!(%error, "an admission waits for the database");
                deps.clock.sleep(backoff::doubling(FIRST_PAUSE, LONGEST_PAUSE, busy, deps.rules.ids.fraction())).await;
                busy += 1;
            }
            Err(Unsettled::Failed(error)) => return Err(error),
        }
    }
}
