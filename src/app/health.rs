//! How the edges are doing, seen from their own calls: nothing is asked of a server only to show a state.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;

use crate::api::EdgeStatus;
use crate::domain::action::{EventChanges, SendEmail};
use crate::domain::calendar::{CalendarInfo, Event, EventDraft, EventTime};
use crate::domain::chat::{ChatReply, ChatRequest, ModelError};
use crate::domain::effect::{Outcome, Performed};
use crate::domain::ids::AccountId;
use crate::domain::mail::FrozenMail;
use crate::domain::ports::{Calendar, CalendarError, CalendarWarning, ChatModel, MailSender, StreamSink};
use crate::domain::time::Wall;
use crate::runtime::redact::redact;

/// What the last call showed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum ObservedState {
    #[default]
    NotUsedYet,
    Ok,
    Failing(String),
}

/// Shared between the wrapped edge and whoever shows its state.
#[derive(Clone, Default)]
pub struct Observed(Arc<Mutex<ObservedState>>);

impl Observed {
    pub fn ok(&self) {
        self.set(ObservedState::Ok);
    }

    pub fn failed(&self, reason: &impl ToString) {
        self.set(ObservedState::Failing(redact(&reason.to_string())));
    }

    fn set(&self, state: ObservedState) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }

    pub fn state(&self) -> ObservedState {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn status(&self, name: &str, account: Option<String>) -> EdgeStatus {
        let (state, reason) = match self.state() {
            ObservedState::NotUsedYet => ("not_used_yet", None),
            ObservedState::Ok => ("ok", None),
            ObservedState::Failing(reason) => ("failing", Some(reason)),
        };
        EdgeStatus { state: state.to_owned(), reason, name: name.to_owned(), account, last_at: None::<Wall> }
    }
}

/// A model whose calls are watched.
pub(super) struct WatchedModel {
    pub(super) inner: Arc<dyn ChatModel>,
    pub(super) observed: Observed,
}

#[async_trait]
impl ChatModel for WatchedModel {
    fn name(&self) -> String {
        self.inner.name()
    }

    async fn reply(&self, request: &ChatRequest, sink: &dyn StreamSink) -> Result<ChatReply, ModelError> {
        let reply = self.inner.reply(request, sink).await;
        match &reply {
            // A conversation that is too long says nothing of the provider.
            Ok(_) | Err(ModelError::ContextOverflow) => self.observed.ok(),
            Err(error) => self.observed.failed(error),
        }
        reply
    }
}

/// A calendar whose calls are watched.
pub(super) struct WatchedCalendar {
    pub(super) inner: Arc<dyn Calendar>,
    pub(super) observed: Observed,
}

impl WatchedCalendar {
    fn seen<T>(&self, result: Result<T, CalendarError>) -> Result<T, CalendarError> {
        match &result {
            Err(
                error @ (CalendarError::Unavailable { .. }
                | CalendarError::NoAnswer { .. }
                | CalendarError::Unauthorized { .. }),
            ) => self.observed.failed(error),
            // An answer, whatever it says of the event.
            Ok(_)
            | Err(
                CalendarError::Refused { .. }
                | CalendarError::NotFound { .. }
                | CalendarError::Changed { .. }
                | CalendarError::Exists { .. },
            ) => self.observed.ok(),
        }
        result
    }
}

#[async_trait]
impl Calendar for WatchedCalendar {
    fn account(&self) -> AccountId {
        self.inner.account()
    }
    fn backend(&self) -> &'static str {
        self.inner.backend()
    }
    fn warnings(&self) -> Vec<CalendarWarning> {
        self.inner.warnings()
    }
    async fn calendars(&self) -> Result<Vec<CalendarInfo>, CalendarError> {
        self.seen(self.inner.calendars().await)
    }
    async fn resolve(&self, name: Option<&str>) -> Result<String, CalendarError> {
        self.seen(self.inner.resolve(name).await)
    }
    async fn list(&self, calendar: &str, from: Wall, to: Wall) -> Result<Vec<Event>, CalendarError> {
        self.seen(self.inner.list(calendar, from, to).await)
    }
    async fn get(&self, calendar: &str, id: &str) -> Result<Event, CalendarError> {
        self.seen(self.inner.get(calendar, id).await)
    }
    async fn create(&self, draft: &EventDraft) -> Result<Event, CalendarError> {
        self.seen(self.inner.create(draft).await)
    }
    async fn update(
        &self,
        calendar: &str,
        id: &str,
        occurrence: Option<&EventTime>,
        changes: &EventChanges,
        etag: Option<&str>,
    ) -> Result<Event, CalendarError> {
        self.seen(self.inner.update(calendar, id, occurrence, changes, etag).await)
    }
    async fn delete(
        &self,
        calendar: &str,
        id: &str,
        occurrence: Option<&EventTime>,
        etag: Option<&str>,
    ) -> Result<(), CalendarError> {
        self.seen(self.inner.delete(calendar, id, occurrence, etag).await)
    }
}

/// A mail sender whose attempts are watched.
pub(super) struct WatchedSender {
    pub(super) inner: Arc<dyn MailSender>,
    pub(super) observed: Observed,
}

#[async_trait]
impl MailSender for WatchedSender {
    fn account(&self) -> AccountId {
        self.inner.account()
    }
    fn backend(&self) -> &'static str {
        self.inner.backend()
    }
    fn saves_only(&self) -> bool {
        self.inner.saves_only()
    }
    fn files_sent(&self) -> bool {
        self.inner.files_sent()
    }
    fn freeze(&self, mail: &SendEmail, token: &str, at: Wall) -> Result<FrozenMail, String> {
        self.inner.freeze(mail, token, at)
    }
    async fn send(&self, mail: &FrozenMail, recipients: &[String], provider_id: Option<&str>) -> Performed {
        let performed = self.inner.send(mail, recipients, provider_id).await;
        match &performed.outcome {
            // A refusal of this mail is an answer of a server that works.
            Outcome::Accepted { .. } | Outcome::Rejected { .. } => self.observed.ok(),
            Outcome::Retryable { reason, .. } | Outcome::Unknown { reason } => self.observed.failed(reason),
        }
        performed
    }
}
