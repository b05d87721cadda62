//! Settings of deliveries, and the choice between immediate and batched.

use std::collections::HashMap;
use std::time::Duration;

use super::enums::Mode;
use super::rates::Rates;
use crate::domain::conversation::{Capabilities, ChannelKind};
use crate::domain::language::Language;

#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    /// `message.default_delivery_mode`
    pub default_delivery_mode: Mode,
    /// `message.fallback_to_batch_on_error`
    pub fallback_to_batch_on_error: bool,
    /// Channels without an entry have no rate limit.
    pub rates: HashMap<ChannelKind, Rates>,
    /// Shortest time between two edits of one message.
    pub edit_interval: Duration,
    /// Of the program's own lines.
    pub language: Language,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            default_delivery_mode: Mode::Immediate,
            fallback_to_batch_on_error: true,
            rates: HashMap::from([(ChannelKind::Telegram, Rates::default())]),
            edit_interval: Duration::from_millis(1500),
            language: Language::default(),
        }
    }
}

/// The mode of a message, and whether it fell back to the batch because the channel can't deliver now.
/// `asked` is the call's own `immediate`; it wins over the setting, the channel's ability wins over both.
pub fn choose_mode(asked: Option<bool>, settings: &Settings, capabilities: Capabilities) -> (Mode, bool) {
    let wanted = match asked {
        Some(true) => Mode::Immediate,
        Some(false) => Mode::Batched,
        None => settings.default_delivery_mode,
    };
    match wanted {
        Mode::Immediate if !capabilities.immediate => (Mode::Batched, true),
        Mode::Immediate | Mode::Batched => (wanted, false),
    }
}
