//! Settings of turns. Defaults are those of the configuration file.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::machine::Limits;
use crate::domain::conversation::ChannelKind;
use crate::domain::language::Language;

/// What happens to a new burst while a turn runs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DoubleTexting {
    /// Rollback until the turn's first effect or delivery, enqueue after it.
    #[default]
    Supersede,
    /// Runs after.
    Enqueue,
    /// Told that the assistant is busy.
    Reject,
    /// The running turn stops, its partial state stays in the history.
    Interrupt,
    /// The running turn stops, its partial state is discarded, the bursts are merged.
    Rollback,
}

impl DoubleTexting {
    pub const ALL: [Self; 5] = [Self::Supersede, Self::Enqueue, Self::Reject, Self::Interrupt, Self::Rollback];
}

/// Language of the program's own sentences.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LanguageChoice {
    /// As the person writes; what cannot be told is taken as `fallback`.
    #[default]
    Auto,
    En,
    Es,
}

/// What a million tokens cost, in the currency of `[model.prices]`.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Price {
    pub input: f64,
    pub output: f64,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    pub double_texting: DoubleTexting,
    pub per_channel: HashMap<ChannelKind, DoubleTexting>,
    pub max_calls_per_turn: u32,
    pub turn_timeout: Duration,
    /// Input and output tokens of one turn together. Not in the file: a bound no honest turn reaches.
    pub max_tokens_per_turn: i64,
    /// Longest wait for one reply of the model.
    pub request_timeout: Duration,
    /// Shortest time between two texts of an answer that grows while it is written.
    pub stream_interval: Duration,
    /// By model name.
    pub prices: BTreeMap<String, Price>,
    /// In the prices' currency; 0: none.
    pub budget_per_day: f64,
    /// The assistant's name.
    pub name: String,
    /// Appended to the system prompt.
    pub instructions: String,
    pub language: LanguageChoice,
    /// Of the computer; used where the person's language cannot be told.
    pub fallback_language: Language,
    pub zone: jiff::tz::TimeZone,
    /// IANA name of `zone`.
    pub zone_name: String,
    /// Characters of history given to the model; what is older is summarised. 4 characters are about one token.
    pub history_characters: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            double_texting: DoubleTexting::default(),
            per_channel: HashMap::new(),
            max_calls_per_turn: 25,
            turn_timeout: Duration::from_secs(600),
            max_tokens_per_turn: 1_000_000,
            request_timeout: Duration::from_secs(120),
            stream_interval: Duration::from_millis(1500),
            prices: BTreeMap::new(),
            budget_per_day: 0.0,
            name: "Unavez".to_owned(),
            instructions: String::new(),
            language: LanguageChoice::Auto,
            fallback_language: Language::En,
            zone: jiff::tz::TimeZone::UTC,
            zone_name: "UTC".to_owned(),
            history_characters: 48_000,
        }
    }
}

impl Settings {
    pub fn limits(&self) -> Limits {
        Limits { model_calls: self.max_calls_per_turn, tokens: self.max_tokens_per_turn }
    }

    pub fn strategy(&self, channel: ChannelKind) -> DoubleTexting {
        self.per_channel.get(&channel).copied().unwrap_or(self.double_texting)
    }

    /// Millionths of the currency for `input` and `output` tokens of `model`.
    pub fn cost_micros(&self, model: &str, input: i64, output: i64) -> i64 {
        let Some(price) = self.prices.get(model) else { return 0 };
        // Tokens times price per million is millionths already.
        (input as f64 * price.input + output as f64 * price.output).round() as i64
    }
}
