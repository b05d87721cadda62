//! The audit log: pages, verification, export to a file.

use std::io::Write;
use std::path::PathBuf;

use rusqlite::Connection;

use super::chain;
use super::desk::DeskParts;
use super::wire::{
    ActivityFilter, ActivityPage, ActivityRow, ExportFormat, ExportProgress, Exported, Failure, FailureCode,
    Verification,
};
use crate::audit::{self, Export, Filter, Format};
use crate::domain::ids::ConversationId;
use crate::store::secure_file;

const PAGE: i64 = 100;

fn filter(from: ActivityFilter) -> Filter {
    Filter {
        kinds: from.kinds,
        conversation: from.conversation.and_then(|id| id.parse().ok()),
        since: from.since,
        until: from.until,
    }
}

pub(super) async fn page(
    parts: &DeskParts,
    asked: ActivityFilter,
    older: Option<i64>,
) -> Result<ActivityPage, Failure> {
    let filter = filter(asked);
    parts.guard.store.read(move |connection| read(connection, &filter, older)).await
}

fn read(connection: &Connection, filter: &Filter, older: Option<i64>) -> Result<ActivityPage, Failure> {
    let found = audit::newest(connection, filter, older, PAGE)?;
    let more = i64::try_from(found.len()).unwrap_or(0) == PAGE;
    let rows: Vec<ActivityRow> = found
        .into_iter()
        .map(|entry| {
            let title = chain::title(connection, entry.conversation.map(ConversationId))?;
            Ok(ActivityRow {
                seq: entry.seq,
                at: entry.at,
                subject: entry.about().map(str::to_owned),
                details: serde_json::from_str(&entry.details)?,
                kind: entry.kind,
                actor: entry.actor,
                conversation: entry.conversation.map(|id| id.to_string()),
                conversation_title: Some(title).filter(|title| !title.is_empty()),
                effect: entry.effect,
                hash: entry.hash,
            })
        })
        .collect::<Result<_, Failure>>()?;
    let older = rows.last().filter(|_| more).map(|last| last.seq);
    Ok(ActivityPage { older, total: audit::count(connection, filter)?, rows })
}

pub(super) async fn verify(parts: &DeskParts) -> Result<Verification, Failure> {
    let found = parts.api.verify().await?;
    Ok(Verification {
        entries: found.entries,
        bad: found.bad.as_ref().map(|bad| bad.seq),
        reason: found.bad.map(|bad| bad.reason),
        at: parts.guard.clock.now().wall.0,
    })
}

/// Written beside and renamed at the end: a stopped or failed export leaves nothing.
pub(super) async fn export(
    parts: &DeskParts,
    asked: ActivityFilter,
    format: ExportFormat,
    path: PathBuf,
    mut progress: impl FnMut(ExportProgress) + Send,
    stop: impl Fn() -> bool + Send,
) -> Result<Exported, Failure> {
    let store = &parts.guard.store;
    let format = match format {
        ExportFormat::Jsonl => Format::Jsonl,
        ExportFormat::Csv => Format::Csv,
    };
    let beside = path.with_extension("part");
    let mut export =
        Export::begin(store, filter(asked), format, parts.api.parts().zone.clone()).await.map_err(Failure::from)?;
    let mut file = std::fs::File::create(&beside).map_err(unwritable)?;
    secure_file(&beside).map_err(Failure::from)?;
    loop {
        let chunk = export.next(store).await.map_err(Failure::from)?;
        for line in &chunk.lines {
            // CSV lines carry their own end.
            let written = if line.ends_with('\n') { file.write_all(line.as_bytes()) } else { writeln!(file, "{line}") };
            written.map_err(unwritable)?;
        }
        let (at, end) = export.progress();
        progress(ExportProgress { written: at, total: end, done: chunk.done, path: None });
        if chunk.done {
            break;
        }
        if stop() {
            // silent-ok: the half file may be gone already.
            let _ = std::fs::remove_file(&beside);
            return Err(Failure::new(FailureCode::Cancelled, ""));
        }
    }
    file.sync_all().map_err(unwritable)?;
    std::fs::rename(&beside, &path).map_err(unwritable)?;
    Ok(Exported { path: path.display().to_string(), entries: export.rows() })
}

fn unwritable(error: std::io::Error) -> Failure {
    Failure::new(FailureCode::Invalid, format!("the file cannot be written: {error}"))
}
