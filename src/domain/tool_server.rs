//! Servers of tools outside the program, as the rest of the program sees them: what they offer and what a call came to.
//!
//! Everything such a server says (names, descriptions, annotations, results) is untrusted text.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value};

/// A tool as its server describes it.
#[derive(Clone, PartialEq, Debug)]
pub struct OfferedTool {
    /// The server's own name for it.
    pub name: String,
    pub description: String,
    /// JSON Schema of its arguments, an object.
    pub schema: Map<String, Value>,
    /// The server claims that it only reads. A claim, not a fact.
    pub says_read_only: bool,
}

/// How a server is doing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum ServerState {
    /// Not asked to run yet, or on its way up for the first time.
    #[default]
    Starting,
    Running,
    /// Gone or never there; it is tried again by itself.
    Failing {
        reason: String,
    },
    Stopped,
}

/// What one call came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CallOutcome {
    /// The server's result, as text.
    Answered { text: String },
    /// The server answered that it did not do it.
    Refused { reason: String },
    /// Nothing left this program.
    NotSent { reason: String },
    /// The request left and no answer came: it may have been done.
    Lost { reason: String },
}

/// One configured server. Calls are made once each, never repeated by the edge.
#[async_trait]
pub trait ToolServer: Send + Sync + 'static {
    /// Its name in the configuration.
    fn name(&self) -> &str;
    fn state(&self) -> ServerState;
    /// What it offered last; kept while it is away.
    fn tools(&self) -> Arc<Vec<OfferedTool>>;
    /// Waits for a server that is still starting, then calls `tool` (the server's own name) once.
    async fn call(&self, tool: &str, arguments: Map<String, Value>) -> CallOutcome;
}
