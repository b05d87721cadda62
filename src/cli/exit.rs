//! How a command ends.

use std::process::ExitCode;

/// Exit codes are part of the interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    Done = 0,
    /// It was understood and did not succeed; also what was decided or settled already.
    Failed = 1,
    /// Wrong usage or configuration.
    Usage = 2,
    /// Another instance holds the data folder.
    InUse = 3,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// What a person reads on stderr, and how the command ends.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(super) struct Ended {
    pub(super) exit: Exit,
    pub(super) message: String,
}

impl Ended {
    pub(super) fn failed(message: impl ToString) -> Self {
        Self { exit: Exit::Failed, message: crate::runtime::redact::redact(&message.to_string()) }
    }
    pub(super) fn usage(message: impl ToString) -> Self {
        Self { exit: Exit::Usage, message: message.to_string() }
    }
}

impl From<crate::config::ConfigError> for Ended {
    fn from(error: crate::config::ConfigError) -> Self {
        Self::usage(error)
    }
}

impl From<crate::api::Failure> for Ended {
    fn from(failure: crate::api::Failure) -> Self {
        Self::failed(failure)
    }
}

impl From<crate::app::StartError> for Ended {
    fn from(error: crate::app::StartError) -> Self {
        use crate::app::StartError;
        use crate::store::StoreError;
        let exit = match &error {
            StartError::Store(StoreError::InUse(_)) => Exit::InUse,
            StartError::Config(_) => Exit::Usage,
            _ => Exit::Failed,
        };
        Self { exit, message: crate::runtime::redact::redact(&error.to_string()) }
    }
}

impl From<std::io::Error> for Ended {
    fn from(error: std::io::Error) -> Self {
        Self::failed(error)
    }
}
