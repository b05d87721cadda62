fn main() {
    tauri::Builder::default().run(tauri::generate_context!("../tauri.conf.json")).ok();
}
