//! 4. Turns: one at a time per conversation, each a recorded run of the agent loop over one burst.
//!
//! In: queued bursts. Out: tool calls, and one answer or plain sentence per turn, through the outbox.
//! Invariants: every model reply and tool result is a step before anything follows from it, so that a crash resumes
//! without asking twice; every call id has exactly one result; from its first effect or delivery on a turn is fenced and
//! cannot be taken back; steps are written under the turn's epoch only; a turn always ends visibly.
//! [`machine`] decides, [`run`](mod@self) acts. Nothing here waits for a person.

mod claims;
mod close;
mod double_texting;
mod ending;
mod error;
mod history;
pub mod machine;
mod prompt;
mod render;
mod run;
mod settings;
mod speech;
mod start;
pub mod steps;
mod stop;
mod store;
mod stream;
mod summary;
pub mod usage;
mod words;
mod worker;

pub use ending::{Closing, Ending, Reason};
pub use error::TurnError;
pub use prompt::describe;
pub use render::ago;
pub use settings::{DoubleTexting, LanguageChoice, Price, Settings};
pub use start::{Joining, joining};
pub use stop::{StopReport, stop};
pub use words::reason;
pub use worker::{TurnsDeps, Worker};

#[cfg(test)]
mod tests;
