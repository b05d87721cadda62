//! 6. Tools: what the model may call, how its arguments are checked, and where calls with an effect go.
//!
//! In: a call of the model with its context. Out: exactly one JSON result for that call.
//! Reads answer at once; an effect becomes a typed [`Action`](crate::domain::action::Action) and is handed to the guard by
//! [`Effects::submit`], the only way out of here that can change the world.
//! Invariants: argument errors are results that say what to change, never exceptions; no tool can decide an approval.
//! One file per tool; [`targets`] performs what the evidence queue claims.

mod arguments;
mod builtin;
mod calendar_access;
mod context;
mod create_event;
mod delete_event;
mod effects;
mod facts;
mod find_free_time;
mod list_events;
mod mail_access;
mod message;
mod outcome;
mod own;
mod provenance;
mod read_declaration;
mod read_mail;
mod recent_actions;
mod registry;
mod schedule;
mod schema;
mod search_mail;
mod send_email;
pub mod server_names;
mod server_schema;
mod server_tools;
pub mod targets;
mod update_event;
mod when;

pub use arguments::{ArgumentError, parse, string_list};
pub use builtin::{BuiltinDeps, builtin};
pub use context::{CallContext, CallError, ToolResult};
pub use effects::{EffectRequest, Effects};
pub use mail_access::{MailAccess, mail_tools};
pub use read_declaration::read;
pub use registry::{Registry, Tool};
pub use schema::{schema, spec};
pub use server_tools::{ServerAccess, ToolRule, server_tools};

#[cfg(test)]
mod injection;
