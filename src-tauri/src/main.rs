//! The window of Unavez: hosts the core, draws nothing itself, decides nothing.

mod commands;
mod events;
mod notices;
mod setup;
mod shell;
mod tray;

use std::process::ExitCode;

use unavez::cli::{self, Hosted, Program};

fn main() -> ExitCode {
    match cli::main(Program::Window, std::env::args_os()) {
        Hosted::Ended(exit) => exit.into(),
        Hosted::Window(options) => setup::run(*options),
    }
}
