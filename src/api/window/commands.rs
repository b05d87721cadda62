//! The table of commands: names, arguments and answers, once, for Rust and TypeScript.
//!
//! The shell registers exactly these, its capability allows exactly these, and `CommandMap` in the window's code is
//! printed from here.

use std::any::TypeId;
use std::collections::{BTreeMap, HashSet};

use ts_rs::{Config, TS, TypeVisitor};

use super::wire::*;
use crate::domain::action::Action;

macro_rules! commands {
    ($($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*) => {
        /// Every command of the window, in the order of the views.
        pub const COMMANDS: &[&str] = &[$(stringify!($name)),*];

        fn command_map(config: &Config) -> String {
            let mut text = String::from("export interface CommandMap {\n");
            $(
                let arguments: &[String] = &[$(format!("{}: {}", stringify!($argument), <$type as TS>::name(config))),*];
                let arguments = if arguments.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", arguments.join("; ")) };
                let answer = <$answer as TS>::name(config);
                text.push_str(&format!("  {}: {{ args: {arguments}; answer: {answer} }};\n", stringify!($name)));
            )*
            text.push_str("}\n");
            text
        }

        fn visit_all(declarations: &mut Declarations<'_>) {
            $(
                declarations.visit::<$answer>();
                $(declarations.visit::<$type>();)*
            )*
            declarations.visit::<Patch>();
            declarations.visit::<Failure>();
            declarations.visit::<OpenItem>();
            declarations.visit::<ExportProgress>();
        }
    };
}

commands! {
    snapshot() -> Snapshot;
    dismiss_away() -> ();
    finish_first_start() -> ();
    set_paused(paused: bool) -> ();
    search(text: String) -> Vec<SearchHit>;

    conversations() -> Vec<ConversationRow>;
    timeline(conversation: String, older: Option<TimelineCursor>) -> TimelinePage;
    send_message(text: String, files: Vec<String>) -> ();
    stop(conversation: String) -> Stopped;
    send_again(outbound: String) -> ();
    replay_story(without_guard: bool) -> Replayed;

    approvals(all: bool) -> Vec<ApprovalRow>;
    approval(id: String) -> ApprovalDetail;
    decide(id: String, decision: Decision) -> Decided;
    edit_action(id: String, action: Action) -> String;
    ask_again(id: String) -> String;
    undo(effect: String) -> ();

    evidence(filter: EvidenceFilter, older: Option<String>) -> EvidencePage;
    evidence_detail(id: String) -> EvidenceDetail;
    check_again(id: String) -> ();
    resolve(id: String, answer: Answer) -> ();

    duplicates(layer: Option<String>, older: Option<String>) -> DuplicatePage;
    duplicate(id: String) -> DuplicateDetail;
    duplicate_chart(days: i64) -> LayerChart;
    do_anyway(id: String) -> String;

    calendar(from: i64, until: i64) -> CalendarView;
    undo_event(effect: String) -> ();

    activity(filter: ActivityFilter, older: Option<i64>) -> ActivityPage;
    verify_audit() -> Verification;
    export_audit(filter: ActivityFilter, format: ExportFormat) -> Exported;
    cancel_export() -> ();

    settings() -> Settings;
    change_settings(change: SettingsChange) -> ();
    set_secret(key: String, value: Option<String>) -> ();
    find_models() -> Vec<FoundModel>;
    test_model() -> TestResult;
    test_telegram() -> TestResult;
    pairing() -> Pairing;
    test_mail() -> TestResult;
    test_calendar() -> TestResult;
    explain_debounce(text: String) -> Explained;
    usage(days: i64) -> Vec<UsageDay>;
    schedules() -> Vec<ScheduleRow>;
    cancel_schedule(id: String) -> ();
    facts() -> Vec<FactRow>;
    forget_fact(id: String) -> ();
    backup() -> Exported;
    open_data_folder() -> ();
}

/// Declarations of every type reached, by name.
struct Declarations<'a> {
    config: &'a Config,
    seen: HashSet<TypeId>,
    by_name: BTreeMap<String, String>,
}

impl TypeVisitor for Declarations<'_> {
    fn visit<T: TS + 'static + ?Sized>(&mut self) {
        if !self.seen.insert(TypeId::of::<T>()) {
            return;
        }
        if T::output_path().is_some() {
            self.by_name.insert(T::ident(self.config), T::decl(self.config));
        }
        T::visit_dependencies(self);
        T::visit_generics(self);
    }
}

/// The whole of `ui/src/ipc/bindings.ts`: every type that crosses, and the map of commands.
pub fn typescript() -> String {
    let config = Config::new().with_large_int("number");
    let mut declarations = Declarations { config: &config, seen: HashSet::new(), by_name: BTreeMap::new() };
    visit_all(&mut declarations);
    let mut text =
        String::from("// Printed from src/api/window by the test `bindings_are_fresh`. Change it there.\n\n");
    for declaration in declarations.by_name.values() {
        text.push_str("export ");
        text.push_str(declaration);
        text.push_str("\n\n");
    }
    text.push_str(&command_map(&config));
    text
}
