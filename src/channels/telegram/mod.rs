//! Telegram's Bot API by long polling.
//!
//! In: updates. Out: messages with entities (no parse mode, so nothing can be mis-escaped), edits, typing, answers to taps.
//! Requests go through `teloxide-core`, answers are read leniently: a field that a server lacks must not turn a
//! delivered message into an unknown one. Absent on purpose: teloxide's dispatcher and polling listener, which keep the
//! offset in memory and confirm before anything is stored; any retry.
//! The numbers are those of <https://core.telegram.org/bots/api>.

mod bot;
mod channel;
mod errors;
mod format;
mod source;
mod split;
mod update;
mod wire;

pub use bot::{Settings, Telegram};
pub use format::{Formatted, format};
pub use split::split;

#[cfg(test)]
mod tests;
