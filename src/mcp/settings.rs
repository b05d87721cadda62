//! Settings of one server.

use std::collections::BTreeMap;
use std::time::Duration;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Its name in the configuration.
    pub name: String,
    pub transport: Transport,
    /// Longest time for one call; what takes longer may or may not have happened.
    pub timeout: Duration,
    /// Longest time from the start to the list of tools.
    pub start_timeout: Duration,
    /// Waits between attempts to start: doubles from the first to the last.
    pub restart_first: Duration,
    pub restart_most: Duration,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Transport {
    /// A child process that speaks on its standard input and output.
    Command {
        /// Program and arguments, not through a shell.
        command: Vec<String>,
        /// Beside the few variables that every child gets.
        env: BTreeMap<String, String>,
    },
    /// Streamable HTTP.
    Url(String),
}

impl Settings {
    pub fn new(name: impl Into<String>, transport: Transport) -> Self {
        Self {
            name: name.into(),
            transport,
            timeout: Duration::from_secs(60),
            start_timeout: Duration::from_secs(30),
            restart_first: Duration::from_secs(1),
            restart_most: Duration::from_secs(5 * 60),
        }
    }
}
