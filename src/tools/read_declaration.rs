//! What every read declares.

use crate::domain::effect::DedupeClass;
use crate::domain::tool::{PolicyKey, ToolDeclaration, ToolKind, Waiting};

/// A tool that only looks: it never meets the guard, so the other fields say nothing.
pub fn read(name: &str) -> ToolDeclaration {
    ToolDeclaration {
        name: name.to_owned(),
        kind: ToolKind::Read,
        identity: Vec::new(),
        window: None,
        policy: PolicyKey::Other,
        dedupe: DedupeClass::Neither,
        waiting: Waiting::Queued,
    }
}
