//! Answering requests: reads page by page, acts through the stage that owns them.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::tz::TimeZone;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::mpsc::Sender;

use super::request::{Failure, FailureCode, Line, Request, Resolution};
use super::rows;
use super::status::{HostStatus, status};
use crate::approvals::{self, ApprovalError, Decision, Surface};
use crate::audit::{self, Anchors, Export, Filter, Format, Progress, Walk};
use crate::domain::effect::EffectState;
use crate::domain::ids::{ApprovalId, ConversationId, EffectId};
use crate::domain::ports::{Calendar, CalendarError, Clock};
use crate::domain::time::Wall;
use crate::evidence::{self, EvidenceError};
use crate::store::{Durability, Store};

/// What only the host knows: states of the edges, and the place of files.
#[async_trait]
pub trait Host: Send + Sync + 'static {
    fn status(&self) -> HostStatus;
    /// Writes a consistent copy of the database.
    async fn backup(&self, file: PathBuf) -> Result<(), Failure>;
}

/// What requests are answered from.
pub struct Parts {
    pub store: Store,
    pub clock: Arc<dyn Clock>,
    /// Of every time that is shown.
    pub zone: TimeZone,
    pub calendar: Arc<dyn Calendar>,
    pub rules: approvals::Rules,
    pub anchors: Anchors,
    pub host: Arc<dyn Host>,
}

/// Answers requests. Cheap to clone.
#[derive(Clone)]
pub struct Api(Arc<Parts>);

enum Stop {
    /// Nobody reads the answer any more.
    Gone,
    Failed(Failure),
}

impl<E: Into<Failure>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// Where the lines of one answer go.
struct Answer(Sender<Line>);

impl Answer {
    async fn row(&self, row: impl Serialize) -> Result<(), Stop> {
        let value = serde_json::to_value(row)?;
        self.0.send(Line::Row(value)).await.map_err(|_| Stop::Gone)
    }

    async fn rows(&self, rows: impl IntoIterator<Item = impl Serialize>) -> Result<(), Stop> {
        for row in rows {
            self.row(row).await?;
        }
        Ok(())
    }

    async fn text(&self, text: String) -> Result<(), Stop> {
        self.0.send(Line::Text(text)).await.map_err(|_| Stop::Gone)
    }
}

impl Api {
    pub fn new(parts: Parts) -> Self {
        Self(Arc::new(parts))
    }

    pub fn parts(&self) -> &Parts {
        &self.0
    }

    /// Sends the lines of the answer, the last one [`Line::Done`] or [`Line::Failed`].
    pub async fn answer(&self, request: Request, lines: Sender<Line>) {
        let answer = Answer(lines);
        let last = match self.dispatch(request, &answer).await {
            Ok(()) => Line::Done,
            Err(Stop::Failed(failure)) => Line::Failed(failure),
            Err(Stop::Gone) => return,
        };
        // silent-ok: the reader may have gone at the very end.
        let _ = answer.0.send(last).await;
    }

    async fn dispatch(&self, request: Request, answer: &Answer) -> Result<(), Stop> {
        match request {
            Request::Status => answer.row(status(&self.0).await?).await,
            Request::Conversations => {
                let zone = self.0.zone.clone();
                let rows = self.0.store.read(move |connection| rows::conversations(connection, &zone)).await?;
                answer.rows(rows).await
            }
            Request::Conversation { id } => self.conversation(&id, answer).await,
            Request::Calendar { from, to } => self.calendar(from, to, answer).await,
            Request::Approvals { all } => self.approvals(all, answer).await,
            Request::Decide { id, approve } => answer.row(self.decide(&id, approve).await?).await,
            Request::Evidence { state } => self.evidence(state, answer).await,
            Request::EvidenceOf { id } => answer.row(self.evidence_of(&id).await?).await,
            Request::Resolve { id, resolution } => answer.row(self.resolve(&id, resolution).await?).await,
            Request::Duplicates => self.duplicates(answer).await,
            Request::AuditExport { filter, format } => self.export(filter, format, answer).await,
            Request::AuditVerify => answer.row(self.verify().await?).await,
            Request::Backup { file } => {
                self.0.host.backup(PathBuf::from(&file)).await?;
                answer.row(json!({ "file": file })).await
            }
        }
    }

