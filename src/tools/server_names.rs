//! Names of external tools and of their arguments: as their server has them, and as the model sees them.

use serde_json::{Map, Value};

use crate::domain::tool_server::OfferedTool;
use crate::runtime::hash::sha256_hex;

/// Longest name of a tool that every model provider takes.
const LONGEST: usize = 64;
/// Longest prefix, so that something of the tool's own name is left.
const LONGEST_PREFIX: usize = 24;

/// Says that a second occurrence is meant; an argument of ours in every effect tool.
pub(super) const REPEAT: &str = "repeat";
/// What a tool's own argument `repeat` is called for the model, on cards and in the identity.
pub(super) const OWN_REPEAT: &str = "repeat_";

/// What the names of a server's tools begin with, before `__`. Two servers whose names differ only in what no tool name
/// may hold have the same.
pub fn prefix(server: &str) -> String {
    let plain = plain(server);
    // `__` separates; no part may hold it.
    let parts: Vec<&str> = plain.split('_').filter(|part| !part.is_empty()).collect();
    match parts.join("_") {
        name if name.is_empty() => format!("s{}", &sha256_hex(server)[..6]),
        name if name.len() > LONGEST_PREFIX => format!("{}-{}", &name[..LONGEST_PREFIX - 7], &sha256_hex(server)[..6]),
        name => name,
    }
}

/// `prefix__tool`. A name that had to be changed or cut carries a hash of the original one, so that no two meet.
pub fn tool(prefix: &str, tool: &str) -> String {
    let name = format!("{prefix}__{}", plain(tool));
    if name.len() <= LONGEST && name.ends_with(tool) {
        return name;
    }
    let hash = &sha256_hex(tool)[..8];
    format!("{}_{hash}", &name[..name.len().min(LONGEST - 9)])
}

/// Only what every provider takes in a name; ASCII, so that it may be cut anywhere.
fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect()
}

/// Whether the server itself has an argument called `repeat`.
pub(super) fn has_own_repeat(tool: &OfferedTool) -> bool {
    tool.schema.get("properties").and_then(Value::as_object).is_some_and(|own| own.contains_key(REPEAT))
}

/// The arguments of an action under the names that the server knows.
pub(super) fn for_server(tool: &OfferedTool, arguments: &Map<String, Value>) -> Map<String, Value> {
    let mut arguments = arguments.clone();
    if has_own_repeat(tool)
        && let Some(value) = arguments.remove(OWN_REPEAT)
    {
        arguments.insert(REPEAT.to_owned(), value);
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_every_provider_and_never_meet() {
        assert_eq!(tool(&prefix("files"), "write_file"), "files__write_file");
        assert_eq!(prefix("my  server__x"), "my_server_x");
        let names = ["a.b", "a b", "a_b", "ñ", "", &"x".repeat(100), &"x".repeat(101)].map(|name| tool("s", name));
        for (at, name) in names.iter().enumerate() {
            assert!(name.len() <= LONGEST && name.starts_with("s__"), "{name}");
            assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')), "{name}");
            assert!(!names[..at].contains(name), "{name}");
        }
        assert!(prefix(&"long ".repeat(20)).len() <= LONGEST_PREFIX && !prefix("ññ").is_empty());
    }
}
