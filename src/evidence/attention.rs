//! Nothing that is not settled stays invisible.

use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::domain::effect::EffectState;
use crate::domain::ids::EffectId;
use crate::domain::time::{Elapsed, Now, Wall};
use crate::store::StoreError;

/// Why an effect wants a person's eye.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum AttentionReason {
    /// Every look for evidence is done, or there is nothing to look at.
    NeedsPerson,
    /// Not settled for more than 24 h.
    Old,
    /// An acceptance turned up for an attempt that was taken as failed: it may have happened twice, or in spite of a "no".
    PossiblyTwice,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, TS)]
pub struct AttentionItem {
    pub effect: EffectId,
    pub state: EffectState,
    pub summary: String,
    pub reason: AttentionReason,
    #[ts(skip)]
    pub since: Wall,
}

/// Older than this and not settled: on the list.
const OLD_MS: i64 = 24 * 3_600_000;

/// Everything that wants a person, oldest first. What a person left is not on it.
pub fn attention(connection: &Connection, now: Now) -> Result<Vec<AttentionItem>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT id, state, summary, created_at,
                CASE WHEN state = 'unknown' AND next_attempt_elapsed IS NULL THEN 'needs_person' ELSE 'old' END
         FROM effects
         WHERE state IN ('awaiting_approval', 'ready', 'dispatching', 'retryable', 'unknown') AND left_by_person = 0
           AND (created_elapsed <= ?1 OR (state = 'unknown' AND next_attempt_elapsed IS NULL))
         UNION ALL
         SELECT DISTINCT effects.id, state, summary, created_at, 'possibly_twice'
         FROM effect_attempts JOIN effects ON effects.id = effect_attempts.effect_id
         WHERE late = 1 AND outcome = 'accepted' AND left_by_person = 0
           AND (state IN ('cancelled', 'rejected', 'dispatching')
                OR (state IN ('accepted', 'reverted') AND n <> epoch
                    AND EXISTS (SELECT 1 FROM effect_attempts AS other
                                WHERE other.effect_id = effects.id AND other.n <> effect_attempts.n
                                  AND other.outcome IN ('accepted', 'unknown'))))
         ORDER BY 4, 1",
    )?;
    let limit = Elapsed(now.elapsed.0.saturating_sub(OLD_MS));
    let rows = statement.query_map([limit], |row| {
        Ok((
            row.get::<_, EffectId>(0)?,
            row.get::<_, String>(1)?,
            row.get::<_, String>(2)?,
            row.get::<_, Wall>(3)?,
            row.get::<_, String>(4)?,
        ))
    })?;
    rows.map(|row| {
        let (effect, state, summary, since, reason) = row?;
        let reason = match reason.as_str() {
            "needs_person" => AttentionReason::NeedsPerson,
            "possibly_twice" => AttentionReason::PossiblyTwice,
            _ => AttentionReason::Old,
        };
        Ok(AttentionItem { effect, state: super::row::parse_state(&state)?, summary, reason, since })
    })
    .collect()
}
