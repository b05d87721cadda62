//! Declares the window's commands, so that each needs a permission of its own. Their names are those that the
//! capability allows; a test holds them equal to the core's table.

fn main() {
    println!("cargo::rerun-if-changed=capabilities/main.json");
    if let Err(error) = build() {
        println!("cargo::error={error:#}");
        std::process::exit(1);
    }
}

fn build() -> anyhow::Result<()> {
    let text = std::fs::read_to_string("capabilities/main.json")?;
    let names: Vec<&'static str> = text
        .lines()
        .filter_map(|line| line.trim().trim_end_matches(',').trim_matches('"').strip_prefix("allow-"))
        .map(|name| &*name.replace('-', "_").leak())
        .collect();
    let manifest = tauri_build::AppManifest::new().commands(names.leak());
    let attributes = tauri_build::Attributes::new().config_path("../tauri.conf.json").app_manifest(manifest);
    tauri_build::try_build(attributes)
}
