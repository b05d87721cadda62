//! The verdict table, pure: what an earlier effect of the same identity means for a new call.

use std::time::Duration;

use super::standing::Standing;
use crate::domain::effect::EffectState;
use crate::domain::time::Now;
use crate::evidence::EffectRow;
use crate::runtime::seeded;

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Judgement {
    Fresh,
    Pending(Box<EffectRow>),
    /// `wait`: it is being done right now, so its outcome is near. In a hold or backing off it is not.
    InFlight {
        row: Box<EffectRow>,
        wait: bool,
    },
    Unresolved(Box<EffectRow>),
    /// Done less than the window ago.
    Duplicate {
        row: Box<EffectRow>,
        age: Duration,
    },
    /// Done longer ago: fresh, unless it counts as near.
    Older {
        row: Box<EffectRow>,
        age: Duration,
    },
}

/// A row due this soon counts as under way: a caller's clock was read before its transaction had its turn.
const ALMOST_DUE: Duration = Duration::from_secs(1);

pub(super) fn judge(standing: Standing, now: Now, window: Duration) -> Judgement {
    match standing {
        Standing::Free => Judgement::Fresh,
        Standing::Live(row) if seeded::bug("window_on_claims") && now.elapsed.since(row.created_elapsed) >= window => {
            Judgement::Fresh
        }
        Standing::Live(row) => match row.state {
            EffectState::AwaitingApproval => Judgement::Pending(row),
            EffectState::Dispatching => Judgement::InFlight { row, wait: true },
            EffectState::Ready | EffectState::Retryable => {
                let wait = row.next_attempt.is_none_or(|due| due <= now.elapsed.plus(ALMOST_DUE));
                Judgement::InFlight { row, wait }
            }
            EffectState::Unknown => Judgement::Unresolved(row),
            // Not live: nothing of these blocks.
            EffectState::Accepted
            | EffectState::Rejected
            | EffectState::Denied
            | EffectState::Expired
            | EffectState::Cancelled
            | EffectState::Reverted => Judgement::Fresh,
        },
        Standing::Accepted(row) => {
            let age = if seeded::bug("window_by_wall_clock") {
                now.wall.since(row.accepted_at.unwrap_or(now.wall))
            } else {
                now.elapsed.since(row.accepted_elapsed.unwrap_or(now.elapsed))
            };
            // Half-open: at exactly the window's length it is over.
            if age < window { Judgement::Duplicate { row, age } } else { Judgement::Older { row, age } }
        }
    }
}
