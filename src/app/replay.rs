//! Replay: a scenario file through the real pipeline, in a scratch data folder, on a virtual clock.
//!
//! In: messages with times, scripted model replies, faults. Out: the timeline and the totals.
//! Nothing of the pipeline is simplified: inbox, debounce, turns, guard, approvals, evidence and outbox are the ones that
//! run every day. Only the person, the model, the channel's wire and the clock are played.

mod faults;
mod outcome;
mod play;
mod scenario;
mod stage;

pub use outcome::{Outcome, Totals};
pub use play::{Options, play, play_now};
pub use scenario::{Fault, Message, Scenario, ScenarioError};
