//! What a server offers, up to limits that no honest server meets.

use std::collections::BTreeSet;

use rmcp::model::{PaginatedRequestParams, Tool};
use rmcp::service::{Peer, RoleClient, ServiceError};

use crate::domain::tool_server::OfferedTool;

/// Models choose badly among more, and providers refuse lists that are much longer.
const MOST_TOOLS: usize = 128;
const MOST_PAGES: usize = 20;
const LONGEST_NAME: usize = 128;
/// Characters.
const LONGEST_DESCRIPTION: usize = 2_000;
/// Bytes of one schema as JSON.
const LARGEST_SCHEMA: usize = 32 * 1024;

/// Every tool that fits the limits; the caller sets the time.
pub(super) async fn list(server: &str, peer: &Peer<RoleClient>) -> Result<Vec<OfferedTool>, ServiceError> {
    let (mut offered, mut names, mut cursor) = (Vec::new(), BTreeSet::new(), None);
    for _ in 0..MOST_PAGES {
        let page = peer.list_tools(Some(PaginatedRequestParams::default().with_cursor(cursor))).await?;
        for tool in page.tools {
            if offered.len() == MOST_TOOLS {
                tracing::warn!(server, "the tool server offers more than {MOST_TOOLS} tools; the rest is left out");
                return Ok(offered);
            }
            match accept(tool) {
                Ok(tool) if names.insert(tool.name.clone()) => offered.push(tool),
                Ok(tool) => tracing::warn!(server, tool = tool.name, "a tool is offered twice; the second is left out"),
                Err(reason) => tracing::warn!(server, reason, "a tool is left out"),
            }
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    Ok(offered)
}

fn accept(tool: Tool) -> Result<OfferedTool, &'static str> {
    if tool.name.is_empty() || tool.name.len() > LONGEST_NAME {
        return Err("its name is empty or too long");
    }
    let schema = (*tool.input_schema).clone();
    if serde_json::to_vec(&schema).map_or(usize::MAX, |bytes| bytes.len()) > LARGEST_SCHEMA {
        return Err("its schema is too large");
    }
    let annotations = tool.annotations.as_ref();
    let says_read_only = annotations.is_some_and(|hints| {
        // Contradicting itself, it claims nothing.
        hints.read_only_hint == Some(true) && hints.destructive_hint != Some(true)
    });
    Ok(OfferedTool {
        description: tool.description.as_deref().unwrap_or_default().chars().take(LONGEST_DESCRIPTION).collect(),
        name: tool.name.into_owned(),
        schema,
        says_read_only,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use serde_json::{Value, json};

    use super::*;

    fn offered(tool: Value) -> Result<OfferedTool, &'static str> {
        accept(serde_json::from_value(tool).unwrap())
    }

    #[test]
    fn what_a_server_offers_is_cut_to_size() {
        let long = "x".repeat(100_000);
        let tool = offered(json!({ "name": "a", "description": long, "inputSchema": { "type": "object" } })).unwrap();
        assert_eq!(tool.description.len(), LONGEST_DESCRIPTION);
        assert!(offered(json!({ "name": "a".repeat(200), "inputSchema": {} })).is_err());
        assert!(offered(json!({ "name": "a", "inputSchema": { "description": long } })).is_err());
    }

    #[test]
    fn only_a_consistent_claim_is_a_claim() {
        let says = |hints: Value| {
            offered(json!({ "name": "a", "inputSchema": {}, "annotations": hints })).unwrap().says_read_only
        };
        assert!(says(json!({ "readOnlyHint": true })));
        assert!(!says(json!({ "readOnlyHint": true, "destructiveHint": true })));
        assert!(!says(json!({ "readOnlyHint": false })) && !says(json!({})));
    }
}
