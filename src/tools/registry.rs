//! Every tool by name.

use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use serde_json::Value;

use super::context::{CallContext, CallError, ToolResult};
use crate::domain::chat::ToolSpec;
use crate::domain::tool::ToolDeclaration;

/// One tool. A read answers by itself; an effect builds an action and returns what
/// [`Effects::submit`](super::Effects::submit) gives back.
#[async_trait]
pub trait Tool: Send + Sync + 'static {
    /// What it is to the guard.
    fn declaration(&self) -> ToolDeclaration;
    /// What the model is told of it.
    fn spec(&self) -> ToolSpec;
    /// Answers one call. Bad arguments are a [`ToolResult`], see [`ArgumentError::result`](super::ArgumentError::result).
    async fn call(&self, context: &CallContext, arguments: &Value) -> Result<ToolResult, CallError>;
}

type Tools = Vec<Arc<dyn Tool>>;

/// The tools of this installation, in the order the model sees them. Servers of tools may come and go.
#[derive(Default)]
pub struct Registry {
    tools: RwLock<Arc<Tools>>,
}

impl Registry {
    pub fn new(tools: Vec<Arc<dyn Tool>>) -> Self {
        Self { tools: RwLock::new(Arc::new(tools)) }
    }

    fn tools(&self) -> Arc<Tools> {
        self.tools.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces all tools whose name starts with `prefix` by `tools`.
    pub fn replace(&self, prefix: &str, tools: Vec<Arc<dyn Tool>>) {
        let mut current = self.tools.write().unwrap_or_else(PoisonError::into_inner);
        let kept = current.iter().filter(|tool| !tool.declaration().name.starts_with(prefix)).cloned();
        *current = Arc::new(kept.chain(tools).collect());
    }

    pub fn declarations(&self) -> Vec<ToolDeclaration> {
        self.tools().iter().map(|tool| tool.declaration()).collect()
    }

    pub fn specs(&self) -> Vec<ToolSpec> {
        self.tools().iter().map(|tool| tool.spec()).collect()
    }

    pub fn declaration(&self, name: &str) -> Option<ToolDeclaration> {
        self.find(name).map(|tool| tool.declaration())
    }

    fn find(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.tools().iter().find(|tool| tool.declaration().name == name).cloned()
    }

    /// Answers one call; an unknown name is answered with the names there are.
    pub async fn call(&self, context: &CallContext, name: &str, arguments: &Value) -> Result<ToolResult, CallError> {
        match self.find(name) {
            Some(tool) => tool.call(context, arguments).await,
            None => {
                let names: Vec<String> = self.tools().iter().map(|tool| tool.declaration().name).collect();
                let message = format!("there is no tool {name}; there are {}", names.join(", "));
                Ok(ToolResult::error("unknown_tool", message))
            }
        }
    }
}
