//! After the computer slept or was off: one summary per owner of what happened meanwhile and what was not done.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, Transaction, params};

use super::error::InboxError;
use super::owners;
use super::settings::Settings;
use crate::domain::conversation::ChannelKind;
use crate::domain::ports::Clock;
use crate::domain::time::{Elapsed, Now, Wall};
use crate::outbox;
use crate::store::{Durability, Store, meta};

#[derive(Clone)]
pub struct SummaryDeps {
    pub store: Store,
    pub clock: Arc<dyn Clock>,
    pub settings: Arc<Settings>,
    /// Whose owners are told.
    pub channel: ChannelKind,
}

/// Notices sleep by the clock and tells of it.
pub struct SummaryWorker {
    deps: SummaryDeps,
}

/// How often the clock is looked at; sleep shows as a longer step.
const STEP: Duration = Duration::from_secs(60);
/// A shorter absence is not worth a message.
const LEAST_ABSENCE: Duration = Duration::from_secs(1800);
/// Time for what waited outside to come in first.
const SETTLING: Duration = Duration::from_secs(20);
const AWAKE: &str = "last_awake";

#[derive(serde::Serialize, serde::Deserialize, Clone, Copy)]
struct Awake {
    elapsed: Elapsed,
    wall: Wall,
}

impl SummaryWorker {
    pub fn new(deps: SummaryDeps) -> Self {
        Self { deps }
    }

    /// Runs until it is dropped.
    pub async fn run(self) {
        let mut last = match self.deps.store.read(|connection| meta::get::<Awake>(connection, AWAKE)).await {
            Ok(last) => last,
            Err(error) => {
                tracing::warn!(%error, "when the program was last awake is not known");
                None
            }
        };
        let mut noted = Elapsed(i64::MIN / 2);
        loop {
            let now = self.deps.clock.now();
            if let Some(before) = last.filter(|before| now.elapsed.since(before.elapsed) >= LEAST_ABSENCE) {
                self.deps.clock.sleep(SETTLING).await;
                if let Err(error) = self.tell(before.wall).await {
                    tracing::warn!(%error, "the summary of an absence could not be written");
                }
            }
            let now = self.deps.clock.now();
            let awake = Awake { elapsed: now.elapsed, wall: now.wall };
            // Half the least absence is exact enough, and spares the disk.
            if now.elapsed.since(noted) >= LEAST_ABSENCE / 2 {
                let kept = self
                    .deps
                    .store
                    .write("inbox.awake", Durability::Normal, move |tx| meta::set(tx, AWAKE, &awake))
                    .await;
                match kept {
                    Ok(()) => noted = now.elapsed,
                    Err(error) => tracing::warn!(%error, "the time awake could not be noted"),
                }
            }
            last = Some(awake);
            self.deps.clock.sleep(STEP).await;
        }
    }

    async fn tell(&self, since: Wall) -> Result<(), InboxError> {
        let (now, settings, channel) = (self.deps.clock.now(), self.deps.settings.clone(), self.deps.channel);
        self.deps
            .store
            .write("inbox.summary", Durability::Normal, move |tx| tell(tx, now, &settings, channel, since))
            .await
    }
}

fn tell(
    tx: &Transaction<'_>,
    now: Now,
    settings: &Settings,
    channel: ChannelKind,
    since: Wall,
) -> Result<(), InboxError> {
    let Some(text) = summary(tx, settings, since)? else { return Ok(()) };
    let accounts: BTreeSet<String> = tx
        .prepare("SELECT account FROM channel_cursors WHERE channel = ?1")?
        .query_map([channel.as_str()], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for account in accounts {
        for conversation in owners::private_conversations(tx, settings, channel, &account)? {
            outbox::enqueue_notice(tx, now, conversation, text.as_str())?;
        }
    }
    Ok(())
}

/// What there is to tell of the time since; `None` when nothing happened.
fn summary(connection: &Connection, settings: &Settings, since: Wall) -> Result<Option<String>, InboxError> {
    let count = |sql: &str| -> Result<i64, InboxError> {
        Ok(connection.prepare_cached(sql)?.query_row(params![since], |row| row.get(0))?)
    };
    let language = settings.language;
    let mut lines = Vec::new();
    for (number, en, es) in [
        (
            count("SELECT COUNT(*) FROM inbound WHERE received_at >= ?1 AND stale = 1 AND owner = 1")?,
            "messages arrived late; what they ask for is asked about first",
            "mensajes llegaron tarde; lo que piden se consulta antes",
        ),
        (
            count("SELECT COUNT(*) FROM approvals WHERE state = 'pending' AND requested_at >= 0 AND ?1 >= 0")?,
            "actions wait for your OK: /approvals",
            "acciones esperan tu visto bueno: /approvals",
        ),
        (
            count("SELECT COUNT(*) FROM effects WHERE state = 'unknown' AND left_by_person = 0 AND ?1 >= 0")?,
            "actions may or may not have happened and were not repeated",
            "acciones quizá ocurrieron y no se repitieron",
        ),
        (
            count(
                "SELECT COUNT(*) FROM outbound WHERE state = 'uncertain' AND sent_again_as IS NULL AND queued_at >= ?1",
            )?,
            "answers may not have arrived and were not sent again",
            "respuestas quizá no llegaron y no se reenviaron",
        ),
    ] {
        if number > 0 {
            lines.push(format!("• {number} {}", language.pick(en, es)));
        }
    }
    let expired: Vec<String> = connection
        .prepare_cached(
            "SELECT '#' || id || ' ' || summary FROM approvals
             WHERE state = 'expired' AND decided_at >= ?1 ORDER BY id LIMIT 10",
        )?
        .query_map([since], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    if !expired.is_empty() {
        let label = language.pick(
            "Expired without a decision (ask again on the card)",
            "Caducaron sin decisión (vuelve a preguntar en la tarjeta)",
        );
        lines.push(format!("• {label}: {}", expired.join("; ")));
    }
    if lines.is_empty() {
        return Ok(None);
    }
    let head = language.pick("While I was away:", "Mientras no estuve:");
    Ok(Some(format!("{head}\n{}", lines.join("\n"))))
}
