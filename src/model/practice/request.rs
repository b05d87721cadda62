//! What a message asks for, as data.

use jiff::ZonedDateTime;
use jiff::civil::{Date, DateTime};

use super::dates::{self, When};
use super::events::{self, EventAsked};
use super::mails::{self, MailAsked};
use super::text::{Kind, Token, any_phrase, joined, phrase};
use super::verbs::Verbs;
use super::words::language_of;
use super::{clauses, text};
use crate::domain::language::Language;

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Request {
    Schedule(EventAsked),
    /// What stands in the calendar between two days (half-open), or events with these words.
    List {
        from: DateTime,
        to: DateTime,
        text: Option<String>,
    },
    Free {
        from: DateTime,
        to: DateTime,
        minutes: i64,
    },
    Cancel(Target),
    Move {
        target: Target,
        to: NewTime,
    },
    Mail(MailAsked),
    SearchMail {
        query: String,
    },
    Remind {
        text: String,
        at: Option<Moment>,
    },
    /// Did you do it?
    Recent {
        text: Option<String>,
    },
    Yes,
    No,
    Help,
    Hello,
    Thanks,
    /// Not understood: the words.
    Unknown(String),
}

/// Which event is meant.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Target {
    pub title: String,
    pub date: Option<Date>,
    /// Local start.
    pub time: Option<jiff::civil::Time>,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum NewTime {
    To {
        date: Option<Date>,
        time: Option<jiff::civil::Time>,
    },
    /// Minutes later (negative: earlier).
    By(i64),
}

/// A start as it goes into a tool call: local time, or an instant with its offset.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Moment {
    Local(DateTime),
    Instant(ZonedDateTime),
    Day(Date),
}

impl Moment {
    pub fn text(&self) -> String {
        match self {
            Self::Local(at) => at.strftime("%Y-%m-%dT%H:%M:%S").to_string(),
            Self::Instant(at) => at.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
            Self::Day(date) => date.to_string(),
        }
    }
}

/// Everything a message asks for, and the language it is written in.
pub(super) fn read(message: &str, now: &ZonedDateTime, otherwise: Language) -> (Vec<Request>, Language) {
    let tokens = text::tokens(message);
    let language = language_of(&tokens, otherwise);
    let mut found: Vec<Request> = Vec::new();
    let sentences = clauses::sentences(&tokens);
    for (number, sentence) in sentences.iter().enumerate() {
        let start = sentence.start + polite_start(&tokens[sentence.clone()], language);
        if mails::opens(&tokens[start..sentence.end], language) {
            // The body runs to the end of the message: full stops and lines belong to it.
            found.push(Request::Mail(mails::read(&tokens[start..], language)));
            break;
        }
        let sentence = without_polite_end(&tokens[start..sentence.end]);
        if sentence.is_empty() {
            continue;
        }
        let asked = one(sentence, language, now, found.last());
        let last = number + 1 == sentences.len();
        match asked.as_slice() {
            // A greeting before a request is only polite.
            [Request::Hello | Request::Thanks] if !last || !found.is_empty() => {}
            _ => found.extend(asked),
        }
    }
    // Something understood beside something not understood: both are said. Nothing at all: that is said.
    if found.is_empty() {
        found.push(Request::Unknown(message.trim().to_owned()));
    }
    (found, language)
}

/// How many tokens at the start are only polite: "por favor", "could you", a leading "and".
fn polite_start(tokens: &[Token], language: Language) -> usize {
    let starts: &[&str] = match language {
        Language::Es => &[
            "por favor",
            "porfa",
            "porfavor",
            "puedes",
            "podrias",
            "me puedes",
            "me podrias",
            "oye",
            "hola",
            "buenas",
            "y",
            "y tambien",
            "tambien",
            "ademas",
            "ah",
            "luego",
            "quiero que",
            "necesito que",
            "quisiera que",
            "¿",
            "¡",
            ",",
            "vale",
            "ok",
        ],
        Language::En => &[
            "please",
            "could you",
            "can you",
            "would you",
            "hey",
            "hi",
            "hello",
            "and",
            "also",
            "and also",
            "oh",
            "then",
            ",",
            "i want you to",
            "i need you to",
            "i'd like you to",
            "ok",
            "okay",
        ],
    };
    let words = |tokens: &[Token]| tokens.iter().filter(|token| token.kind != Kind::Mark).count();
    let mut start = 0;
    while let Some(length) = any_phrase(tokens, start, starts) {
        if words(&tokens[start + length..]) == 0 {
            break;
        }
        start += length;
    }
    start
}

