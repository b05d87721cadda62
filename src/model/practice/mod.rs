//! The practice model: a small deterministic parser of requests in Spanish and English that stands in for an AI.
//!
//! Purpose: everything behind the model (guard, approvals, queue, calendar, mail) can be tried in a minute, without keys
//! and without a network. In: the same [`crate::domain::chat::ChatRequest`] as any model. Out: the same tool calls.
//! It remembers nothing: a question of its own is recognised in the history, and the request it belongs to is read again.
//! Deliberately absent: guessing. What it did not understand, it says.

mod answers;
mod clauses;
mod dates;
mod events;
mod lengths;
mod mails;
mod model;
mod request;
mod results;
mod situation;
mod text;
mod times;
mod verbs;
mod words;

pub use model::PracticeModel;

#[cfg(test)]
mod tests;
