//! The real `unavezd` against third-party servers on loopback. Run by `make test-peers`, one test at a time.
//!
//! A server that is not installed is skipped with a line that begins with `SKIPPED`; nothing else is skipped.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::print_stderr, dead_code)]

mod calendar;
#[path = "../suite/support/daemon.rs"]
mod daemon;
mod desktop_bus;
mod faults;
mod google_calendar;
#[path = "../suite/support/imap.rs"]
mod imap;
mod incident;
mod mail;
mod mcp;
#[path = "../suite/support/post.rs"]
mod post;
mod servers;
#[path = "../suite/support/smtp.rs"]
mod smtp;
#[path = "../suite/support/socket.rs"]
mod socket;
mod telegram;
#[path = "../suite/support/tls.rs"]
mod tls;
