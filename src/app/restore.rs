//! Restore: the backup takes the database's place, and nothing that was under way is done again by itself.

use std::path::Path;

use serde::Serialize;

use super::backup::put_in_place;
use super::lifecycle::{App, StartError};
use super::options::AppOptions;
use crate::audit::{self, Actor, Entry, Kind};
use crate::domain::time::Now;
use crate::store::{Durability, InstanceLock};
use crate::{approvals, evidence, outbox, schedules};

/// What a restore found under way.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Restored {
    /// Effects that may have happened after the backup was made: now unknown.
    pub unknown: usize,
    /// Approvals that expired.
    pub expired: usize,
    /// Messages that may have been delivered after the backup was made: now uncertain.
    pub uncertain: usize,
}

impl Restored {
    pub fn in_words(&self) -> String {
        format!(
            "restored; the database that was there is kept as unavez.db.before-restore\n\
             {} actions may have happened since and wait for you as unknown, {} approvals expired, {} messages may have \
             been delivered",
            self.unknown, self.expired, self.uncertain
        )
    }
}

/// Only while no instance runs. The audit says `restored` and is anchored anew.
pub async fn restore(options: AppOptions, backup: &Path) -> Result<Restored, StartError> {
    {
        // Nobody else may open the database while it changes places.
        let _lock = InstanceLock::take(&options.folder)?;
        put_in_place(&options.folder, backup)?;
    }
    let app = App::open(options).await?;
    let stack = app.stack();
    let (now, rules) = (stack.clock.now(), stack.rules.clone());
    let restored = stack
        .store
        .write("restore", Durability::Full, move |tx| {
            // First what stood in the queue: the next two tell people about what they find.
            let uncertain = deliveries(tx)?;
            let unknown = evidence::after_restore(tx, now, &rules.evidence)?.len();
            let expired = approvals::after_restore(tx, now, &rules)?.len();
            for (conversation, line) in schedules::miss_all(tx, now, rules.evidence.language, &rules.evidence.zone)? {
                outbox::enqueue_notice(tx, now, conversation, line)?;
            }
            append(tx, now, unknown, expired, uncertain)?;
            Ok::<_, StartError>(Restored { unknown, expired, uncertain })
        })
        .await?;
    stack.anchors.reset(&stack.store, &*stack.clock).await?;
    app.stop().await;
    Ok(restored)
}

/// What stood in the queue may have been delivered since: shown as uncertain, sent again by a person only.
fn deliveries(tx: &rusqlite::Transaction<'_>) -> Result<usize, crate::store::StoreError> {
    let changed = tx.execute(
        "UPDATE outbound SET state = 'uncertain', error = 'restored from a backup: it may have been delivered since'
         WHERE state IN ('held', 'queued', 'sending')",
        [],
    )?;
    Ok(changed)
}

fn append(
    tx: &rusqlite::Transaction<'_>,
    now: Now,
    unknown: usize,
    expired: usize,
    uncertain: usize,
) -> Result<(), crate::store::StoreError> {
    let entry = Entry::new(Kind::Restored, Actor::Person("cli".to_owned()))
        .detail("unknown", unknown)
        .detail("expired", expired)
        .detail("uncertain", uncertain);
    audit::append(tx, now, entry)?;
    Ok(())
}
