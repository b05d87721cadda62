//! Desktop notifications: a waiting approval with its buttons, an unknown outcome. The row stays the truth: a lost
//! notification loses nothing, and a click always opens the item.

use std::collections::HashSet;

use notify_rust::{Hint, Notification, NotificationResponse, Timeout};
use tauri::{AppHandle, Emitter, Manager};
use unavez::api::window::Desk;
use unavez::api::window::wire::{Decision, EvidenceFilter, Language, OpenItem, Snapshot, Topic};

use crate::shell::Shell;

/// What was told of already.
#[derive(Default)]
pub struct Notices {
    seen: HashSet<String>,
    /// What waited before the program started is on the badges, not news.
    started: bool,
}

impl Notices {
    pub async fn follow(&mut self, app: &AppHandle, desk: &Desk, snapshot: &Snapshot) {
        let (Ok(approvals), Ok(unknown)) =
            (desk.approvals(false).await, desk.evidence(EvidenceFilter::Attention, None).await)
        else {
            return;
        };
        let wanted = match app.state::<Shell>().desktop.window().await {
            Ok(window) => window.notifications && self.started,
            Err(_) => false,
        };
        for row in approvals {
            if self.seen.insert(format!("approval:{}", row.id)) && wanted {
                let title = pick(snapshot.language, "Waits for your OK", "Espera tu OK");
                show(
                    app.clone(),
                    title,
                    row.summary,
                    OpenItem { topic: Topic::Approvals, id: Some(row.id) },
                    snapshot.language,
                );
            }
        }
        for row in unknown.rows {
            if self.seen.insert(format!("unknown:{}", row.id)) && wanted {
                let title = pick(snapshot.language, "Not known whether it was done", "No se sabe si se hizo");
                show(
                    app.clone(),
                    title,
                    row.summary,
                    OpenItem { topic: Topic::Evidence, id: Some(row.id) },
                    snapshot.language,
                );
            }
        }
        self.started = true;
    }
}

fn pick(language: Language, en: &'static str, es: &'static str) -> &'static str {
    match language {
        Language::En => en,
        Language::Es => es,
    }
}

/// Shows one and waits for its answer on a thread of its own: the bus connection of a notification may block.
fn show(app: AppHandle, title: &'static str, body: String, item: OpenItem, language: Language) {
    let decides = item.topic == Topic::Approvals;
    let spawned = std::thread::Builder::new().name("notification".to_owned()).spawn(move || {
        let mut notification = Notification::new();
        notification.appname("Unavez").summary(title).body(&body).action("default", title).timeout(Timeout::Never);
        if decides {
            notification
                .action("approve", pick(language, "Approve", "Aprobar"))
                .action("deny", pick(language, "Deny", "Denegar"))
                .hint(Hint::Resident(false));
        }
        let shown = match notification.show() {
            Ok(shown) => shown,
            Err(error) => return tracing::debug!(%error, "no notification could be shown"),
        };
        if let Err(error) = shown.wait_for_response(|response: &NotificationResponse| answer(&app, response, &item)) {
            tracing::debug!(%error, "the answer to a notification was lost");
        }
    });
    if let Err(error) = spawned {
        tracing::debug!(%error, "no notification could be shown");
    }
}

fn answer(app: &AppHandle, response: &NotificationResponse, item: &OpenItem) {
    let decision = match response {
        NotificationResponse::Action(key) if key == "approve" => Some(Decision::Approve),
        NotificationResponse::Action(key) if key == "deny" => Some(Decision::Deny),
        NotificationResponse::Default => None,
        _ => return,
    };
    let (app, item) = (app.clone(), item.clone());
    tauri::async_runtime::spawn(async move {
        if let (Some(decision), Some(id)) = (decision, &item.id) {
            let decided = match app.state::<Shell>().desktop.desk().await {
                Ok(desk) => desk.decide_in_notification(id, decision).await.map(|_| ()),
                Err(failure) => Err(failure),
            };
            if let Err(failure) = decided {
                tracing::info!(message = failure.message, "a notification's answer came too late");
            }
        }
        crate::setup::raise(&app);
        if let Err(error) = app.emit("open_item", &item) {
            tracing::debug!(%error, "no window to tell");
        }
    });
}
