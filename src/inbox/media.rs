//! Files of messages: fetched into the data folder by content, and voice notes heard.
//!
//! In: rows with media that are not fetched. Out: rows of `attachments`, the row's parts completed.
//! Invariants: a file is on disk before its row says so; what can't be fetched says why and is left alone; a message
//! never waits for a file, only for a transcript.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::error::InboxError;
use crate::domain::conversation::ChannelKind;
use crate::domain::document;
use crate::domain::ids::InboundId;
use crate::domain::message::{Media, Parts, Transcript};
use crate::domain::ports::{Clock, InboundSource, PollError, Transcriber};
use crate::domain::time::{Elapsed, Now};
use crate::runtime::backoff;
use crate::runtime::hash::sha256_hex;
use crate::store::{DataFolder, Durability, Store, StoreError, Table, secure_file};

#[derive(Clone)]
pub struct MediaDeps {
    pub store: Store,
    pub clock: Arc<dyn Clock>,
    pub source: Arc<dyn InboundSource>,
    pub folder: DataFolder,
    /// `None`: voice notes are not listened to.
    pub transcriber: Option<Arc<dyn Transcriber>>,
}

/// Fetches one file after the other.
pub struct MediaWorker {
    deps: MediaDeps,
    tries: HashMap<(InboundId, String), Try>,
}

#[derive(Clone, Copy)]
struct Try {
    count: u32,
    next: Elapsed,
}

/// One file that a message refers to.
#[derive(Clone, PartialEq, Debug)]
struct Wanted {
    inbound: InboundId,
    media: Media,
}

/// The most a bot may fetch; larger ones are not tried.
const LARGEST: i64 = 20 * 1024 * 1024;
const MOST_TRIES: u32 = 3;
const FIRST_RETRY: Duration = Duration::from_secs(2);
const LONGEST_RETRY: Duration = Duration::from_secs(60);
/// Longest time for one transcript: beyond it the message has gone on without.
const HEARING: Duration = Duration::from_secs(60);

impl MediaWorker {
    pub fn new(deps: MediaDeps) -> Self {
        Self { deps, tries: HashMap::new() }
    }