fn without_polite_end(mut tokens: &[Token]) -> &[Token] {
    const ENDS: [&str; 9] = ["por favor", "porfa", "please", "gracias", "thanks", "thank you", ",", "!", "."];
    loop {
        let length = tokens.len();
        let cut = ENDS.iter().find_map(|words| {
            let count = words.split(' ').count();
            (length > count && phrase(tokens, length - count, words).is_some()).then_some(count)
        });
        match cut {
            Some(count) => tokens = &tokens[..length - count],
            None => return tokens,
        }
    }
}

/// One sentence; several events in it are several requests.
fn one(tokens: &[Token], language: Language, now: &ZonedDateTime, before: Option<&Request>) -> Vec<Request> {
    if let Some(short) = short_answer(tokens, language) {
        return vec![short];
    }
    let lead = |phrases: &[&str]| any_phrase(tokens, 0, phrases);
    let verbs = Verbs::of(language);
    if let Some(length) = lead(verbs.remind) {
        return vec![reminder(&tokens[length..], language, now)];
    }
    if let Some((at, length)) = after_time(tokens, verbs.remind, language, now) {
        // "in 5 minutes remind me to leave"
        let words: Vec<Token> = tokens[at + length..].iter().chain(&tokens[..at]).cloned().collect();
        return vec![reminder(&words, language, now)];
    }
    if let Some(length) = lead(verbs.search_mail) {
        let query = joined(&tokens[length..]).trim_end_matches('?').trim().to_owned();
        return vec![Request::SearchMail { query }];
    }
    if lead(verbs.recent).is_some() {
        return vec![Request::Recent { text: None }];
    }
    if let Some(length) = contains(tokens, verbs.free) {
        return vec![free(tokens, length, language, now)];
    }
    if let Some(length) = lead(verbs.cancel) {
        return vec![Request::Cancel(target(&tokens[length..], language, now))];
    }
    if let Some(length) = lead(verbs.shift) {
        return vec![moved(&tokens[length..], &tokens[..length], language, now)];
    }
    if let Some(length) = lead(verbs.list) {
        return vec![list(&tokens[length..], language, now)];
    }
    if let Some(length) = lead(verbs.search) {
        return vec![search(&tokens[length..], language, now)];
    }
    let scheduled = lead(verbs.schedule);
    let rest = &tokens[scheduled.unwrap_or(0)..];
    let when = dates::scan(rest, language, now);
    let question = tokens.iter().any(|token| token.is("?"));
    let continues = matches!(before, Some(Request::Schedule(_)));
    if scheduled.is_some() || ((when.has_time() || when.has_date() && continues) && !question) {
        let mut date = match before {
            Some(Request::Schedule(asked)) => asked.day(),
            _ => None,
        };
        let mut all = Vec::new();
        for part in clauses::events(rest, language, now) {
            for event in events::read(part, language, now, date) {
                date = event.day().or(date);
                all.push(Request::Schedule(event));
            }
        }
        return all;
    }
    if question && (when.has_date() || when.has_time()) {
        return vec![list(tokens, language, now)];
    }
    vec![Request::Unknown(joined(tokens))]
}

