//! The real program against real servers; run by name. A server that is not installed is skipped with a line.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::print_stderr)]

mod calendar;
