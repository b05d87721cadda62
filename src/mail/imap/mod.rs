//! Reading mail by IMAP (RFC 9051): search, read, look in Sent, file a copy there, find bounces, wait for new mail.
//!
//! In: queries, ids, Message-IDs. Out: mails as data, or what stood in the way.
//! Invariants: reading changes nothing (EXAMINE, PEEK); a hit counts only if its Message-ID is exactly ours, because
//! SEARCH matches substrings; an id of a mail holds its UIDVALIDITY, so that it never means another mail.
//! Absent on purpose: a local copy of the mailbox.

mod folders;
mod news;
mod reader;
mod sent;
mod session;
mod settings;

pub use reader::ImapReader;
pub use settings::ImapSettings;
