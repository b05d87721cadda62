//! 2. The inbox: accepts every input once, durably, before anything else happens to it.
//!
//! In: polled sources and submitted inputs. Out: `buffered` rows for debounce; control input handled at once.
//! Invariants: a batch and the cursor that confirms it are one synced transaction; an input is known by the channel's
//! own identity and never by comparing with the last one; nothing accepted disappears: a row is merged into a burst, or
//! it says why not; an input that cannot be read is recorded and passed over; never two polls at once.

mod accept;
mod acts;
mod answers;
mod control;
mod edits;
mod error;
mod health;
mod ingress;
mod mail;
mod media;
mod owners;
mod pairing;
mod settings;
mod stages;
mod store;
mod summary;
mod worker;

pub use accept::{Accepted, After, accept};
pub use acts::{Acts, Stopped};
pub use control::{Control, stop_word};
pub use error::InboxError;
pub use health::{Health, SourceState, SourceStatus};
pub use ingress::Ingress;
pub use mail::{MailDeps, MailWorker};
pub use media::{MediaDeps, MediaWorker};
pub use owners::is_owner;
pub use pairing::{PAIRING_TIME, PairingCode, begin_pairing, end_pairing, open_pairing};
pub use settings::{Groups, Settings};
pub use stages::Stages;
pub use store::InboundState;
pub use summary::{SummaryDeps, SummaryWorker};
pub use worker::{Deps, Worker};

#[cfg(test)]
mod tests;