    /// Runs until it is dropped.
    pub async fn run(mut self) {
        let watch = self.deps.store.watch(&[Table::Inbound]);
        loop {
            let next = match self.round().await {
                Ok(next) => next,
                Err(error) => {
                    tracing::warn!(%error, "files wait to be fetched");
                    Some(self.deps.clock.now().elapsed.plus(FIRST_RETRY))
                }
            };
            let clock = self.deps.clock.clone();
            let due = async move {
                match next {
                    Some(at) => clock.sleep(at.since(clock.now().elapsed)).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = watch.changed() => {}
                () = due => {}
            }
        }
    }

    /// Fetches what may be fetched now. Gives when to try again.
    async fn round(&mut self) -> Result<Option<Elapsed>, InboxError> {
        let channel = self.deps.source.kind();
        let mut next: Option<Elapsed> = None;
        for wanted in self.deps.store.read(move |connection| wanted(connection, channel)).await? {
            let key = (wanted.inbound, wanted.media.file.clone());
            let now = self.deps.clock.now().elapsed;
            let before = self.tries.get(&key).copied().unwrap_or(Try { count: 0, next: now });
            if before.next > now {
                next = Some(next.map_or(before.next, |at| at.min(before.next)));
                continue;
            }
            let fetched = if wanted.media.bytes.is_some_and(|bytes| bytes > LARGEST) {
                Err(PollError::Offline { reason: "the file is larger than 20 MB".to_owned() })
            } else {
                self.deps.source.fetch(&wanted.media.file).await
            };
            let too_large = wanted.media.bytes.is_some_and(|bytes| bytes > LARGEST);
            match fetched {
                Ok(bytes) => {
                    self.tries.remove(&key);
                    self.keep(wanted, bytes).await?;
                }
                Err(error) if too_large || before.count + 1 >= MOST_TRIES => {
                    self.tries.remove(&key);
                    self.give_up(wanted, error.to_string()).await?;
                }
                Err(error) => {
                    tracing::info!(%error, inbound_id = wanted.inbound.0, "a file is fetched later");
                    let wait = backoff::doubling(FIRST_RETRY, LONGEST_RETRY, before.count, 0.0);
                    let at = self.deps.clock.now().elapsed.plus(wait);
                    self.tries.insert(key, Try { count: before.count + 1, next: at });
                    next = Some(next.map_or(at, |other| other.min(at)));
                }
            }
        }
        Ok(next)
    }

    async fn keep(&self, wanted: Wanted, bytes: Vec<u8>) -> Result<(), InboxError> {
        let sha256 = sha256_hex(&bytes);
        write_file(self.deps.folder.files().join(&sha256), bytes.clone()).await?;
        let size = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
        let mime = wanted.media.mime.clone().unwrap_or_else(|| "application/octet-stream".to_owned());
        let text = match wanted.media.kind.as_str() {
            "document" => document::excerpt(wanted.media.name.as_deref(), wanted.media.mime.as_deref(), &bytes),
            _ => None,
        };
        let name = wanted.media.name.clone().unwrap_or_else(|| wanted.media.kind.clone());
        let (now, kept, kept_mime) = (self.deps.clock.now(), wanted.clone(), mime.clone());
        self.deps
            .store
            .write("inbox.attach", Durability::Normal, move |tx| {
                tx.execute(
                    "INSERT INTO attachments (sha256, name, mime, bytes, created_at) VALUES (?1, ?2, ?3, ?4, ?5)",
                    params![sha256, name, kept_mime, size, now.wall],
                )?;
                let attachment = tx.last_insert_rowid().to_string();
                let fetched = |media: &mut Media| {
                    media.attachment = Some(attachment);
                    media.text = text;
                };
                complete(tx, &kept, fetched, None)
            })
            .await?;
        match (&wanted.media.transcript, self.deps.transcriber.clone()) {
            (Some(Transcript::Pending), Some(transcriber)) => {
                // Other files go on meanwhile.
                tokio::spawn(hear(self.deps.clone(), transcriber, wanted, bytes, mime));
            }
            (Some(Transcript::Pending), None) => {
                self.give_up(wanted, "voice notes are not listened to".to_owned()).await?;
            }
            (Some(Transcript::Done { .. } | Transcript::Failed { .. }) | None, _) => {}
        }
        Ok(())
    }

    async fn give_up(&self, wanted: Wanted, reason: String) -> Result<(), InboxError> {
        tracing::warn!(inbound_id = wanted.inbound.0, reason, "a file was not fetched");
        let now = self.deps.clock.now();
        self.deps
            .store
            .write("inbox.attach", Durability::Normal, move |tx| {
                let failed = |media: &mut Media| {
                    if media.transcript == Some(Transcript::Pending) {
                        media.transcript = Some(Transcript::Failed { reason: reason.clone() });
                    }
                    if media.attachment.is_none() {
                        media.problem = Some(reason);
                    }
                };
                complete(tx, &wanted, failed, Some(now))
            })
            .await
    }
}

async fn hear(deps: MediaDeps, transcriber: Arc<dyn Transcriber>, wanted: Wanted, bytes: Vec<u8>, mime: String) {
    let heard = tokio::select! {
        heard = transcriber.transcribe(bytes, &mime) => heard,
        () = deps.clock.sleep(HEARING) => Err("it took too long".to_owned()),
    };
    let transcript = match heard {
        Ok(text) => Transcript::Done { text },
        Err(reason) => Transcript::Failed { reason },
    };
    let now = deps.clock.now();
    let written = deps
        .store
        .write("inbox.heard", Durability::Normal, move |tx| {
            complete(tx, &wanted, |media| media.transcript = Some(transcript), Some(now))
        })
        .await;
    if let Err(error) = written {
        // The message goes on without it at the longest wait.
        tracing::warn!(%error, "a transcript could not be stored");
    }
}

/// Media of accepted messages without file and without a reason why.
fn wanted(connection: &Connection, channel: ChannelKind) -> Result<Vec<Wanted>, InboxError> {
    let mut statement = connection.prepare_cached(
        "SELECT id, parts FROM inbound
         WHERE channel = ?1 AND state IN ('buffered', 'merged') AND owner = 1 AND parts LIKE '%\"media\":%'
           AND EXISTS (SELECT 1 FROM json_each(parts, '$.media')
                       WHERE json_extract(value, '$.attachment') IS NULL AND json_extract(value, '$.problem') IS NULL)
         ORDER BY id",
    )?;
    let mut rows = statement.query([channel.as_str()])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let inbound: InboundId = row.get(0)?;
        let parts: Parts = serde_json::from_str(&row.get::<_, String>(1)?).map_err(StoreError::from)?;
        let open = parts.media.into_iter().filter(|media| media.attachment.is_none() && media.problem.is_none());
        found.extend(open.map(|media| Wanted { inbound, media }));
    }
    Ok(found)
}

/// Changes the media of a row as it stands now. `heard`: its transcript is settled.
fn complete(
    tx: &Transaction<'_>,
    wanted: &Wanted,
    change: impl FnOnce(&mut Media),
    heard: Option<Now>,
) -> Result<(), InboxError> {
    let parts: Option<String> =
        tx.query_row("SELECT parts FROM inbound WHERE id = ?1", [wanted.inbound], |row| row.get(0)).optional()?;
    let Some(parts) = parts else { return Ok(()) };
    let mut parts: Parts = serde_json::from_str(&parts).map_err(StoreError::from)?;
    // An edit may have put another file in its place.
    let Some(media) = parts.media.iter_mut().find(|media| media.file == wanted.media.file) else { return Ok(()) };
    let waited = media.transcript == Some(Transcript::Pending);
    change(media);
    if let Some(now) = heard.filter(|_| waited) {
        parts.heard_at = Some(now.elapsed.0);
    }
    let parts = serde_json::to_string(&parts).map_err(StoreError::from)?;
    tx.prepare_cached("UPDATE inbound SET parts = ?2 WHERE id = ?1")?.execute(params![wanted.inbound, parts])?;
    Ok(())
}

async fn write_file(path: PathBuf, bytes: Vec<u8>) -> Result<(), InboxError> {
    let written = tokio::task::spawn_blocking(move || {
        if path.exists() {
            return Ok(());
        }
        // Whole or not at all: a name is the hash of what it holds.
        let partial = path.with_extension("part");
        secure_file(&partial)?;
        let io = |source| StoreError::Io { context: format!("cannot write {}", path.display()), source };
        std::fs::write(&partial, &bytes).map_err(io)?;
        std::fs::rename(&partial, &path).map_err(io)
    })
    .await;
    match written {
        Ok(result) => Ok(result?),
        Err(error) => Err(StoreError::Panicked(error.to_string()).into()),
    }
}
