//! The tray, where there is one: what waits, open, pause, quit.

use std::path::Path;
use std::process::Command;

use tauri::menu::{Menu, MenuItem};
use tauri::tray::TrayIconBuilder;
use tauri::{AppHandle, Manager};
use unavez::api::window::wire::{Language, Snapshot};

use crate::shell::Shell;

const ID: &str = "main";

/// A tray needs a host on the session bus and the indicator library; without either, closing the window ends the program.
pub fn available() -> bool {
    if !cfg!(target_os = "linux") {
        return true;
    }
    const LIBRARIES: [&str; 2] = ["libayatana-appindicator3.so.1", "libappindicator3.so.1"];
    const FOLDERS: [&str; 5] =
        ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/lib64"];
    let library = FOLDERS.iter().any(|folder| LIBRARIES.iter().any(|library| Path::new(folder).join(library).exists()));
    library && has_host()
}

fn has_host() -> bool {
    let asked = Command::new("gdbus")
        .args(["call", "--session", "--dest", "org.freedesktop.DBus", "--object-path", "/org/freedesktop/DBus"])
        .args(["--method", "org.freedesktop.DBus.NameHasOwner", "org.kde.StatusNotifierWatcher"])
        .output();
    asked.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("true"))
}

pub fn build(app: &AppHandle) -> tauri::Result<()> {
    let open = MenuItem::with_id(app, "open", "Unavez", true, None::<&str>)?;
    let pause = MenuItem::with_id(app, "pause", "Pausa / Pause", true, None::<&str>)?;
    let quit = MenuItem::with_id(app, "quit", "Salir / Quit", true, None::<&str>)?;
    let menu = Menu::with_items(app, &[&open, &pause, &quit])?;
    let mut tray = TrayIconBuilder::with_id(ID).menu(&menu).tooltip("Unavez").on_menu_event(|app, event| {
        match event.id.as_ref() {
            "open" => crate::setup::raise(app),
            "pause" => toggle_pause(app.clone()),
            "quit" => app.exit(0),
            _ => {}
        }
    });
    if let Some(icon) = app.default_window_icon() {
        tray = tray.icon(icon.clone());
    }
    tray.build(app)?;
    Ok(())
}

fn toggle_pause(app: AppHandle) {
    tauri::async_runtime::spawn(async move {
        let shell = app.state::<Shell>();
        let paused = match shell.desktop.desk().await {
            Ok(desk) => desk.snapshot().await.map(|snapshot| snapshot.paused),
            Err(failure) => Err(failure),
        };
        let done = match paused {
            Ok(paused) => shell.desktop.set_paused(!paused).await,
            Err(failure) => Err(failure),
        };
        if let Err(failure) = done {
            tracing::warn!(message = failure.message, "pause could not be changed");
        }
    });
}

/// State in the tooltip: the icon stays calm.
pub fn show(app: &AppHandle, snapshot: &Snapshot) {
    let Some(tray) = app.tray_by_id(ID) else { return };
    let waiting = snapshot.badges.approvals + snapshot.badges.evidence;
    let text = match (snapshot.paused, waiting, snapshot.language) {
        (true, _, Language::Es) => "Unavez · en pausa".to_owned(),
        (true, _, Language::En) => "Unavez · paused".to_owned(),
        (false, 0, _) => "Unavez".to_owned(),
        (false, waiting, Language::Es) => format!("Unavez · {waiting} por decidir"),
        (false, waiting, Language::En) => format!("Unavez · {waiting} to decide"),
    };
    if let Err(error) = tray.set_tooltip(Some(text)) {
        tracing::debug!(%error, "the tray does not answer");
    }
}
