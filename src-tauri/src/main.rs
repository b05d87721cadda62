//! The window around the core.

fn main() {
    tauri::Builder::default().run(tauri::generate_context!("../tauri.conf.json")).ok();
}
