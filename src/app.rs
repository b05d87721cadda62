//! Composition: builds the stages from configuration and ports, starts and stops their workers.
//!
//! In: a configuration, a data folder, and ports to put in the place of the real ones (tests, replays).
//! Out: an [`App`] that answers requests, and workers that run until it stops.
//! This is the only place that knows every edge by name.

mod backup;
mod compose;
mod control;
mod desktop;
mod doctor;
mod edges;
mod health;
mod host;
mod http_token;
mod lifecycle;
mod logging;
mod options;
pub mod replay;
mod restore;
mod running;
mod secrets;
mod settings;
mod sign_in;
mod tool_servers;

pub use backup::BackupError;
pub use desktop::Desktop;
pub use doctor::{Check, CheckState, doctor};
pub use health::{Observed, ObservedState};
pub use lifecycle::{App, StartError, Started};
pub use logging::start as start_logging;
pub use options::{AppOptions, Ports, Without};
pub use restore::{Restored, restore};
pub use running::Running;
pub use settings::Locale;
pub use sign_in::{SignInTo, sign_in};
