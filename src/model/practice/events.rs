//! Events as people ask for them: title, start, end, guests.

use jiff::civil::{Date, DateTime, Time};
use jiff::{Span, ZonedDateTime};

use super::dates::{self, When};
use super::request::Moment;
use super::text::{Kind, Token, any_phrase, joined};
use super::words::Part;
use crate::domain::language::Language;

#[derive(Clone, PartialEq, Debug)]
pub(super) struct EventAsked {
    pub title: String,
    pub start: Option<Moment>,
    /// The day, when it was said without a time.
    pub date_only: Option<Date>,
    pub end: Option<Moment>,
    pub all_day: bool,
    pub guests: Vec<String>,
    pub recurrence: Option<String>,
}

impl EventAsked {
    pub fn day(&self) -> Option<Date> {
        match &self.start {
            Some(Moment::Local(at)) => Some(at.date()),
            Some(Moment::Instant(at)) => Some(at.date()),
            Some(Moment::Day(date)) => Some(*date),
            None => self.date_only,
        }
    }
}

/// The events of one clause: one, or one per day of a list ("lunes y jueves a las 18").
pub(super) fn read(
    tokens: &[Token],
    language: Language,
    now: &ZonedDateTime,
    inherited: Option<Date>,
) -> Vec<EventAsked> {
    let (rest, guests) = without_guests(tokens, language);
    let when = dates::scan(&rest, language, now);
    let title = title(&rest, &when, language);
    let series = when.recurrence.clone();
    let several = series.is_none() && when.dates.len() > 1;
    let each: Vec<Option<Date>> = if several { when.dates.iter().copied().map(Some).collect() } else { vec![None] };
    each.into_iter()
        .map(|date| {
            let mut when = when.clone();
            if let Some(date) = date {
                when.dates = vec![date];
            }
            let meal = meal(&title);
            if when.part.is_none() && when.time.is_some_and(|said| (7..12).contains(&said.hour)) {
                when.part = meal;
            }
            let start = start(&when, now, inherited);
            let end = end(&when, start.as_ref());
            EventAsked {
                title: title.clone(),
                date_only: if start.is_none() { when.dates.first().copied() } else { None },
                start,
                end,
                all_day: when.all_day,
                guests: guests.clone(),
                recurrence: series.clone(),
            }
        })
        .collect()
}

/// Dinner at 9 is in the evening.
fn meal(title: &str) -> Option<Part> {
    let folded = super::text::fold(title);
    folded
        .split(|c: char| !c.is_alphabetic())
        .any(|word| ["cena", "cenar", "dinner", "supper", "drinks", "copas"].contains(&word))
        .then_some(Part::Night)
}

/// Where it starts; `None` when nothing says so.
pub(super) fn start(when: &When, now: &ZonedDateTime, inherited: Option<Date>) -> Option<Moment> {
    if let Some(instant) = when.instant {
        return Some(Moment::Instant(instant.to_zoned_datetime(now.time_zone().clone())));
    }
    let date = when.dates.first().copied().or(when.span.map(|(from, _)| from));
    if when.all_day {
        return date.or(inherited).or(Some(now.date())).map(Moment::Day);
    }
    let (time, next_day) = match (when.time, when.part) {
        (Some(said), part) => said.time(part),
        (None, Some(part)) => (Time::constant(part.hour(), 0, 0, 0), false),
        (None, None) => return None,
    };
    let day = match date.or(inherited) {
        Some(date) => date.saturating_add(Span::new().days(i64::from(next_day))),
        None => {
            // No day said: the next time the clock shows it.
            let today = now.date().to_datetime(time);
            if next_day || today <= now.datetime() {
                now.date().saturating_add(Span::new().days(1))
            } else {
                now.date()
            }
        }
    };
    // "today at 9" said in the afternoon is 21:00, if nothing said which.
    if let Some(said) = when.time.filter(|said| !said.exact && said.part.is_none() && when.part.is_none())
        && day == now.date()
        && day.to_datetime(time) <= now.datetime()
        && said.hour < 12
        && time.hour() < 12
    {
        let later = Time::constant(time.hour() + 12, time.minute(), 0, 0);
        if day.to_datetime(later) > now.datetime() {
            return Some(Moment::Local(day.to_datetime(later)));
        }
    }
    Some(Moment::Local(day.to_datetime(time)))
}

fn end(when: &When, start: Option<&Moment>) -> Option<Moment> {
    let start = start?;
    if let (Some(said), Moment::Local(from)) = (when.until, start) {
        let (time, next_day) = said.time(said.part.or(when.part));
        let mut until = from.date().saturating_add(Span::new().days(i64::from(next_day))).to_datetime(time);
        // "from 10 to 1", "from 22:00 to 1:00"
        while until <= *from {
            let half = !said.exact && said.part.is_none();
            until = until.saturating_add(Span::new().hours(if half { 12 } else { 24 }));
        }
        return Some(Moment::Local(until));
    }
    let minutes = when.minutes?;
    match start {
        Moment::Local(from) => Some(Moment::Local(from.saturating_add(Span::new().minutes(minutes)))),
        Moment::Instant(from) => Some(Moment::Instant(from.saturating_add(Span::new().minutes(minutes)))),
        Moment::Day(_) => None,
    }
}

