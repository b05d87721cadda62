//! Everything the window may ask of the running assistant, on one handle.

use std::sync::Arc;

use super::wire::*;
use super::{approvals, calendar, conversations, duplicates, evidence, later, log, search, snapshot, timeline};
use crate::api::Api;
use crate::debounce;
use crate::domain::action::Action;
use crate::domain::ids::ConversationId;
use crate::domain::language;
use crate::guard;
use crate::inbox::Ingress;
use crate::store::{Store, Table, Watch};

/// What the desk stands on; the host composes it.
#[derive(Clone)]
pub struct DeskParts {
    pub api: Api,
    pub guard: guard::Deps,
    pub ingress: Ingress,
    pub debounce: Arc<debounce::Settings>,
    pub zone_name: String,
    pub language: language::Language,
    pub theme: Theme,
    pub practice: bool,
    pub hold_seconds: i64,
    /// Nothing runs; messages are stored and wait.
    pub paused: bool,
}

/// Cheap to clone.
#[derive(Clone)]
pub struct Desk(pub(super) Arc<DeskParts>);

type Answer<T> = Result<T, Failure>;

/// Tables whose changes a window shows, with the views they concern.
const SHOWN: [(Table, &[Topic]); 15] = [
    (Table::Conversations, &[Topic::Conversations]),
    (Table::Inbound, &[Topic::Conversations]),
    (Table::Bursts, &[Topic::Conversations, Topic::Duplicates]),
    (Table::Turns, &[Topic::Conversations]),
    (Table::TurnSteps, &[Topic::Conversations]),
    (Table::Outbound, &[Topic::Conversations]),
    (Table::Effects, &[Topic::Evidence, Topic::Approvals, Topic::Calendar, Topic::Conversations]),
    (Table::EffectAttempts, &[Topic::Evidence]),
    (Table::Approvals, &[Topic::Approvals, Topic::Conversations]),
    (Table::Prevented, &[Topic::Duplicates]),
    (Table::CalendarEvents, &[Topic::Calendar]),
    (Table::Schedules, &[Topic::Settings]),
    (Table::Facts, &[Topic::Settings]),
    (Table::Audit, &[Topic::Activity]),
    (Table::Meta, &[]),
];

impl Desk {
    pub fn new(parts: DeskParts) -> Self {
        Self(Arc::new(parts))
    }

    pub(super) fn store(&self) -> &Store {
        &self.0.api.parts().store
    }

    /// To wait for the next change that a window would show.
    pub fn watch(&self) -> Watch {
        self.store().watch(&SHOWN.map(|(table, _)| table))
    }

    /// What a change means for a window.
    pub async fn patch(&self, changes: crate::store::Changes) -> Answer<Patch> {
        let mut topics: Vec<Topic> = SHOWN
            .iter()
            .filter(|(table, _)| changes.contains(*table))
            .flat_map(|(_, topics)| topics.iter().copied())
            .collect();
        topics.sort();
        topics.dedup();
        Ok(Patch { snapshot: self.snapshot().await?, topics })
    }

    pub async fn snapshot(&self) -> Answer<Snapshot> {
        snapshot::read(&self.0).await
    }

    pub async fn search(&self, text: String) -> Answer<Vec<SearchHit>> {
        self.store().read(move |connection| search::hits(connection, &text)).await
    }

    pub async fn conversations(&self) -> Answer<Vec<ConversationRow>> {
        conversations::list(&self.0).await
    }

    pub async fn timeline(&self, conversation: String, older: Option<TimelineCursor>) -> Answer<TimelinePage> {
        let id: ConversationId = conversation.parse().map_err(|_| Failure::not_found())?;
        self.store().read(move |connection| timeline::page(connection, id, older).map_err(Failure::from)).await
    }

    pub async fn approvals(&self, all: bool) -> Answer<Vec<ApprovalRow>> {
        approvals::list(&self.0, all).await
    }

    pub async fn approval(&self, id: String) -> Answer<ApprovalDetail> {
        approvals::detail(&self.0, &id).await
    }

    pub async fn evidence(&self, filter: EvidenceFilter, older: Option<String>) -> Answer<EvidencePage> {
        evidence::page(&self.0, filter, older).await
    }

    pub async fn evidence_detail(&self, id: String) -> Answer<EvidenceDetail> {
        evidence::detail(&self.0, id).await
    }

    pub async fn duplicates(&self, layer: Option<String>, older: Option<String>) -> Answer<DuplicatePage> {
        duplicates::page(&self.0, layer, older).await
    }

    pub async fn duplicate(&self, id: String) -> Answer<DuplicateDetail> {
        duplicates::detail(&self.0, id).await
    }

    pub async fn duplicate_chart(&self, days: i64) -> Answer<LayerChart> {
        duplicates::chart(&self.0, days).await
    }

    pub async fn calendar(&self, from: i64, until: i64) -> Answer<CalendarView> {
        calendar::view(&self.0, from, until).await
    }

    pub async fn activity(&self, filter: ActivityFilter, older: Option<i64>) -> Answer<ActivityPage> {
        log::page(&self.0, filter, older).await
    }

    pub async fn verify_audit(&self) -> Answer<Verification> {
        log::verify(&self.0).await
    }

    /// Writes the log to `path` and tells how far it is. `stop` is asked between pages; a stopped export leaves no file.
    pub async fn export_audit(
        &self,
        filter: ActivityFilter,
        format: ExportFormat,
        path: std::path::PathBuf,
        progress: impl FnMut(ExportProgress) + Send,
        stop: impl Fn() -> bool + Send,
    ) -> Answer<Exported> {
        log::export(&self.0, filter, format, path, progress, stop).await
    }

    pub fn explain_debounce(&self, text: &str) -> Explained {
        let explained = debounce::explain(text, &self.0.debounce);
        Explained {
            signal: explained.signal.as_str().to_owned(),
            window_ms: i64::try_from(explained.window.as_millis()).unwrap_or(i64::MAX),
        }
    }

    pub async fn usage(&self, days: i64) -> Answer<Vec<UsageDay>> {
        later::usage(&self.0, days).await
    }

    pub async fn schedules(&self) -> Answer<Vec<ScheduleRow>> {
        self.store().read(|connection| Ok(later::schedules(connection)?)).await
    }

    pub async fn facts(&self) -> Answer<Vec<FactRow>> {
        self.store().read(|connection| Ok(later::facts(connection)?)).await
    }

    pub async fn cancel_schedule(&self, id: String) -> Answer<()> {
        later::cancel_schedule(&self.0, id).await
    }

    pub async fn forget_fact(&self, id: String) -> Answer<()> {
        later::forget_fact(&self.0, id).await
    }

    pub async fn decide(&self, id: String, decision: Decision) -> Answer<Decided> {
        self.decide_by(&id, decision, crate::approvals::Surface::Window).await
    }

    /// Edits the action of a pending approval; the new card's id.
    pub async fn edit_action(&self, id: String, action: Action) -> Answer<String> {
        self.edit(&id, action).await
    }
}
