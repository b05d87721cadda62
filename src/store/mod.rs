//! The database: one writer, readers apart, forward-only migrations, durability by class.
//!
//! Purpose: everything accepted, decided and done is a row here, and nothing else remembers it.
//! In: closures over a transaction. Out: their results, and a note of which tables changed.
//! Invariants: writes are `BEGIN IMMEDIATE` and one at a time; `Durability::Full` is on disk when `write` returns;
//! a change is announced only after its commit.

mod changes;
mod connection;
mod elapsed;
mod error;
mod lock;
pub mod meta;
mod migrate;
mod writer;

pub use changes::{Changes, Table, Watch};
pub use connection::{DataFolder, secure_file};
pub use error::StoreError;
pub use lock::InstanceLock;
pub use migrate::{MIGRATIONS, Migration};
pub use writer::{Durability, Store, StoreMode};

#[cfg(test)]
mod tests;
