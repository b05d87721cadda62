//! Pushes what changed to the window, after each commit, a few times a second at most.

use std::time::Duration;

use tauri::{AppHandle, Emitter, Manager};

use crate::notices::Notices;
use crate::shell::Shell;

/// Changes this close together are one push.
const GATHER: Duration = Duration::from_millis(60);

pub async fn run(app: AppHandle) {
    let mut generation = app.state::<Shell>().desktop.generation();
    let mut notices = Notices::default();
    loop {
        let Ok(desk) = app.state::<Shell>().desktop.desk().await else {
            // Stopped, or being composed again.
            if generation.changed().await.is_err() {
                return;
            }
            continue;
        };
        let watch = desk.watch();
        // A new composition: everything may be different.
        watch.poke();
        loop {
            let changes = tokio::select! {
                changes = watch.changed() => changes,
                changed = generation.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    break;
                }
            };
            match desk.patch(changes).await {
                Ok(patch) => {
                    if let Err(error) = app.emit("patch", &patch) {
                        tracing::debug!(%error, "no window to tell");
                    }
                    crate::tray::show(&app, &patch.snapshot);
                    notices.follow(&app, &desk, &patch.snapshot).await;
                }
                Err(failure) => tracing::warn!(message = failure.message, "a change could not be read for the window"),
            }
            tokio::time::sleep(GATHER).await;
        }
    }
}
