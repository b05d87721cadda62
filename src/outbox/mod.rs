//! 10. The outbox: every message of the agent to a person, in order, and never blindly twice.
//!
//! In: rows that other stages enqueue in their own transactions; channels to hand them to.
//! Out: requests on the wire, delivery states, edits of delivered messages, the typing signal.
//! Invariants: `sending` is on disk before a request leaves, and fences the turn it belongs to; a conversation is
//! first in, first out, except that an immediate message overtakes its own turn's batched ones; a request that left
//! without an answer is `uncertain` and only a person sends it again; a part that was delivered is never sent again.

mod channels;
mod claim;
mod edits;
mod enqueue;
mod enums;
mod rates;
mod rows;
mod settings;
mod settle;
mod stream;
pub mod typing;
mod worker;

pub use channels::Channels;
pub use edits::edit;
pub use enqueue::{
    New, cancel_conversation, cancel_turn, enqueue, enqueue_control, enqueue_notice, release_batch, send_again,
};
pub use enums::{Kind, Mode, State};
pub use rates::{Limiter, Rates};
pub use rows::{Delivery, Turn, delivered_texts, of_turn, state, wait_settled};
pub use settings::{Settings, choose_mode};
pub use settle::move_conversation;
pub use stream::{Growing, finish, grow};
pub use typing::Typing;
pub use worker::{Deps, Worker};

#[cfg(test)]
mod tests;
