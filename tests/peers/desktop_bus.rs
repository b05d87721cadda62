//! The desktop's own services: keychain (gnome-keyring) and notifications (dunst), each on a private session bus.

use std::path::Path;
use std::process::Command;

use super::servers::{here, skipped};

fn there(program: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(program).is_file()))
}

/// Runs `script` (of this folder) on a session bus of its own, in a scratch home.
fn on_a_bus(script: &str, home: &Path) -> (bool, String) {
    let output = Command::new("dbus-run-session")
        .args(["--", "bash"])
        .arg(here().join(script))
        .env("HOME", home)
        .env("XDG_DATA_HOME", home.join("data"))
        .env("XDG_RUNTIME_DIR", home)
        .env("UNAVEZD", env!("CARGO_BIN_EXE_unavezd"))
        .output()
        .unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.success(), text)
}

#[test]
fn the_keychain_is_used_where_it_is_and_missed_by_name_where_it_is_not() {
    if !["dbus-run-session", "gnome-keyring-daemon", "secret-tool"].iter().all(|program| there(program)) {
        skipped("gnome-keyring", "not installed; run `make test-peers`");
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let (good, text) = on_a_bus("keyring.sh", home.path());
    assert!(good, "{text}");
    println!("keychain: {}", text.trim());
}