/// Takes the addresses out, with the words that only lead to them.
fn without_guests(tokens: &[Token], language: Language) -> (Vec<Token>, Vec<String>) {
    let leads: &[&str] = match language {
        Language::Es => &[
            "con",
            "y",
            "e",
            ",",
            "invita a",
            "invitando a",
            "invitados",
            "e invita a",
            "y invita a",
            ":",
            "a",
            "para",
            "<",
            "(",
        ],
        Language::En => {
            &["with", "and", ",", "invite", "and invite", "inviting", "guests", "guest", ":", "to", "for", "<", "("]
        }
    };
    let mut keep = vec![true; tokens.len()];
    let mut guests: Vec<String> = Vec::new();
    for at in 0..tokens.len() {
        if tokens[at].kind != Kind::Email {
            continue;
        }
        keep[at] = false;
        if !guests.contains(&tokens[at].raw) {
            guests.push(tokens[at].raw.clone());
        }
        for closing in [">", ")"] {
            if tokens.get(at + 1).is_some_and(|token| token.is(closing)) {
                keep[at + 1] = false;
            }
        }
        // Walk back over the words that lead here.
        let mut end = at;
        while let Some(length) = leads
            .iter()
            .map(|lead| lead.split(' ').count())
            .filter(|length| *length <= end && any_phrase(tokens, end - length, leads) == Some(*length))
            .max()
        {
            if !keep[end - 1] {
                break;
            }
            keep[end - length..end].fill(false);
            end -= length;
        }
    }
    let rest = tokens.iter().zip(&keep).filter(|(_, keep)| **keep).map(|(token, _)| token.clone()).collect();
    (rest, guests)
}

/// What is left of the clause when times, verbs and little words are taken away.
pub(super) fn title(tokens: &[Token], when: &When, language: Language) -> String {
    if let Some(quoted) = tokens.iter().find(|token| token.kind == Kind::Quoted) {
        return quoted.raw.trim().to_owned();
    }
    let left: Vec<&Token> = tokens
        .iter()
        .enumerate()
        .filter(|(at, token)| !when.used.get(*at).copied().unwrap_or(false) && token.kind != Kind::Break)
        .map(|(_, token)| token)
        .collect();
    capital(&trimmed(left, language))
}

pub(super) fn reminder_text(tokens: &[Token], when: &When, language: Language) -> String {
    title(tokens, when, language)
}

fn trimmed(tokens: Vec<&Token>, language: Language) -> String {
    let owned: Vec<Token> = tokens.into_iter().cloned().collect();
    let mut left: &[Token] = &owned;
    let (starts, ends): (&[&str], &[&str]) = match language {
        Language::Es => (
            &[
                "un evento llamado",
                "un evento",
                "una cita para",
                "una cita de",
                "evento",
                "un recordatorio para",
                "la cita de",
                "la cita del",
                "en mi calendario",
                "en el calendario",
                "en la agenda",
                "en mi agenda",
                "a mi agenda",
                "al calendario",
                "un",
                "una",
                "el",
                "la",
                "los",
                "las",
                "mi",
                "mis",
                "que",
                "de",
                "del",
                "para",
                "a",
                "y",
                "e",
                "tambien",
                "lo",
                "lo de",
                ":",
                ",",
                "-",
                "¿",
                "?",
                "!",
                ".",
                "me",
                "otra",
                "otro",
                "tengo que",
                "ir a",
                "luego",
                "despues",
                "ademas",
                "con",
                "en",
            ],
            &[
                "en mi calendario",
                "en el calendario",
                "en la agenda",
                "en mi agenda",
                "a mi agenda",
                "al calendario",
                "a mi calendario",
                "con",
                "en",
                "de",
                "del",
                "a",
                "para",
                "el",
                "la",
                "los",
                "las",
                "y",
                "e",
                "que",
                "un",
                "una",
                ",",
                ".",
                ";",
                ":",
                "-",
                "?",
                "!",
                "(",
                "tambien",
                "por favor",
                "al",
                "por",
                "desde",
                "hasta",
                "dia",
                "sobre",
            ],
        ),
        Language::En => (
            &[
                "an event called",
                "an event named",
                "an event for",
                "an event",
                "a meeting called",
                "event",
                "an appointment for",
                "a reminder to",
                "to my calendar",
                "in my calendar",
                "on my calendar",
                "my calendar",
                "in the calendar",
                "a",
                "an",
                "the",
                "my",
                "me",
                "to",
                "for",
                "and",
                "also",
                "of",
                "about",
                "that",
                "then",
                ":",
                ",",
                "-",
                "?",
                "!",
                ".",
                "another",
                "on",
                "at",
                "in",
                "with",
                "from",
                "i have to",
                "up",
            ],
            &[
                "to my calendar",
                "in my calendar",
                "on my calendar",
                "to the calendar",
                "in the calendar",
                "on the calendar",
                "with",
                "at",
                "on",
                "in",
                "from",
                "for",
                "to",
                "the",
                "a",
                "an",
                "and",
                "by",
                "of",
                ",",
                ".",
                ";",
                ":",
                "-",
                "?",
                "!",
                "(",
                "also",
                "please",
                "this",
                "next",
                "until",
                "around",
                "about",
            ],
        ),
    };
    while left.len() > 1 || left.first().is_some_and(|token| token.kind == Kind::Mark) {
        let Some(length) = any_phrase(left, 0, starts) else { break };
        left = &left[length.min(left.len())..];
    }
    loop {
        let cut = ends
            .iter()
            .filter_map(|words| {
                let count = words.split(' ').count();
                (left.len() >= count && any_phrase(left, left.len() - count, &[words]).is_some()).then_some(count)
            })
            .max();
        match cut {
            Some(count) => left = &left[..left.len() - count],
            None => break,
        }
    }
    joined(left.iter())
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}

/// Local start of a moment, for words.
pub(super) fn local(moment: &Moment) -> (DateTime, bool) {
    match moment {
        Moment::Local(at) => (*at, false),
        Moment::Instant(at) => (at.datetime(), false),
        Moment::Day(date) => (date.to_datetime(Time::midnight()), true),
    }
}
