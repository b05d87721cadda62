//! Where the configuration file and the data folder are: the option, then the environment, then the platform's place.

use std::path::PathBuf;

use super::error::ConfigError;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Places {
    /// The configuration file, whether it exists or not.
    pub config: PathBuf,
    /// A file was named by hand, so it must exist.
    pub config_is_explicit: bool,
    pub data: PathBuf,
}

/// `config` and `data` are what the command line says.
pub fn find(config: Option<PathBuf>, data: Option<PathBuf>) -> Result<Places, ConfigError> {
    let environment = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let platform = directories::ProjectDirs::from("", "", "unavez");
    let explicit = config.or_else(|| environment("UNAVEZ_CONFIG"));
    Ok(Places {
        config_is_explicit: explicit.is_some(),
        config: explicit
            .or_else(|| platform.as_ref().map(|dirs| dirs.config_dir().join("config.toml")))
            .ok_or(ConfigError::NoFolder { what: "configuration", option: "--config FILE" })?,
        data: data
            .or_else(|| environment("UNAVEZ_DATA"))
            .or_else(|| platform.as_ref().map(|dirs| dirs.data_dir().to_owned()))
            .ok_or(ConfigError::NoFolder { what: "data", option: "--data DIR" })?,
    })
}
