//! 1. Channels: the ways in and out, with what each can do.
//!
//! In: messages of people, as [`crate::domain::message::NewInput`]. Out: parts of messages, typing, edits, each with an
//! honest outcome. Vendor words stay under their adapter; no channel writes our state.

pub mod http;
pub mod telegram;
pub mod window;
