//! 9. Evidence: every effect as a durable row, carried out once, with a receipt or an honest "unknown".
//!
//! In: admitted effects (guard), decisions (approvals), acts of a person. Out: calls of [`crate::domain::ports::EffectTarget`],
//! outcome lines to every conversation that was told to wait, rows that the waiting stages read.
//! Invariants: no foreign call without a durable claim of the same epoch; a new epoch only from `ready` or `retryable`;
//! a result is written by compare-and-set on the epoch; no `accepted` without a stored receipt; absence proves nothing
//! unless the target says that its reading is authoritative.
//! Absent on purpose: any vendor's words, and any decision about whether two actions are the same (that is the guard's).

mod aftercare;
mod attempt;
mod attention;
mod bounce;
mod cancel;
mod claim;
mod error;
mod insert;
mod ledger;
mod literal;
pub mod machine;
mod notices;
mod reconcile;
mod recover;
mod release;
mod resolve;
mod retry;
mod row;
mod sent_copy;
mod settings;
mod step;
mod targets;
pub mod words;
mod worker;

pub use aftercare::MailAftercare;
pub use attempt::{Applied, apply_result};
pub use attention::{AttentionItem, AttentionReason, attention};
pub use bounce::{Bounced, bounce};
pub use cancel::{StopEffects, cancel, cancel_conversation};
pub use claim::{CHANGED_AFTER_APPROVAL, Claim, Claimed, claim, due};
pub use error::EvidenceError;
pub use insert::{Birth, NewEffect, approve, deny, expire, insert, withdraw};
pub use ledger::{LedgerEntry, ledger};
pub use literal::literal_hash;
pub use notices::{listen, tell};
pub use reconcile::{apply_found, reconcile_due};
pub use recover::{after_restore, interrupt_expired_leases, recover};
pub use release::{creator_of, release, release_by_change};
pub use resolve::{Resolution, resolve};
pub use retry::{NextAttempt, next_attempt};
pub use row::{EffectRow, find, load, load_by_key, recipients};
pub(crate) use row::{decode as decode_row, query, raw as raw_row};
pub use sent_copy::{OwedCopy, note_copy, owed_copies};
pub use settings::Settings;
pub use targets::Targets;
pub use worker::{Deps, Worker};

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
