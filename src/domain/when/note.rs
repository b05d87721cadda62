//! What was decided about a local time that a clock change makes ambiguous or skips.

use serde::{Deserialize, Serialize};

/// Shown in the tool result, on the card and so in the answer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Note {
    /// The local time is skipped when the clocks go forward; the time after the gap was taken.
    Gap { asked: String, taken: String, date: String, zone: String },
    /// The local time comes twice when the clocks go back; the first was taken.
    Fold { asked: String, date: String, zone: String, taken_offset: String, other_offset: String },
}

impl Note {
    /// One sentence; Spanish for `es…`, English otherwise.
    pub fn text(&self, language: &str) -> String {
        let spanish = language.starts_with("es");
        match self {
            Self::Gap { asked, taken, date, zone } if spanish => format!(
                "Las {asked} del {date} no existen en {zone} porque se adelanta el reloj; se han tomado las {taken}."
            ),
            Self::Gap { asked, taken, date, zone } => {
                format!("{asked} does not exist on {date} in {zone} because the clocks go forward; {taken} was taken.")
            }
            Self::Fold { asked, date, zone, taken_offset, other_offset } if spanish => format!(
                "Las {asked} del {date} se repiten en {zone} porque se atrasa el reloj; se ha tomado la primera vez \
                 (UTC{taken_offset}). Para la segunda hay que dar la hora con {other_offset}."
            ),
            Self::Fold { asked, date, zone, taken_offset, other_offset } => format!(
                "{asked} comes twice on {date} in {zone} because the clocks go back; the first was taken \
                 (UTC{taken_offset}). For the second, give the time with {other_offset}."
            ),
        }
    }
}
