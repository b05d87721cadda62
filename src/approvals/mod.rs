//! 8. Approvals: one object per question, the same on every surface, decided once.
//!
//! In: requests of the guard; decisions from the window, Telegram buttons, notifications and the command line.
//! Out: effects made ready or denied; cards in the owners' private chats and their closing.
//! Invariants: deciding is a compare-and-set, the first decision wins and the others are told so; an approval is bound
//! to the literal hash of what was shown and authorises one execution; only owners decide, by their own id; text is
//! never a decision; losing a surface is not a decision either.
//! Absent on purpose: anything that waits in memory for a person, an "approve all", and "always allow".

mod again;
mod cards;
mod decide;
mod error;
mod expire;
mod request;
mod row;
mod settings;
mod tap;
mod targets;
mod words;
mod worker;

pub use again::ask_again;
pub use decide::{Decided, Decision, Surface, decide, decide_now, withdraw_edited};
pub use error::ApprovalError;
pub use expire::{after_restore, expire_due, remind_due};
pub use request::{Request, request};
pub use row::{Approval, ApprovalState, Notes, list, load, pending_of};
pub use settings::{Policies, Rules, Settings};
pub use tap::{Sender, TapAnswer, decide_by_token};
pub use targets::{is_known, is_owner, know};
pub use words::{age, card_text, mark_text};
pub use worker::{Deps, Worker};

#[cfg(test)]
mod tests;
