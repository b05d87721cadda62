//! The Gmail API: sending by a draft that can be sent once, searching, reading.
//!
//! In: frozen bytes, queries. Out: outcomes and mails, as with SMTP and IMAP.
//! Invariants: nothing that could send is repeated by itself; a draft is made first and then sent, and Gmail consumes it
//! when it sends it, so that sending the same draft again cannot make a second mail; Gmail files Sent itself.

mod client;
mod reader;
mod sender;

pub use client::GmailClient;
pub use reader::GmailReader;
pub use sender::GmailSender;
