//! The scenario file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use crate::config::{self, ConfigError, Loaded};
use crate::model::scripted::Line;

/// The story this program comes from.
const INCIDENT: &str = include_str!("../../../scenarios/incident.toml");

/// A person, a model and what goes wrong.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    pub title: String,
    /// RFC 3339: wall time of the first moment.
    #[serde(default = "monday_morning")]
    pub start: String,
    #[serde(default = "madrid")]
    pub timezone: String,
    /// `es` or `en`.
    #[serde(default = "spanish")]
    pub language: String,
    /// Any section of the configuration file.
    #[serde(default)]
    pub config: toml::Table,
    pub messages: Vec<Message>,
    /// What the model says; without a line the practice model answers.
    #[serde(default)]
    pub model: Vec<Line>,
    #[serde(default)]
    pub faults: Vec<Fault>,
    /// Ends by itself when nothing is left to do, at the latest this long after the last message.
    #[serde(default = "an_hour", deserialize_with = "duration")]
    pub patience: Duration,
}

/// One message of the person, at a time counted from the start.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    #[serde(deserialize_with = "duration")]
    pub at: Duration,
    #[serde(default)]
    pub text: String,
    /// Presses the first button of the n-th card instead of writing (from 1): `approve` or `deny`.
    #[serde(default)]
    pub press: Option<Press>,
    /// The channel delivers the n-th message again (from 1): its redelivery, not a new one.
    #[serde(default)]
    pub redelivers: Option<usize>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Press {
    /// Which card, from 1.
    pub card: usize,
    pub approve: bool,
}

/// Something that goes wrong.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Fault {
    /// The process is killed and started again.
    Restart {
        #[serde(deserialize_with = "duration")]
        at: Duration,
    },
    /// The n-th request to create an event (from 1).
    Calendar { call: usize, how: CalendarFault },
    /// The n-th message that goes out (from 1).
    Channel { send: usize, how: ChannelFault },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CalendarFault {
    /// Nothing was done.
    Unavailable,
    /// It was done, and the answer is lost.
    LostAnswer,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChannelFault {
    NotSent,
    LostAnswer,
}

#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    #[error("the scenario {} cannot be read: {source}", file.display())]
    Unreadable { file: PathBuf, source: std::io::Error },
    #[error("the scenario {name} is not understood: {reason}")]
    Invalid { name: String, reason: String },
    #[error(transparent)]
    Config(#[from] ConfigError),
}

impl Scenario {
    /// The embedded story.
    pub fn incident() -> Result<Self, ScenarioError> {
        Self::parse(INCIDENT, "incident")
    }

    /// `incident`, or a file.
    pub fn open(name: &str) -> Result<Self, ScenarioError> {
        if name == "incident" {
            return Self::incident();
        }
        let file = Path::new(name);
        let text = std::fs::read_to_string(file)
            .map_err(|source| ScenarioError::Unreadable { file: file.to_owned(), source })?;
        Self::parse(&text, name)
    }

    pub fn parse(text: &str, name: &str) -> Result<Self, ScenarioError> {
        let invalid = |reason: String| ScenarioError::Invalid { name: name.to_owned(), reason };
        let scenario: Self = toml::from_str(text).map_err(|error| invalid(error.to_string()))?;
        let start: Result<jiff::Timestamp, _> = scenario.start.parse();
        start.map_err(|error| invalid(format!("start: {error}")))?;
        if let Some(pair) = scenario.messages.windows(2).find(|pair| pair[1].at < pair[0].at) {
            return Err(invalid(format!("the message at {:?} stands after one at {:?}", pair[1].at, pair[0].at)));
        }
        scenario.configuration(name)?;
        Ok(scenario)
    }

    /// The configuration that the scenario asks for, with what a replay needs.
    pub(super) fn configuration(&self, name: &str) -> Result<Loaded, ScenarioError> {
        let mut table = self.config.clone();
        let assistant = table.entry("assistant").or_insert_with(|| toml::Table::new().into());
        if let Some(assistant) = assistant.as_table_mut() {
            assistant.entry("timezone").or_insert_with(|| self.timezone.clone().into());
            assistant.entry("language").or_insert_with(|| self.language.clone().into());
        }
        let telegram = table.entry("telegram").or_insert_with(|| toml::Table::new().into());
        if let Some(telegram) = telegram.as_table_mut() {
            telegram.insert("owners".to_owned(), toml::Value::Array(vec![super::stage::PERSON.into()]));
        }
        let text = toml::to_string(&table)
            .map_err(|error| ScenarioError::Invalid { name: name.to_owned(), reason: error.to_string() })?;
        Ok(config::parse(&text, Path::new(name))?)
    }

    pub(super) fn start(&self) -> jiff::Timestamp {
        // Checked when it was parsed.
        self.start.parse().unwrap_or(jiff::Timestamp::UNIX_EPOCH)
    }
}

fn duration<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    config::duration(&text).ok_or_else(|| serde::de::Error::custom(format!("{text} is no duration such as \"12s\"")))
}

fn monday_morning() -> String {
    "2026-11-30T10:00:00+01:00".to_owned()
}
fn madrid() -> String {
    "Europe/Madrid".to_owned()
}
fn spanish() -> String {
    "es".to_owned()
}
fn an_hour() -> Duration {
    Duration::from_secs(3600)
}
