//! Input that is handled at once: commands and bare stop words. Pure.

use crate::domain::message::{Command, InputKind, NewInput};

/// What a person asks of the program itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Control {
    Start,
    Help,
    Status,
    Stop,
    Reset,
    Approvals,
    Did(String),
}

/// A message that *is* one of these stops; inside a sentence they are ordinary words. Folded.
const STOP_WORDS: &[&str] =
    &["stop", "para", "cancela", "alto", "detente", "parar", "pare", "cancel", "abort", "cancelar", "basta", "detener"];

impl Control {
    /// The control input in `input`, if it is one. A command that nobody knows is ordinary text.
    pub fn of(input: &NewInput) -> Option<Self> {
        if input.parts.forward.is_some() || !input.parts.media.is_empty() {
            return None;
        }
        match input.kind {
            InputKind::Message | InputKind::Command | InputKind::Edit => {}
            InputKind::Tap | InputKind::Schedule | InputKind::Service | InputKind::Poison => return None,
        }
        if let Some(command) = input.parts.command.clone().or_else(|| Command::parse(&input.text)) {
            return Self::named(&command);
        }
        stop_word(&input.text).then_some(Self::Stop)
    }

    fn named(command: &Command) -> Option<Self> {
        match command.name.as_str() {
            "start" => Some(Self::Start),
            "help" => Some(Self::Help),
            "status" => Some(Self::Status),
            "stop" => Some(Self::Stop),
            "reset" => Some(Self::Reset),
            "approvals" => Some(Self::Approvals),
            "did" => Some(Self::Did(command.argument.clone())),
            _ => None,
        }
    }

    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Help => "help",
            Self::Status => "status",
            Self::Stop => "stop",
            Self::Reset => "reset",
            Self::Approvals => "approvals",
            Self::Did(_) => "did",
        }
    }
}

/// The whole text is a stop word.
pub fn stop_word(text: &str) -> bool {
    let bare = text.trim().trim_matches(|c: char| !c.is_alphanumeric());
    // Longer than any of them: spares the folding.
    if bare.len() > 16 || bare.contains(char::is_whitespace) {
        return false;
    }
    let folded = bare.to_lowercase().replace('á', "a").replace('é', "e");
    STOP_WORDS.contains(&folded.as_str())
}