    async fn conversation(&self, id: &str, answer: &Answer) -> Result<(), Stop> {
        let known: ConversationId = id.parse().map_err(|_| Failure::not_found("conversation", id))?;
        let zone = self.0.zone.clone();
        let rows = self.0.store.read(move |connection| rows::conversation(connection, known, &zone)).await?;
        answer.rows(rows.ok_or_else(|| Failure::not_found("conversation", id))?).await
    }

    async fn calendar(&self, from: Option<String>, to: Option<String>, answer: &Answer) -> Result<(), Stop> {
        const DAY: i64 = 86_400_000;
        let now = self.0.clock.now().wall;
        let from = from.map_or(Ok(now), |text| self.instant("--from", &text, false))?;
        // As far as people plan, unless told otherwise.
        let to = to.map_or(Ok(Wall(from.0 + 30 * DAY)), |text| self.instant("--to", &text, true))?;
        let calendar = self.0.calendar.resolve(None).await.map_err(calendar_failure)?;
        for event in self.0.calendar.list(&calendar, from, to).await.map_err(calendar_failure)? {
            let id = event.id.clone();
            let effect: Option<String> =
                self.0.store.read(move |connection| rows::effect_of_event(connection, &id)).await?;
            answer.row(rows::CalendarRow::of(event, effect)).await?;
        }
        Ok(())
    }

    fn instant(&self, option: &str, text: &str, upper: bool) -> Result<Wall, Failure> {
        instant(&self.0.zone, text, upper).ok_or_else(|| {
            let message = format!("{option} {text} is neither a date (2026-12-07) nor a time with offset");
            Failure::new(FailureCode::Invalid, message)
        })
    }

    async fn approvals(&self, all: bool, answer: &Answer) -> Result<(), Stop> {
        let mut before = None;
        loop {
            let zone = self.0.zone.clone();
            let rows = self.0.store.read(move |connection| rows::approvals(connection, all, before, &zone)).await?;
            let Some(last) = rows.last() else { return Ok(()) };
            before = last.id.parse().ok();
            answer.rows(rows).await?;
        }
    }

    async fn decide(&self, id: &str, approve: bool) -> Result<Value, Failure> {
        let approval: ApprovalId = id.parse().map_err(|_| Failure::not_found("approval", id))?;
        let decision = if approve { Decision::Approve } else { Decision::Deny };
        let parts = &self.0;
        approvals::decide_now(&parts.store, &parts.clock, &parts.rules, approval, decision, "cli", Surface::Cli)
            .await
            .map_err(approval_failure)?;
        let zone = parts.zone.clone();
        let row = parts.store.read(move |connection| rows::approval(connection, approval, &zone)).await?;
        Ok(serde_json::to_value(row)?)
    }

    async fn evidence(&self, state: Option<EffectState>, answer: &Answer) -> Result<(), Stop> {
        let mut after = None;
        loop {
            let (zone, from) = (self.0.zone.clone(), after.clone());
            let read = move |connection: &rusqlite::Connection| rows::evidence(connection, state, from.as_ref(), &zone);
            let (rows, end) = self.0.store.read(read).await?;
            answer.rows(rows).await?;
            match end {
                Some(end) => after = Some(end),
                None => return Ok(()),
            }
        }
    }

    async fn evidence_of(&self, id: &str) -> Result<rows::EvidenceDetail, Failure> {
        let (effect, zone) = (EffectId::new(id), self.0.zone.clone());
        let found = self.0.store.read(move |connection| rows::evidence_of(connection, &effect, &zone)).await?;
        found.ok_or_else(|| Failure::not_found("effect", id))
    }

    async fn resolve(&self, id: &str, resolution: Resolution) -> Result<rows::EvidenceDetail, Failure> {
        let (effect, now) = (EffectId::new(id), self.0.clock.now());
        let settings = self.0.rules.evidence.clone();
        let resolution = match resolution {
            Resolution::Sent => evidence::Resolution::Sent,
            Resolution::NotSent => evidence::Resolution::NotSent,
            Resolution::Drop => evidence::Resolution::Drop,
            Resolution::Leave => evidence::Resolution::Leave,
        };
        self.0
            .store
            .write("evidence.resolve", Durability::Full, move |tx| {
                evidence::resolve(tx, now, &settings, &effect, resolution, "cli")
            })
            .await
            .map_err(evidence_failure)?;
        self.evidence_of(id).await
    }

