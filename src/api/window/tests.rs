#![allow(clippy::unwrap_used, clippy::expect_used)]

mod desk;

use super::commands::{COMMANDS, typescript};

/// The window's types are the core's. `UNAVEZ_WRITE_BINDINGS=1` rewrites the file.
#[test]
fn bindings_are_fresh() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("ui/src/ipc/bindings.ts");
    let fresh = typescript();
    if std::env::var_os("UNAVEZ_WRITE_BINDINGS").is_some() {
        std::fs::write(&path, &fresh).unwrap();
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(stored == fresh, "ui/src/ipc/bindings.ts is stale: UNAVEZ_WRITE_BINDINGS=1 cargo test bindings_are_fresh");
}

#[test]
fn command_names_are_distinct() {
    let distinct: std::collections::HashSet<_> = COMMANDS.iter().collect();
    assert_eq!(distinct.len(), COMMANDS.len());
}