fn short_answer(tokens: &[Token], language: Language) -> Option<Request> {
    let plain: Vec<&str> = tokens
        .iter()
        .filter(|token| matches!(token.kind, Kind::Word | Kind::Number))
        .map(|token| token.fold.as_str())
        .collect();
    let text = plain.join(" ");
    let is = |words: &[&str]| words.contains(&text.as_str());
    let answer = match language {
        _ if is(&["ok", "okay"]) => Request::Yes,
        Language::Es
            if is(&[
                "si",
                "si claro",
                "claro",
                "vale",
                "dale",
                "hazlo",
                "adelante",
                "si hazlo",
                "de acuerdo",
                "confirmo",
                "correcto",
                "si por favor",
                "eso es",
                "exacto",
            ]) =>
        {
            Request::Yes
        }
        Language::En
            if is(&[
                "yes",
                "yes please",
                "yep",
                "yeah",
                "sure",
                "do it",
                "go ahead",
                "yes do it",
                "correct",
                "right",
                "exactly",
                "please do",
            ]) =>
        {
            Request::Yes
        }
        Language::Es
            if is(&[
                "no",
                "no gracias",
                "mejor no",
                "dejalo",
                "no lo hagas",
                "nada",
                "dejalo asi",
                "olvidalo",
                "no hace falta",
            ]) =>
        {
            Request::No
        }
        Language::En
            if is(&[
                "no",
                "nope",
                "no thanks",
                "don't",
                "leave it",
                "never mind",
                "nevermind",
                "no thank you",
                "forget it",
            ]) =>
        {
            Request::No
        }
        Language::Es
            if is(&[
                "ayuda",
                "que puedes hacer",
                "que sabes hacer",
                "como funcionas",
                "quien eres",
                "que eres",
                "para que sirves",
            ]) =>
        {
            Request::Help
        }
        Language::En
            if is(&["help", "what can you do", "who are you", "what are you", "how do you work", "what do you do"]) =>
        {
            Request::Help
        }
        Language::Es
            if is(&[
                "hola",
                "buenas",
                "buenos dias",
                "buenas tardes",
                "buenas noches",
                "hey",
                "hola que tal",
                "que tal",
            ]) =>
        {
            Request::Hello
        }
        Language::En
            if is(&[
                "hello",
                "hi",
                "hey",
                "good morning",
                "good afternoon",
                "good evening",
                "hello there",
                "hi there",
            ]) =>
        {
            Request::Hello
        }
        Language::Es
            if is(&[
                "gracias",
                "muchas gracias",
                "mil gracias",
                "genial",
                "perfecto",
                "genial gracias",
                "perfecto gracias",
            ]) =>
        {
            Request::Thanks
        }
        Language::En
            if is(&[
                "thanks",
                "thank you",
                "thanks a lot",
                "great",
                "perfect",
                "great thanks",
                "cheers",
                "thank you very much",
            ]) =>
        {
            Request::Thanks
        }
        Language::Es | Language::En => return None,
    };
    Some(answer)
}

/// Where one of `phrases` follows a time that opens the sentence.
fn after_time(tokens: &[Token], phrases: &[&str], language: Language, now: &ZonedDateTime) -> Option<(usize, usize)> {
    let when = dates::scan(tokens, language, now);
    let mut at = when.used.iter().take_while(|used| **used).count();
    if at == 0 {
        return None;
    }
    at += usize::from(tokens.get(at).is_some_and(|token| token.is(",")));
    any_phrase(tokens, at, phrases).map(|length| (at, length))
}

fn contains(tokens: &[Token], phrases: &[&str]) -> Option<usize> {
    (0..tokens.len()).find_map(|at| any_phrase(tokens, at, phrases).map(|length| at + length))
}

/// The first and the day after the last day meant; from today on for a fortnight when none is.
fn days(when: &When, now: &ZonedDateTime, otherwise: i64) -> (Date, Date) {
    let plus = |date: Date, days: i64| date.saturating_add(jiff::Span::new().days(days));
    if let Some(span) = when.span {
        return span;
    }
    match (when.dates.first(), when.dates.last()) {
        (Some(first), Some(last)) => (*first, plus(*last, 1)),
        _ => (now.date(), plus(now.date(), otherwise)),
    }
}