    async fn duplicates(&self, answer: &Answer) -> Result<(), Stop> {
        let mut before = None;
        loop {
            let zone = self.0.zone.clone();
            let rows = self.0.store.read(move |connection| rows::duplicates(connection, before, &zone)).await?;
            let Some(last) = rows.last() else { return Ok(()) };
            before = last.id.parse().ok();
            answer.rows(rows).await?;
        }
    }

    async fn export(&self, filter: Filter, format: Format, answer: &Answer) -> Result<(), Stop> {
        let store = &self.0.store;
        let mut export = Export::begin(store, filter, format, self.0.zone.clone()).await?;
        loop {
            let chunk = export.next(store).await?;
            for line in chunk.lines {
                answer.text(line).await?;
            }
            if chunk.done {
                return Ok(());
            }
        }
    }

    /// Walks the whole log in short snapshots.
    pub async fn verify(&self) -> Result<audit::Verification, Failure> {
        let anchor = self.0.anchors.load().await.map_err(|error| {
            Failure::new(FailureCode::Unavailable, format!("the anchored head cannot be read: {error}"))
        })?;
        let mut walk = Walk::default();
        loop {
            let (mut at, kept) = (walk.clone(), anchor.clone());
            let (next, progress) = self
                .0
                .store
                .read(move |connection| {
                    let progress = audit::verify_page(connection, &mut at, kept.as_ref())?;
                    Ok::<_, crate::store::StoreError>((at, progress))
                })
                .await?;
            walk = next;
            match progress {
                Progress::More => {}
                Progress::Bad(bad) => return Ok(walk.end(Some(bad))),
                Progress::End => {
                    let cut = audit::cut_tail(&walk, anchor.as_ref());
                    return Ok(walk.end(cut));
                }
            }
        }
    }
}

/// A time with offset, or a date: its start, or its end for an upper bound.
pub fn instant(zone: &TimeZone, text: &str, upper: bool) -> Option<Wall> {
    if let Ok(timestamp) = text.parse::<jiff::Timestamp>() {
        return Some(timestamp.into());
    }
    let date: jiff::civil::Date = text.parse().ok()?;
    let date = if upper { date.tomorrow().ok()? } else { date };
    zone.to_ambiguous_timestamp(date.at(0, 0, 0, 0)).compatible().ok().map(Wall::from)
}

fn calendar_failure(error: CalendarError) -> Failure {
    let code = match error {
        CalendarError::NotFound { .. } => FailureCode::NotFound,
        CalendarError::Refused { .. } | CalendarError::Changed { .. } | CalendarError::Exists { .. } => {
            FailureCode::Invalid
        }
        CalendarError::Unavailable { .. } | CalendarError::NoAnswer { .. } | CalendarError::Unauthorized { .. } => {
            FailureCode::Unavailable
        }
    };
    Failure::new(code, error.to_string())
}

fn approval_failure(error: ApprovalError) -> Failure {
    match error {
        ApprovalError::NotFound(id) => Failure::not_found("approval", &id.to_string()),
        ApprovalError::AlreadyDecided { .. }
        | ApprovalError::Expired(_)
        | ApprovalError::Changed(_)
        | ApprovalError::UnderWay(_)
        | ApprovalError::NotExpired(_) => Failure::new(FailureCode::Settled, error.to_string()),
        ApprovalError::Evidence(error) => evidence_failure(error),
        ApprovalError::Store(error) => error.into(),
    }
}

fn evidence_failure(error: EvidenceError) -> Failure {
    match error {
        EvidenceError::NotFound(id) => Failure::not_found("effect", id.as_str()),
        EvidenceError::Settled { .. } => Failure::new(FailureCode::Settled, error.to_string()),
        EvidenceError::NoTarget { .. } | EvidenceError::NotSendable { .. } => {
            Failure::new(FailureCode::Invalid, error.to_string())
        }
        EvidenceError::Illegal(_) => Failure::new(FailureCode::Internal, error.to_string()),
        EvidenceError::Store(error) => error.into(),
    }
}
