//! MCP edge: servers of tools, as child processes or over streamable HTTP (<https://modelcontextprotocol.io>).
//!
//! In: [`Settings`] of one server. Out: a [`McpServer`], which keeps it running, knows what it offers and calls its tools.
//! Invariants: a call leaves at most once, whatever the transport does; what is not known to have stayed here is
//! [`Lost`](crate::domain::tool_server::CallOutcome::Lost); nothing that a server sends can grow without a limit.
//! Absent on purpose: sampling, roots and elicitation (a server can ask nothing of the model or the person), tasks, and
//! any decision about what is a read: that is made in `tools`.

mod child;
mod handler;
mod http;
mod listing;
mod outcome;
mod server;
mod settings;

pub use server::McpServer;
pub use settings::{Settings, Transport};
