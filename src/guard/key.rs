//! The exact key: this very call, for ever.

use crate::domain::effect::Origin;
use crate::domain::ids::{ExactKey, Identity};
use crate::runtime::hash::sha256_parts;

/// Hash of (origin, ordinal of the call, tool, account). A turn replays its recorded steps, so the ordinal is stable;
/// the epoch belongs to it, because a rolled-back run may count its calls anew.
pub fn exact_key(origin: &Origin, tool: &str, account: &str) -> ExactKey {
    ExactKey(match origin {
        Origin::Turn { turn, epoch, ordinal, call_id: _ } => sha256_parts(&[
            b"unavez key 1 turn",
            turn.as_str().as_bytes(),
            &epoch.to_be_bytes(),
            &ordinal.to_be_bytes(),
            tool.as_bytes(),
            account.as_bytes(),
        ]),
        Origin::Person { act } => {
            sha256_parts(&[b"unavez key 1 person", act.as_bytes(), tool.as_bytes(), account.as_bytes()])
        }
    })
}

/// Where the same call comes with another action: a key of its own, so that a replay of the fault is stable too.
pub(super) fn fault_key(key: &ExactKey, identity: &Identity) -> ExactKey {
    ExactKey(sha256_parts(&[b"unavez key 1 fault", key.as_str().as_bytes(), identity.as_str().as_bytes()]))
}
