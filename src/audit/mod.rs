//! 11. The audit log: an append-only hash chain in the transaction of the change it tells of.
//!
//! In: entries of every stage. Out: queries, export, verification.
//! Invariants: every state change has its entry; secrets are redacted before they are appended;
//! personal details are stored beside the chain under a salted hash, so that erasing them leaves it verifiable.

mod append;
mod entry;

pub use append::{GENESIS, append, chain_hash};
pub use entry::{Actor, Entry, Kind};
