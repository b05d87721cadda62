fn main() {
    let attributes = tauri_build::Attributes::new().config_path("../tauri.conf.json");
    if let Err(error) = tauri_build::try_build(attributes) {
        println!("cargo::error={error:#}");
        std::process::exit(1);
    }
}
