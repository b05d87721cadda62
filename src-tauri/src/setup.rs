//! Building the program around the window: one instance, window state, tray, and an end in order.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tauri::{AppHandle, DragDropEvent, Emitter, Manager, RunEvent, WebviewWindowBuilder, WindowEvent};
use unavez::app::{AppOptions, Desktop, StartError};

use crate::shell::Shell;
use crate::{commands, events, tray};

const MAIN: &str = "main";

/// Blank windows with some drivers: WebKit's DMABUF renderer is off unless the person decided otherwise
/// (<https://github.com/tauri-apps/tauri/issues/9304>).
const DMABUF: &str = "WEBKIT_DISABLE_DMABUF_RENDERER";

pub fn run(options: AppOptions) -> ExitCode {
    if cfg!(target_os = "linux") {
        if no_display() {
            say("there is no display to open a window on; `unavez run` works without one");
            return ExitCode::FAILURE;
        }
        if std::env::var_os(DMABUF).is_none() {
            return restarted();
        }
    }
    let code = Arc::new(AtomicU8::new(1));
    let failure = code.clone();
    let start_hidden = std::env::var_os("UNAVEZ_HIDDEN").is_some();
    let built = tauri::Builder::default()
        .plugin(tauri_plugin_single_instance::init(|app, _arguments, _folder| raise(app)))
        .plugin(tauri_plugin_window_state::Builder::default().build())
        .plugin(tauri_plugin_dialog::init())
        .plugin(tauri_plugin_opener::init())
        .plugin(tauri_plugin_autostart::Builder::new().build())
        .invoke_handler(commands::handler())
        .setup(move |app| {
            let desktop = tauri::async_runtime::block_on(Desktop::start(options)).inspect_err(|error| {
                failure.store(exit_code(error), Ordering::Relaxed);
            })?;
            let has_tray = tray::available();
            app.manage(Shell::new(Arc::new(desktop), has_tray));
            if has_tray {
                tray::build(app.handle())?;
            }
            open(app.handle(), start_hidden && has_tray)?;
            tauri::async_runtime::spawn(events::run(app.handle().clone()));
            #[cfg(unix)]
            tauri::async_runtime::spawn(end_when_asked(app.handle().clone()));
            Ok(())
        })
        .build(tauri::generate_context!("../tauri.conf.json"));
    match built {
        Ok(app) => {
            app.run(on_event);
            ExitCode::SUCCESS
        }
        Err(error) => {
            say(&error.to_string());
            ExitCode::from(code.load(Ordering::Relaxed))
        }
    }
}

/// Exit codes of a start that failed, as on the command line.
fn exit_code(error: &StartError) -> u8 {
    match error {
        StartError::Config(_) => 2,
        error if error.is_in_use() => 3,
        _ => 1,
    }
}

fn say(text: &str) {
    // silent-ok: stderr is closed.
    let _ = writeln!(std::io::stderr(), "unavez: {text}");
}

fn no_display() -> bool {
    ["DISPLAY", "WAYLAND_DISPLAY"].iter().all(|name| std::env::var_os(name).is_none_or(|value| value.is_empty()))
}

/// The variable counts only when it is there from the beginning: the program runs itself again with it.
fn restarted() -> ExitCode {
    let Ok(program) = std::env::current_exe() else { return ExitCode::FAILURE };
    let mut again = std::process::Command::new(program);
    again.args(std::env::args_os().skip(1)).env(DMABUF, "1");
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt;
        let error = again.exec();
        say(&error.to_string());
        ExitCode::FAILURE
    }
    #[cfg(not(unix))]
    {
        match again.status() {
            Ok(status) if status.success() => ExitCode::SUCCESS,
            _ => ExitCode::FAILURE,
        }
    }
}

fn open(app: &AppHandle, hidden: bool) -> tauri::Result<()> {
    let Some(config) = app.config().app.windows.iter().find(|window| window.label == MAIN) else { return Ok(()) };
    let window = WebviewWindowBuilder::from_config(app, config)?.visible(!hidden).build()?;
    let handle = app.clone();
    window.on_window_event(move |event| match event {
        WindowEvent::CloseRequested { api, .. } if stays(&handle) => {
            api.prevent_close();
            hide(&handle);
        }
        WindowEvent::DragDrop(DragDropEvent::Drop { paths, .. }) => {
            let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
            if let Err(error) = handle.emit("dropped_files", paths) {
                tracing::debug!(%error, "no window to tell");
            }
        }
        _ => {}
    });
    #[cfg(target_os = "linux")]
    reload_when_it_dies(&window)?;
    Ok(())
}

/// A web view that crashes is loaded again; the agent does not notice.
#[cfg(target_os = "linux")]
fn reload_when_it_dies(window: &tauri::WebviewWindow) -> tauri::Result<()> {
    use webkit2gtk::WebViewExt;
    window.with_webview(|view| {
        view.inner().connect_web_process_terminated(|view, reason| {
            tracing::warn!(?reason, "the web view ended and is loaded again");
            view.reload();
        });
    })
}

/// Closing hides, where there is a tray to come back from.
fn stays(app: &AppHandle) -> bool {
    let shell = app.state::<Shell>();
    shell.tray && tauri::async_runtime::block_on(shell.desktop.window()).is_ok_and(|window| window.close_to_tray)
}

fn hide(app: &AppHandle) {
    if let Some(window) = app.get_webview_window(MAIN)
        && let Err(error) = window.hide()
    {
        tracing::debug!(%error, "the window does not hide");
    }
}

/// Brings the window back, making it again if it is gone.
pub fn raise(app: &AppHandle) {
    let shown = match app.get_webview_window(MAIN) {
        Some(window) => window.show().and_then(|()| window.unminimize()).and_then(|()| window.set_focus()),
        None => open(app, false),
    };
    if let Err(error) = shown {
        tracing::warn!(%error, "the window does not come back");
    }
}

/// The end of a desktop session ends the program in order, like closing its window.
#[cfg(unix)]
async fn end_when_asked(app: AppHandle) {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut terminated), Ok(mut interrupted)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return;
    };
    tokio::select! {
        _ = terminated.recv() => {}
        _ = interrupted.recv() => {}
    }
    app.exit(0);
}

fn on_event(app: &AppHandle, event: RunEvent) {
    if let RunEvent::Exit = event {
        tauri::async_runtime::block_on(app.state::<Shell>().desktop.stop());
    }
}
