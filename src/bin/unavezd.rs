//! `unavezd`: the assistant without a window.

use std::process::ExitCode;

use unavez::cli::{self, Exit, Hosted, Program};

fn main() -> ExitCode {
    match cli::main(Program::Daemon, std::env::args_os()) {
        Hosted::Ended(exit) => exit.into(),
        // Only the windowed program opens a window.
        Hosted::Window(_) => Exit::Usage.into(),
    }
}
