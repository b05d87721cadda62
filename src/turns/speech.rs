//! The language of a request, for the program's own sentences.

use super::settings::{LanguageChoice, Settings};
use crate::domain::language::Language;

/// Words that tell es from en in texts too short for statistics.
const SPANISH: &[&str] = &[
    "el",
    "la",
    "los",
    "las",
    "un",
    "una",
    "de",
    "que",
    "y",
    "en",
    "con",
    "para",
    "por",
    "mañana",
    "hoy",
    "hola",
    "qué",
    "cuándo",
    "dónde",
    "está",
    "sí",
    "mi",
    "me",
    "del",
    "al",
    "lunes",
    "martes",
    "miércoles",
    "jueves",
    "viernes",
    "gracias",
    "agéndame",
    "agenda",
    "recuérdame",
    "envía",
    "enviar",
    "reunión",
    "correo",
    "tengo",
    "cita",
];
const ENGLISH: &[&str] = &[
    "the",
    "a",
    "an",
    "of",
    "and",
    "in",
    "on",
    "with",
    "for",
    "at",
    "to",
    "is",
    "are",
    "what",
    "when",
    "where",
    "my",
    "tomorrow",
    "today",
    "hello",
    "hi",
    "yes",
    "please",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "thanks",
    "remind",
    "schedule",
    "send",
    "meeting",
    "mail",
    "have",
    "i",
    "you",
    "it",
];

/// As configured, else as the text reads, else the computer's.
pub fn language(text: &str, settings: &Settings) -> Language {
    match settings.language {
        LanguageChoice::En => Language::En,
        LanguageChoice::Es => Language::Es,
        LanguageChoice::Auto => spoken(text).unwrap_or(settings.fallback_language),
    }
}

fn spoken(text: &str) -> Option<Language> {
    if text.contains(['¿', '¡', 'ñ']) {
        return Some(Language::Es);
    }
    let words: Vec<String> =
        text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
    let count = |list: &[&str]| words.iter().filter(|word| list.contains(&word.as_str())).count();
    match count(SPANISH).cmp(&count(ENGLISH)) {
        std::cmp::Ordering::Greater => Some(Language::Es),
        std::cmp::Ordering::Less => Some(Language::En),
        std::cmp::Ordering::Equal => {
            let info = whatlang::detect(text)?;
            match info.lang() {
                whatlang::Lang::Spa if info.is_reliable() => Some(Language::Es),
                whatlang::Lang::Eng if info.is_reliable() => Some(Language::En),
                _ => None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_requests_tell_their_language() {
        let settings = Settings::default();
        for (text, expected) in [
            ("agéndame psicología mañana a las 15:00", Language::Es),
            ("¿y el martes?", Language::Es),
            ("cita con Ana", Language::Es),
            ("lunch with Bo on Tuesday at 12", Language::En),
            ("what do I have today", Language::En),
            ("15:00", Language::En),
        ] {
            assert_eq!(language(text, &settings), expected, "{text}");
        }
        let spanish = Settings { fallback_language: Language::Es, ..Settings::default() };
        assert_eq!(language("15:00", &spanish), Language::Es);
    }
}
