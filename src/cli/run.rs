//! From arguments to an exit code.

use std::ffi::OsString;
use std::io::Write;

use clap::{CommandFactory, FromArgMatches};

use super::arguments::{Arguments, Command, Common, Program};
use super::commands;
use super::exit::{Ended, Exit};
use crate::app::{self, AppOptions};
use crate::config::{self, Loaded, Places};
use crate::store::DataFolder;

/// What is left to do after the command line was understood.
pub enum Hosted {
    /// The command is done.
    Ended(Exit),
    /// `unavez` without a command: the host opens the window with these.
    Window(Box<AppOptions>),
}

/// Understands and runs one command. `arguments` begin with the program's name.
pub fn main(program: Program, arguments: impl IntoIterator<Item = OsString>) -> Hosted {
    crate::runtime::tls::install_provider();
    let command = Arguments::command().name(program.name()).bin_name(program.name());
    let parsed = command.try_get_matches_from(arguments).and_then(|matches| Arguments::from_arg_matches(&matches));
    let arguments = match parsed {
        Ok(arguments) => arguments,
        Err(error) => {
            let exit = if error.use_stderr() { Exit::Usage } else { Exit::Done };
            // silent-ok: nowhere is left to say that neither stdout nor stderr can be written.
            let _ = error.print();
            return Hosted::Ended(exit);
        }
    };
    let outcome = match (arguments.command, program) {
        (Some(command), _) => dispatch(&arguments.common, command).map(Hosted::Ended),
        (None, Program::Window) => window(&arguments.common),
        (None, Program::Daemon) => {
            Err(Ended::usage("a command is needed, for example `unavezd run`; see `unavezd --help`"))
        }
    };
    outcome.unwrap_or_else(|ended| {
        // silent-ok: stderr is closed.
        let _ = writeln!(std::io::stderr(), "{}", ended.message);
        Hosted::Ended(ended.exit)
    })
}

fn window(common: &Common) -> Result<Hosted, Ended> {
    let setting = Setting::find(common)?;
    let options = setting.options()?;
    app::start_logging(setting.loaded.config.log.level, Some(&options.folder.logs()));
    Ok(Hosted::Window(Box::new(options)))
}

fn dispatch(common: &Common, command: Command) -> Result<Exit, Ended> {
    match command {
        Command::Replay { scenario, real_time, without } => {
            super::replay::replay(common, &scenario, real_time, &without)
        }
        Command::Config(command) => commands::config(common, &command),
        Command::Audit(super::arguments::Audit::Verify { file: Some(file) }) => commands::verify_file(common, &file),
        command => {
            let setting = Setting::find(common)?;
            let runtime = tokio::runtime::Builder::new_multi_thread()
                // Readers of the database and name look-ups wait on further threads that come and go.
                .worker_threads(2)
                .enable_all()
                .build()?;
            runtime.block_on(commands::run(common, &setting, command))
        }
    }
}

/// Configuration and places of one invocation.
pub(super) struct Setting {
    pub(super) places: Places,
    pub(super) loaded: Loaded,
}

impl Setting {
    pub(super) fn find(common: &Common) -> Result<Self, Ended> {
        let places = config::find(common.config.clone(), common.data.clone())?;
        let loaded = config::load(&places)?;
        Ok(Self { places, loaded })
    }

    pub(super) fn options(&self) -> Result<AppOptions, Ended> {
        let folder = DataFolder::open(&self.places.data).map_err(Ended::failed)?;
        Ok(AppOptions::new(self.loaded.clone(), self.places.config.clone(), folder))
    }
}
