//! Facts and contacts: what a person told the assistant to keep.
//!
//! In: words of an owner, through the tools. Out: full-text search, contacts by name.
//! Invariants: a contact's address was written by an owner, never taken from what was read; erasing keeps the row's
//! place and forgets its text.

mod rows;

pub use rows::{Fact, FactKind, NewFact, all, forget, recall, remember};

#[cfg(test)]
mod tests;
