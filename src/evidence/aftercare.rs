//! What a mail needs after it was accepted: its copy in Sent, and an eye on what comes back.
//!
//! The inbox is looked at only while a mail of ours could still come back, and less often the older the last one is.

use std::sync::Arc;
use std::time::Duration;

use rusqlite::OptionalExtension;

use super::bounce::bounce;
use super::error::EvidenceError;
use super::sent_copy::{OwedCopy, note_copy, owed_copies};
use super::settings::Settings;
use crate::domain::ids::AccountId;
use crate::domain::ports::{Clock, MailReadError, MailReader};
use crate::domain::time::{Elapsed, Wall};
use crate::runtime::redact::redact;
use crate::store::{Durability, Store, StoreError, Table, meta};

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);
/// A server tries for up to five days before it gives a mail back (RFC 5321 4.5.4.1).
const COMES_BACK_WITHIN: Duration = Duration::from_secs(5 * 86_400);
/// A copy that could not be filed within a day never will be.
const COPY_TRIED_FOR: Duration = DAY;
const DAYS_LOOKED_AT: i64 = 7;

/// One account's reader and where we stand with it.
pub struct MailAftercare {
    store: Store,
    clock: Arc<dyn Clock>,
    settings: Settings,
    account: AccountId,
    reader: Arc<dyn MailReader>,
    copy_failures: u32,
    next_copy: Elapsed,
    next_look: Elapsed,
    /// The end of the inbox was noted once.
    has_cursor: bool,
}

impl MailAftercare {
    pub fn new(
        store: Store,
        clock: Arc<dyn Clock>,
        settings: Settings,
        account: AccountId,
        reader: Arc<dyn MailReader>,
    ) -> Self {
        Self {
            store,
            clock,
            settings,
            account,
            reader,
            copy_failures: 0,
            next_copy: Elapsed(0),
            next_look: Elapsed(0),
            has_cursor: false,
        }
    }

    /// Runs until it is dropped.
    pub async fn run(mut self) {
        let watch = self.store.watch(&[Table::Effects]);
        loop {
            let wake = match self.step().await {
                Ok(wake) => wake,
                Err(error) => {
                    tracing::warn!(%error, "the mails that were sent could not be looked after");
                    Some(self.clock.now().elapsed.plus(MINUTE))
                }
            };
            let clock = self.clock.clone();
            let sleep = async move {
                match wake {
                    Some(due) => clock.sleep(due.since(clock.now().elapsed)).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = watch.changed() => {}
                () = sleep => {}
            }
        }
    }

    /// Does what is due, and says when the next thing will be.
    pub async fn step(&mut self) -> Result<Option<Elapsed>, EvidenceError> {
        let now = self.clock.now();
        let mut wake = None;
        if self.next_copy <= now.elapsed {
            self.file_copies().await?;
        }
        let owed = self.owed().await?;
        if !owed.is_empty() {
            wake = Some(self.next_copy);
        }
        if self.next_look <= now.elapsed {
            self.look_for_bounces().await?;
        }
        let age = self.age_of_last_mail().await?;
        if age.is_some() || !self.has_cursor {
            wake = Some(wake.map_or(self.next_look, |due: Elapsed| due.min(self.next_look)));
        }
        if let Some(age) = age {
            // A new mail wants to be looked after sooner than the last round thought.
            self.next_look = self.next_look.min(self.clock.now().elapsed.plus(interval(age)));
        }
        Ok(wake)
    }

    async fn owed(&self) -> Result<Vec<OwedCopy>, StoreError> {
        let now = self.clock.now();
        self.store.read(move |connection| owed_copies(connection, now, DAYS_LOOKED_AT)).await
    }

    async fn file_copies(&mut self) -> Result<(), EvidenceError> {
        for copy in self.owed().await? {
            let result = match self.reader.file_sent(&copy.mail).await {
                Ok(()) => "filed".to_owned(),
                Err(error) => {
                    let now = self.clock.now().elapsed;
                    let for_good = matches!(error, MailReadError::NotConfigured);
                    if !for_good && now.since(copy.accepted) < COPY_TRIED_FOR {
                        tracing::info!(%error, effect = %copy.effect, "the copy in Sent waits");
                        let wait = MINUTE.saturating_mul(4_u32.saturating_pow(self.copy_failures.min(4))).min(HOUR);
                        self.copy_failures = self.copy_failures.saturating_add(1);
                        self.next_copy = now.plus(wait);
                        return Ok(());
                    }
                    format!("not filed: {}", redact(&error.to_string()))
                }
            };
            self.copy_failures = 0;
            let (now, id) = (self.clock.now(), copy.effect);
            self.store
                .write("evidence.sent_copy", Durability::Normal, move |tx| note_copy(tx, now, &id, &result))
                .await?;
        }
        Ok(())
    }

    async fn look_for_bounces(&mut self) -> Result<(), EvidenceError> {
        let key = format!("mail.bounces:{}", self.account);
        let cursor: Option<String> = {
            let key = key.clone();
            self.store.read(move |connection| meta::get(connection, &key)).await?
        };
        self.has_cursor = cursor.is_some();
        let age = self.age_of_last_mail().await?;
        // The first look only notes where the inbox ends; it must come before the first mail leaves.
        if cursor.is_some() && age.is_none() {
            return Ok(());
        }
        let found = self.reader.bounces(cursor.as_deref()).await;
        self.next_look = self.clock.now().elapsed.plus(interval(age.unwrap_or(HOUR)));
        let (reports, next) = match found {
            Ok(found) => found,
            Err(MailReadError::NotConfigured) => {
                self.has_cursor = true;
                self.next_look = self.clock.now().elapsed.plus(DAY);
                return Ok(());
            }
            Err(error) => {
                tracing::info!(%error, "the inbox could not be looked at for returned mail");
                return Ok(());
            }
        };
        self.has_cursor = true;
        let (now, settings) = (self.clock.now(), self.settings.clone());
        if reports.is_empty() && next == cursor {
            return Ok(());
        }
        self.store
            .write("evidence.bounces", Durability::Normal, move |tx| {
                for report in &reports {
                    bounce(tx, now, &settings, report)?;
                }
                if let Some(next) = next {
                    meta::set(tx, &key, &next)?;
                }
                Ok(())
            })
            .await
    }

    /// How long ago the last mail left, if it can still come back.
    async fn age_of_last_mail(&self) -> Result<Option<Duration>, StoreError> {
        let now = self.clock.now();
        let since = Wall(now.wall.0.saturating_sub(DAYS_LOOKED_AT * 86_400_000));
        let last: Option<Elapsed> = self
            .store
            .read(move |connection| {
                let found = connection
                    .prepare_cached(
                        "SELECT MAX(first_attempt_elapsed) FROM effects
                         WHERE created_at > ?1 AND message_id IS NOT NULL AND first_attempt_elapsed IS NOT NULL
                           AND state IN ('accepted', 'unknown', 'retryable', 'dispatching')",
                    )?
                    .query_row([since], |row| row.get::<_, Option<Elapsed>>(0))
                    .optional()?
                    .flatten();
                Ok::<_, StoreError>(found)
            })
            .await?;
        Ok(last.map(|left| now.elapsed.since(left)).filter(|age| *age < COMES_BACK_WITHIN))
    }
}

/// Time between two looks.
fn interval(age: Duration) -> Duration {
    match age {
        age if age < HOUR => 2 * MINUTE,
        age if age < DAY => 15 * MINUTE,
        _ => HOUR,
    }
}
