//! The commands of the window, one line each onto the core. Names and types: `unavez::api::window::commands`.

use tauri::{AppHandle, Emitter, Manager, State};
use tauri_plugin_autostart::ManagerExt;
use tauri_plugin_dialog::DialogExt;
use tauri_plugin_opener::OpenerExt;
use unavez::api::window::wire::{Answer as Word, *};

use crate::shell::Shell;

type Answer<T> = Result<T, Failure>;

macro_rules! desk {
    ($($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*) => {$(
        #[tauri::command]
        pub async fn $name(shell: State<'_, Shell>, $($argument: $type),*) -> Answer<$answer> {
            shell.desktop.desk().await?.$name($($argument),*).await
        }
    )*};
}

macro_rules! desktop {
    ($($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*) => {$(
        #[tauri::command]
        pub async fn $name(shell: State<'_, Shell>, $($argument: $type),*) -> Answer<$answer> {
            shell.desktop.$name($($argument),*).await
        }
    )*};
}

desk! {
    snapshot() -> Snapshot;
    dismiss_away() -> ();
    finish_first_start() -> ();
    search(text: String) -> Vec<SearchHit>;
    conversations() -> Vec<ConversationRow>;
    timeline(conversation: String, older: Option<TimelineCursor>) -> TimelinePage;
    stop(conversation: String) -> Stopped;
    send_again(outbound: String) -> ();
    approvals(all: bool) -> Vec<ApprovalRow>;
    approval(id: String) -> ApprovalDetail;
    decide(id: String, decision: Decision) -> Decided;
    edit_action(id: String, action: Action) -> String;
    ask_again(id: String) -> String;
    undo(effect: String) -> ();
    evidence(filter: EvidenceFilter, older: Option<String>) -> EvidencePage;
    evidence_detail(id: String) -> EvidenceDetail;
    check_again(id: String) -> ();
    resolve(id: String, answer: Word) -> ();
    duplicates(layer: Option<String>, older: Option<String>) -> DuplicatePage;
    duplicate(id: String) -> DuplicateDetail;
    duplicate_chart(days: i64) -> LayerChart;
    do_anyway(id: String) -> String;
    calendar(from: i64, until: i64) -> CalendarView;
    undo_event(effect: String) -> ();
    activity(filter: ActivityFilter, older: Option<i64>) -> ActivityPage;
    verify_audit() -> Verification;
    usage(days: i64) -> Vec<UsageDay>;
    schedules() -> Vec<ScheduleRow>;
    cancel_schedule(id: String) -> ();
    facts() -> Vec<FactRow>;
    forget_fact(id: String) -> ();
}

desktop! {
    set_paused(paused: bool) -> ();
    replay_story(without_guard: bool) -> Replayed;
    set_secret(key: String, value: Option<String>) -> ();
    find_models() -> Vec<FoundModel>;
    test_model() -> TestResult;
    test_telegram() -> TestResult;
    pairing() -> Pairing;
    test_mail() -> TestResult;
    test_calendar() -> TestResult;
}

#[tauri::command]
pub async fn send_message(shell: State<'_, Shell>, text: String, files: Vec<String>) -> Answer<()> {
    let files = shell.desktop.attach(files).await?;
    shell.desktop.desk().await?.send_message(text, files).await
}

#[tauri::command]
pub async fn explain_debounce(shell: State<'_, Shell>, text: String) -> Answer<Explained> {
    Ok(shell.desktop.desk().await?.explain_debounce(&text))
}

#[tauri::command]
pub async fn settings(app: AppHandle, shell: State<'_, Shell>) -> Answer<Settings> {
    let start_at_login = app.autolaunch().is_enabled().unwrap_or(false);
    shell.desktop.settings(start_at_login, shell.tray).await
}

#[tauri::command]
pub async fn change_settings(app: AppHandle, shell: State<'_, Shell>, change: SettingsChange) -> Answer<()> {
    shell.desktop.change_settings(change).await?;
    let wanted = shell.desktop.window().await?.start_at_login;
    let launch = app.autolaunch();
    if launch.is_enabled().unwrap_or(false) != wanted {
        let done = if wanted { launch.enable() } else { launch.disable() };
        done.map_err(|error| Failure::new(FailureCode::Unreachable, error.to_string()))?;
    }
    Ok(())
}

#[tauri::command]
pub async fn export_audit(
    app: AppHandle,
    shell: State<'_, Shell>,
    filter: ActivityFilter,
    format: ExportFormat,
) -> Answer<Exported> {
    let name = match format {
        ExportFormat::Jsonl => "unavez-audit.jsonl",
        ExportFormat::Csv => "unavez-audit.csv",
    };
    let path = save_path(&app, name).await?;
    shell.begin_export();
    let told = app.clone();
    let progress = move |progress: ExportProgress| events_are_best_effort(told.emit("export_progress", progress));
    let asked = app.clone();
    let stop = move || asked.state::<Shell>().export_stopped();
    shell.desktop.desk().await?.export_audit(filter, format, path, progress, stop).await
}

#[tauri::command]
pub async fn cancel_export(shell: State<'_, Shell>) -> Answer<()> {
    shell.stop_export();
    Ok(())
}

#[tauri::command]
pub async fn backup(app: AppHandle, shell: State<'_, Shell>) -> Answer<Exported> {
    let path = save_path(&app, "unavez.backup").await?;
    shell.desktop.backup(path).await
}

#[tauri::command]
pub async fn open_data_folder(app: AppHandle, shell: State<'_, Shell>) -> Answer<()> {
    let folder = shell.desktop.folder().path().display().to_string();
    app.opener()
        .open_path(folder, None::<&str>)
        .map_err(|error| Failure::new(FailureCode::Unreachable, error.to_string()))
}

/// Asks where to save; a closed dialog is a cancelled command.
async fn save_path(app: &AppHandle, name: &str) -> Answer<std::path::PathBuf> {
    let (tell, told) = tokio::sync::oneshot::channel();
    app.dialog().file().set_file_name(name).save_file(move |path| {
        // silent-ok: the command was dropped.
        let _ = tell.send(path);
    });
    told.await
        .ok()
        .flatten()
        .and_then(|path| path.into_path().ok())
        .ok_or_else(|| Failure::new(FailureCode::Cancelled, ""))
}

/// The window may be gone: it reads everything again when it comes back.
fn events_are_best_effort(sent: tauri::Result<()>) {
    if let Err(error) = sent {
        tracing::debug!(%error, "no window to tell");
    }
}

/// Every command, for the builder.
pub fn handler() -> impl Fn(tauri::ipc::Invoke) -> bool + Send + Sync + 'static {
    tauri::generate_handler![
        snapshot,
        dismiss_away,
        finish_first_start,
        set_paused,
        search,
        conversations,
        timeline,
        send_message,
        stop,
        send_again,
        replay_story,
        approvals,
        approval,
        decide,
        edit_action,
        ask_again,
        undo,
        evidence,
        evidence_detail,
        check_again,
        resolve,
        duplicates,
        duplicate,
        duplicate_chart,
        do_anyway,
        calendar,
        undo_event,
        activity,
        verify_audit,
        export_audit,
        cancel_export,
        settings,
        change_settings,
        set_secret,
        find_models,
        test_model,
        test_telegram,
        pairing,
        test_mail,
        test_calendar,
        explain_debounce,
        usage,
        schedules,
        cancel_schedule,
        facts,
        forget_fact,
        backup,
        open_data_folder,
    ]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use unavez::api::window::commands::COMMANDS;

    /// The window may call exactly the commands of the core's table, and listen: nothing else.
    #[test]
    fn the_capability_allows_exactly_the_commands() {
        let text = include_str!("../capabilities/main.json");
        let capability: serde_json::Value = serde_json::from_str(text).unwrap();
        let allowed: Vec<&str> =
            capability["permissions"].as_array().unwrap().iter().filter_map(|p| p.as_str()).collect();
        let expected: Vec<String> = ["core:event:allow-listen", "core:event:allow-unlisten"]
            .iter()
            .map(|name| (*name).to_owned())
            .chain(COMMANDS.iter().map(|name| format!("allow-{}", name.replace('_', "-"))))
            .collect();
        assert_eq!(allowed, expected);
    }

    #[test]
    fn every_command_has_its_line() {
        let source = include_str!("commands.rs");
        for name in COMMANDS {
            assert!(
                source.contains(&format!("{name},")) || source.contains(&format!("{name}]")),
                "{name} is not registered"
            );
        }
    }
}
