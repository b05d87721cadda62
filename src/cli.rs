//! The command line: the same commands in `unavez` and `unavezd`.
//!
//! In: arguments. Out: rows on stdout (for people, or JSON with `--json`), logs and errors on stderr, an exit code.
//! A command reaches the running instance through its control socket; without one it works on the database under the
//! instance lock.

mod arguments;
mod ask;
mod commands;
mod exit;
mod print;
mod replay;
mod run;
mod words;

pub use arguments::Program;
pub use exit::Exit;
pub use run::{Hosted, main};
