//! Edge: mail. Composes, saves, sends and reads it, and says exactly what became of it.
//!
//! In: frozen bytes and open recipients. Out: an outcome by phase, with the provider's own words.
//! Invariants: every attempt of a mail sends the same bytes; nothing here retries by itself; only a reply of the server
//! is an acceptance or a refusal, and after the final dot silence is `unknown`.
//! Absent on purpose: any state of ours; evidence keeps it.

pub mod bounces;
pub mod compose;
pub mod credential;
pub mod gmail;
pub mod imap;
pub mod maildir;
pub mod message;
pub mod net;
pub mod presets;
pub mod probe;
pub mod query;
pub mod smtp;

#[cfg(test)]
mod tests;
