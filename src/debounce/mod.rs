//! 3. Debounce: waits for the rest of a thought, then merges its messages into one burst.
//!
//! In: `buffered` rows of the inbox. Out: `queued` bursts for the turns.
//! Invariants: the buffer is its rows, so it survives a crash; one buffer per conversation and sender; a message is in
//! exactly one burst; a wait ends at `max_wait` after the first message at the latest, on the elapsed clock; a flush
//! that fails is tried again and loses nothing.
//! The conversation is not locked while a buffer waits.

mod buffer;
mod discard;
mod error;
mod flush;
mod settings;
mod signal;
mod words;
mod worker;

pub use buffer::{Buffered, Decision, FlushReason, decide};
pub use discard::{Discarded, discard};
pub use error::DebounceError;
pub use settings::{Explained, Settings, Windows, explain};
pub use signal::{Signal, signal, window};
pub use worker::{Deps, Worker};

#[cfg(test)]
mod tests;