fn hours(when: &When, (from, to): (Date, Date)) -> (DateTime, DateTime) {
    use super::words::Part;
    let at = |date: Date, hour: i8| date.at(hour, 0, 0, 0);
    match when.part {
        Some(Part::Dawn) => (at(from, 0), at(from, 8)),
        Some(Part::Morning) => (at(from, 6), at(from, 13)),
        Some(Part::Afternoon) => (at(from, 12), at(from, 20)),
        Some(Part::Night) => (at(from, 18), at(to, 0)),
        None => (at(from, 0), at(to, 0)),
    }
}

fn list(tokens: &[Token], language: Language, now: &ZonedDateTime) -> Request {
    let when = dates::scan(tokens, language, now);
    let (from, to) = hours(&when, days(&when, now, if when.has_date() || when.part.is_some() { 1 } else { 14 }));
    Request::List { from, to, text: None }
}

fn search(tokens: &[Token], language: Language, now: &ZonedDateTime) -> Request {
    let when = dates::scan(tokens, language, now);
    let words = events::title(tokens, &when, language);
    let (from, to) = hours(&when, days(&when, now, 90));
    Request::List { from, to, text: (!words.is_empty()).then_some(words) }
}

fn free(tokens: &[Token], _at: usize, language: Language, now: &ZonedDateTime) -> Request {
    let when = dates::scan(tokens, language, now);
    let (from, to) = hours(&when, days(&when, now, 7));
    Request::Free { from, to, minutes: when.minutes.unwrap_or(60) }
}

fn target(tokens: &[Token], language: Language, now: &ZonedDateTime) -> Target {
    let when = dates::scan(tokens, language, now);
    Target {
        title: events::title(tokens, &when, language),
        date: when.dates.first().copied(),
        time: when.time.map(|said| said.time(when.part).0),
    }
}

/// "mueve el dentista del viernes al lunes a las 10": the new time is what follows the last word that leads to one.
fn moved(tokens: &[Token], verb: &[Token], language: Language, now: &ZonedDateTime) -> Request {
    let leads: [&[&str]; 2] = match language {
        Language::Es => [&["al", "a las", "a la", "a"], &["para"]],
        Language::En => [&["to", "until", "till"], &["for", "on", "at"]],
    };
    let earlier = ["adelanta", "adelantar", "bring"].contains(&verb[0].fold.as_str());
    let whole = dates::scan(tokens, language, now);
    if let (Some(minutes), None) = (whole.minutes, whole.time) {
        let target =
            Target { title: events::title(tokens, &whole, language), date: whole.dates.first().copied(), time: None };
        return Request::Move { target, to: NewTime::By(if earlier { -minutes } else { minutes }) };
    }
    let begins_time = |at: &usize, leads: &[&str]| {
        any_phrase(tokens, *at, leads).is_some() && {
            let rest = dates::scan(&tokens[*at..], language, now);
            rest.used.iter().take(3).any(|used| *used) && (rest.has_time() || rest.has_date())
        }
    };
    let split = leads.iter().find_map(|leads| (1..tokens.len()).find(|at| begins_time(at, leads)));
    let (left, right) = tokens.split_at(split.unwrap_or(tokens.len()));
    let new = dates::scan(right, language, now);
    let part_time = new.part.map(|part| jiff::civil::time(part.hour(), 0, 0, 0));
    Request::Move {
        target: target(left, language, now),
        to: NewTime::To {
            date: new.dates.first().copied(),
            time: new.time.map(|said| said.time(new.part).0).or(part_time),
        },
    }
}

fn reminder(tokens: &[Token], language: Language, now: &ZonedDateTime) -> Request {
    let when = dates::scan(tokens, language, now);
    let text = events::reminder_text(tokens, &when, language);
    Request::Remind { text, at: events::start(&when, now, None) }
}
