//! What stands under an identity: the live effect, or the newest accepted one that still counts.

use rusqlite::{Connection, OptionalExtension};

use crate::domain::effect::EffectState;
use crate::domain::ids::Identity;
use crate::evidence::EffectRow;
use crate::evidence::query;
use crate::store::StoreError;

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Standing {
    Free,
    /// Waits, is under way, or is unknown.
    Live(Box<EffectRow>),
    /// Done, and not released.
    Accepted(Box<EffectRow>),
}

pub(super) fn standing(connection: &Connection, identity: &Identity) -> Result<Standing, StoreError> {
    // Two index look-ups: the partial index of live rows, then the newest accepted one.
    let live = connection
        .prepare_cached(&query(
            "WHERE identity = ?1 AND state IN ('awaiting_approval', 'ready', 'dispatching', 'retryable', 'unknown')",
        ))?
        .query_row([identity], crate::evidence::raw_row)
        .optional()?;
    if let Some(row) = live {
        return Ok(Standing::Live(Box::new(crate::evidence::decode_row(row)?)));
    }
    let accepted = connection
        .prepare_cached(&query(
            "WHERE identity = ?1 AND accepted_elapsed IS NOT NULL AND state = 'accepted' AND released IS NULL
             ORDER BY accepted_elapsed DESC LIMIT 1",
        ))?
        .query_row([identity], crate::evidence::raw_row)
        .optional()?;
    Ok(match accepted {
        Some(row) => Standing::Accepted(Box::new(crate::evidence::decode_row(row)?)),
        None => Standing::Free,
    })
}

impl Standing {
    pub(super) fn row(&self) -> Option<&EffectRow> {
        match self {
            Self::Free => None,
            Self::Live(row) | Self::Accepted(row) => {
                debug_assert!(row.state.is_live() || row.state == EffectState::Accepted);
                Some(row)
            }
        }
    }
}
