//! What can be typed. `--config`, `--data` and `--json` are taken before and after the command.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Which program runs: with a window, or without.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Program {
    /// `unavez`: without a command it opens the window.
    Window,
    /// `unavezd`: needs a command.
    Daemon,
}

impl Program {
    pub fn name(self) -> &'static str {
        match self {
            Self::Window => "unavez",
            Self::Daemon => "unavezd",
        }
    }
}

/// A personal assistant that never silently does the same thing twice.
#[derive(Parser, Debug)]
#[command(version, disable_help_subcommand = true)]
pub(super) struct Arguments {
    #[command(flatten)]
    pub(super) common: Common,
    #[command(subcommand)]
    pub(super) command: Option<Command>,
}

#[derive(Args, Clone, Debug)]
pub(super) struct Common {
    /// Configuration file [default: UNAVEZ_CONFIG, else the platform's folder]
    #[arg(long, global = true, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Data folder [default: UNAVEZ_DATA, else the platform's folder]
    #[arg(long, global = true, value_name = "DIR")]
    pub(super) data: Option<PathBuf>,
    /// Print JSON: one value, or one per line for lists
    #[arg(long, global = true)]
    pub(super) json: bool,
}

#[derive(Subcommand, Clone, Debug)]
pub(super) enum Command {
    /// Run the assistant without a window until it is interrupted
    Run,
    /// Check configuration, folders, keychain, channels, model, mail, calendar and clock
    Doctor,
    /// Channels, queues and what the guard did today
    Status,
    /// Conversations and their timelines
    #[command(subcommand)]
    Conversations(Conversations),
    /// The configured calendar
    #[command(subcommand)]
    Calendar(Calendar),
    /// What waits for your OK
    #[command(subcommand)]
    Approvals(Approvals),
    /// What was done, with its proof
    #[command(subcommand)]
    Evidence(Evidence),
    /// What was not done twice
    #[command(subcommand)]
    Duplicates(Duplicates),
    /// The log that nothing is deleted from
    #[command(subcommand)]
    Audit(Audit),
    /// Run a scenario through the real pipeline in a scratch folder
    Replay {
        /// Scenario file, or `incident`: the story this program comes from
        scenario: String,
        /// Take the real time instead of a virtual clock
        #[arg(long)]
        real_time: bool,
        /// Leave one layer out, to see what it is for
        #[arg(long, value_enum, value_name = "LAYER")]
        without: Vec<Layer>,
    },
    /// Sign in at the provider of your mail or calendar (Google and others that use OAuth), also while the program runs
    SignIn {
        #[arg(value_enum)]
        to: SignInTo,
    },
    /// Write a consistent copy of the database, also while the program runs
    Backup { file: PathBuf },
    /// Put a backup in place of the database; only while the program is stopped
    Restore { file: PathBuf },
    /// The configuration file
    #[command(subcommand)]
    Config(Config),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum Layer {
    Guard,
    Debounce,
    Typing,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum SignInTo {
    /// [mail.oauth]
    Mail,
    /// [calendar.google]
    Calendar,
}

#[derive(Subcommand, Clone, Debug)]
pub(super) enum Conversations {
    /// All conversations, the latest first
    List,
    /// The timeline of one
    Show { id: String },
}

#[derive(Subcommand, Clone, Debug)]
pub(super) enum Calendar {
    /// Events from now for 30 days, or between two dates
    List {
        /// A date, or a time with offset
        #[arg(long)]
        from: Option<String>,
        /// A date (included), or a time with offset
        #[arg(long)]
        to: Option<String>,
    },
}

#[derive(Subcommand, Clone, Debug)]
pub(super) enum Approvals {
    /// Pending ones, or every one
    List {
        #[arg(long)]
        all: bool,
    },
    Approve {
        id: String,
    },
    Deny {
        id: String,
    },
}

#[derive(Subcommand, Clone, Debug)]
pub(super) enum Evidence {
    /// Every effect, newest first
    List {
        #[arg(long, value_parser = state)]
        state: Option<crate::domain::effect::EffectState>,
    },
    /// One effect from intent to receipt
    Show { id: String },
    /// Say what became of an unknown outcome
    Resolve { id: String, resolution: Resolution },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum Resolution {
    /// It was sent
    Sent,
    /// It was not sent: send it now
    NotSent,
    /// It was not sent: drop it
    Drop,
    /// Leave it unknown, off the attention list
    Leave,
}

#[derive(Subcommand, Clone, Debug)]
pub(super) enum Duplicates {
    /// Prevented and held duplicates with the first effect, newest first
    List,
}

#[derive(Subcommand, Clone, Debug)]
pub(super) enum Audit {
    /// Write the log, or a part of it
    Export {
        #[arg(long, value_enum, default_value = "jsonl")]
        format: Format,
        /// A date, or a time with offset
        #[arg(long)]
        since: Option<String>,
        /// A date (included), or a time with offset
        #[arg(long)]
        until: Option<String>,
        #[arg(long, value_parser = kind)]
        kind: Vec<crate::audit::Kind>,
        /// Write to this file (0600) instead of stdout
        #[arg(short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Check the log, or an exported file, entry by entry
    Verify { file: Option<PathBuf> },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum Format {
    Jsonl,
    Csv,
}

#[derive(Subcommand, Clone, Debug)]
pub(super) enum Config {
    /// Effective values, without secrets
    Show,
    /// Check the file
    Check,
}

/// One of a closed set of names, or a sentence with all of them.
fn named<T: Copy>(text: &str, all: &[T], name: impl Fn(T) -> &'static str) -> Result<T, String> {
    all.iter().copied().find(|value| name(*value) == text).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|value| name(*value)).collect();
        format!("one of {}", names.join(", "))
    })
}

fn state(text: &str) -> Result<crate::domain::effect::EffectState, String> {
    use crate::domain::effect::EffectState;
    named(text, &EffectState::ALL, EffectState::as_str)
}

fn kind(text: &str) -> Result<crate::audit::Kind, String> {
    use crate::audit::Kind;
    named(text, &Kind::ALL, Kind::as_str)
}
