//! The clock's side of approvals: reminders, expiry, cards for owners who came later, Undo buttons that ran out.

use std::sync::Arc;
use std::time::Duration;

use rusqlite::Transaction;

use super::again::again;
use super::cards;
use super::error::ApprovalError;
use super::expire::{expire_due, next_due, remind_due};
use super::row::{list, load};
use super::settings::Rules;
use crate::audit::Actor;
use crate::domain::ids::{ApprovalId, EffectId};
use crate::domain::ports::Clock;
use crate::domain::time::Now;
use crate::evidence;
use crate::runtime::backoff;
use crate::store::{Durability, Store, Table};

const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Cards for owners who came later: only for as many open questions as a person can look at.
const MOST_CARDS: u32 = 50;

#[derive(Clone)]
pub struct Deps {
    pub store: Store,
    pub clock: Arc<dyn Clock>,
    pub rules: Rules,
}

pub struct Worker {
    deps: Deps,
}

impl Worker {
    pub fn new(deps: Deps) -> Self {
        Self { deps }
    }

    /// Runs until it is dropped.
    pub async fn run(self) {
        let watch = self.deps.store.watch(&[Table::Approvals, Table::Effects, Table::Owners, Table::Conversations]);
        let mut failures = 0;
        loop {
            match self.tick().await {
                Ok(wait) => {
                    failures = 0;
                    tokio::select! {
                        _ = watch.changed() => {}
                        () = sleep_or_forever(self.deps.clock.as_ref(), wait) => {}
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "approvals could not be looked after");
                    let wait = backoff::doubling(FIRST_PAUSE, LONGEST_PAUSE, failures, self.deps.rules.ids.fraction());
                    failures = failures.saturating_add(1);
                    self.deps.clock.sleep(wait).await;
                }
            }
        }
    }

    /// Does what is due; gives the time until the next thing is.
    async fn tick(&self) -> Result<Option<Duration>, ApprovalError> {
        let now = self.deps.clock.now();
        let rules = self.deps.rules.clone();
        if self.deps.store.read(move |connection| anything_due(connection, now, &rules)).await? {
            let rules = self.deps.rules.clone();
            self.deps.store.write("approvals.tick", Durability::Normal, move |tx| tick(tx, now, &rules)).await?;
        }
        let settings = self.deps.rules.settings.clone();
        let due = self.deps.store.read(move |connection| next_due(connection, &settings)).await?;
        Ok(due.map(|due| due.since(now.elapsed).max(Duration::from_millis(1))))
    }
}

async fn sleep_or_forever(clock: &dyn Clock, duration: Option<Duration>) {
    match duration {
        Some(duration) => clock.sleep(duration).await,
        None => std::future::pending().await,
    }
}

/// A cheap look, so that an idle database is not written to.
fn anything_due(connection: &rusqlite::Connection, now: Now, rules: &Rules) -> Result<bool, ApprovalError> {
    let due = next_due(connection, &rules.settings)?.is_some_and(|due| due <= now.elapsed);
    let configured = serde_json::to_string(&rules.settings.telegram_owners)?;
    let other: bool = connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM approval_cards JOIN approvals ON approvals.id = approval_id
                            JOIN effects ON effects.id = approvals.effect_id
                            WHERE closed = 1 AND effects.state <> 'ready')
                 OR EXISTS (SELECT 1 FROM effects WHERE state = 'cancelled' AND last_error = ?1
                            AND NOT EXISTS (SELECT 1 FROM effects AS next WHERE next.replaces = effects.id))
                 OR EXISTS (SELECT 1 FROM approvals JOIN conversations
                            WHERE approvals.state = 'pending' AND channel = 'telegram' AND kind = 'private'
                              AND thread = '' AND unreachable IS NULL AND erased_at IS NULL
                              AND (contact IN (SELECT sender_id FROM owners WHERE channel = 'telegram')
                                   OR contact IN (SELECT value FROM json_each(?2)))
                              AND NOT EXISTS (SELECT 1 FROM approval_cards JOIN outbound ON outbound.id = outbound_id
                                              WHERE approval_id = approvals.id
                                                AND outbound.conversation_id = conversations.id))",
        )?
        .query_row(rusqlite::params![evidence::CHANGED_AFTER_APPROVAL, configured], |row| row.get(0))?;
    Ok(due || other)
}

fn tick(tx: &Transaction<'_>, now: Now, rules: &Rules) -> Result<(), ApprovalError> {
    expire_due(tx, now, rules)?;
    remind_due(tx, now, rules)?;
    for approval in list(tx, true, None, MOST_CARDS)? {
        cards::send(tx, now, rules, &approval)?;
    }
    for id in cards::with_stale_undo(tx)? {
        cards::close(tx, now, rules, &load(tx, id)?)?;
    }
    ask_for_changed(tx, now, rules)
}

/// What would have left was not what was approved: it was cancelled, and the person is asked for what it is now.
fn ask_for_changed(tx: &Transaction<'_>, now: Now, rules: &Rules) -> Result<(), ApprovalError> {
    let changed: Vec<(EffectId, Option<ApprovalId>)> = {
        let mut statement = tx.prepare_cached(
            "SELECT id, (SELECT MAX(approvals.id) FROM approvals WHERE effect_id = effects.id) FROM effects
             WHERE state = 'cancelled' AND last_error = ?1
               AND NOT EXISTS (SELECT 1 FROM effects AS next WHERE next.replaces = effects.id)",
        )?;
        statement
            .query_map([evidence::CHANGED_AFTER_APPROVAL], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<Result<_, _>>()?
    };
    for (effect, approval) in changed {
        let Some(approval) = approval else { continue };
        let effect = evidence::load(tx, &effect)?;
        match again(tx, now, rules, &load(tx, approval)?, &effect, Actor::System) {
            Ok(_) | Err(ApprovalError::UnderWay(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
