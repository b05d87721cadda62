//! Whole-program tests, one binary: real SQLite, real sockets, scripted model, injected clocks.
//!
//! `flow` follows a message from the channel to the effect, `recovery` breaks the program and looks at what is left,
//! `adapters` drives the edges against servers that speak their protocol.
//! Everything goes through the public way in and asserts on rows, on what a fake server received and on the audit.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::print_stderr)]

mod adapters;
mod flow;
mod recovery;
mod support;
