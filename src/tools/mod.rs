//! 6. Tools: what the model may call, how its arguments are checked, and where calls with an effect go.
//!
//! In: a call of the model with its context. Out: exactly one JSON result for that call.
//! Reads answer at once; an effect becomes a typed [`Action`](crate::domain::action::Action) and is handed to the guard by
//! [`Effects::submit`], the only way out of here that can change the world.
//! Invariants: argument errors are results that say what to change, never exceptions; no tool can decide an approval.
//! One file per tool; [`targets`] performs what the evidence queue claims.

mod arguments;
mod context;
mod effects;
mod registry;
mod schema;
pub mod targets;

pub use arguments::{ArgumentError, parse, string_list};
pub use context::{CallContext, CallError, ToolResult};
pub use effects::{EffectRequest, Effects};
pub use registry::{Registry, Tool};
pub use schema::{schema, spec};
