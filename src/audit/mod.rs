//! 11. The audit log: an append-only hash chain in the transaction of the change it tells of.
//!
//! In: entries of every stage. Out: queries, export, verification.
//! Invariants: every state change has its entry; secrets are redacted before they are appended;
//! personal details are stored beside the chain under a salted hash, so that erasing them leaves it verifiable.

mod anchor;
mod append;
mod entry;
mod export;
pub mod invariants;
mod layers;
mod query;
mod verify;

pub use anchor::{AnchorError, AnchorWorker, Anchors};
pub use append::{GENESIS, append, chain_hash};
pub use entry::{Actor, Entry, Kind};
pub use export::{Chunk, Export, ExportError, Format, verify_export};
pub use layers::{Layer, count_layer, layer_counts};
pub use query::{Filter, Personal, Stored, chain_page, count, head, newest, personal};
pub use verify::{Anchor, Bad, Progress, Verification, Walk, cut_tail, page as verify_page, verify};

#[cfg(test)]
mod tests;
