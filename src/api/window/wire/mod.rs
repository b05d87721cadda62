//! Shapes that cross to the window. TypeScript is generated from them into `ui/src/ipc/bindings`.

mod activity;
mod approvals;
mod calendar;
mod conversations;
mod duplicates;
mod evidence;
mod settings;
mod shell;

pub use activity::*;
pub use approvals::*;
pub use calendar::*;
pub use conversations::*;
pub use duplicates::*;
pub use evidence::*;
pub use settings::*;
pub use shell::*;

pub use crate::domain::action::Action;
