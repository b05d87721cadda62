//! What the system prompt says of the day: date and time, time zone, language.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ZonedDateTime};

use crate::domain::language::Language;

#[derive(Clone, Debug)]
pub(super) struct Situation {
    /// The present in the user's zone.
    pub now: ZonedDateTime,
    /// The user's language where a message does not show its own.
    pub language: Language,
}

impl Situation {
    /// Reads the first RFC 3339 time, the first IANA zone and the language line of the prompt.
    /// A prompt without them is answered in English and in UTC, as of the epoch: never with the machine's clock.
    pub fn of(system: &str) -> Self {
        let mut zone = None;
        let mut time = None;
        let mut language = None;
        for line in system.lines() {
            let lower = line.to_lowercase();
            if language.is_none() && (lower.contains("prefers") || lower.contains("language:")) {
                language = language_named(&lower);
            }
            for word in line.split(|c: char| c.is_whitespace() || "()[],;\"`<>".contains(c)) {
                let word = word.trim_end_matches(['.', ':']);
                if time.is_none() {
                    time = timestamp(word);
                }
                if zone.is_none() && (word.contains('/') || word == "UTC") && !word.starts_with("http") {
                    zone = TimeZone::get(word).ok();
                }
            }
        }
        let zone = zone.unwrap_or(TimeZone::UTC);
        let now = match time {
            Some(Time::Instant(at)) => at.to_zoned_datetime(zone),
            Some(Time::Local(at)) => {
                zone.to_zoned_datetime(at).unwrap_or_else(|_| Timestamp::UNIX_EPOCH.to_zoned_datetime(TimeZone::UTC))
            }
            None => Timestamp::UNIX_EPOCH.to_zoned_datetime(zone),
        };
        Self { now, language: language.unwrap_or(Language::En) }
    }
}

enum Time {
    Instant(Timestamp),
    Local(DateTime),
}

fn timestamp(word: &str) -> Option<Time> {
    // Shorter words are dates, clock times or numbers, and jiff would read some of them.
    if word.len() < 16 || !word.contains('T') {
        return None;
    }
    if let Ok(at) = word.parse::<Timestamp>() {
        return Some(Time::Instant(at));
    }
    word.parse::<DateTime>().ok().map(Time::Local)
}

fn language_named(line: &str) -> Option<Language> {
    let has = |names: &[&str]| line.split(|c: char| !c.is_alphanumeric()).any(|word| names.contains(&word));
    if has(&["es", "spanish", "español"]) {
        Some(Language::Es)
    } else if has(&["en", "english", "inglés"]) {
        Some(Language::En)
    } else {
        None
    }
}
