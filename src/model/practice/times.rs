//! Times of the day: "a las tres y media", "half past three", "15h30", "noon".

use jiff::civil::Time;

use super::text::{Kind, Token, any_phrase, phrase};
use super::words::{Part, Words, words_of};
use crate::domain::language::Language;

/// A time as said: the hour may still mean morning or afternoon.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Said {
    pub hour: i8,
    pub minute: i8,
    /// Written so that only one reading is left: 15:00, 03:30, "noon".
    pub exact: bool,
    pub part: Option<Part>,
}

impl Said {
    /// The clock time meant. `part` comes from elsewhere in the sentence ("esta noche a las 9").
    /// Without any hint 1 to 6 are in the afternoon and 7 to 12 as they stand: nobody makes appointments at 3 at night.
    pub fn time(self, part: Option<Part>) -> (Time, bool) {
        let mut hour = self.hour;
        let mut next_day = false;
        if hour == 24 {
            hour = 0;
            next_day = true;
        }
        if !self.exact {
            match self.part.or(part) {
                Some(Part::Morning) if hour == 12 && self.part.is_some() => {}
                Some(Part::Dawn) if hour == 12 => hour = 0,
                Some(Part::Night) if hour == 12 => {
                    hour = 0;
                    next_day = true;
                }
                // 1 to 4 "at night" are after midnight; the day named is the evening before only in speech.
                Some(Part::Night) if (1..=4).contains(&hour) => {}
                Some(Part::Afternoon | Part::Night) if hour < 12 => hour += 12,
                Some(Part::Dawn | Part::Morning | Part::Afternoon | Part::Night) => {}
                None if (1..=6).contains(&hour) => hour += 12,
                None => {}
            }
        }
        (Time::new(hour, self.minute, 0, 0).unwrap_or(Time::midnight()), next_day)
    }
}

/// The time at `at` and its length in tokens. `bare` allows a plain number without "a las" or "at" before it.
pub(super) fn time(tokens: &[Token], at: usize, language: Language, bare: bool) -> Option<(Said, usize)> {
    let words = words_of(language);
    if let Some(length) = any_phrase(tokens, at, words.noon) {
        return Some((Said { hour: 12, minute: 0, exact: true, part: None }, length));
    }
    if let Some(length) = any_phrase(tokens, at, words.midnight) {
        return Some((Said { hour: 24, minute: 0, exact: true, part: None }, length));
    }
    let lead = lead(tokens, at, words);
    let start = at + lead;
    if lead > 0
        && let Some(length) = any_phrase(tokens, start, words.noon)
    {
        return Some((Said { hour: 12, minute: 0, exact: true, part: None }, lead + length));
    }
    if language == Language::En
        && let Some((said, length)) = spoken_english(tokens, start, words)
    {
        return Some(with_part(tokens, start + length, words, said, lead + length));
    }
    let (said, length, digital) = clock(tokens, start, language, words)?;
    let (said, total) = with_part(tokens, start + length, words, said, lead + length);
    let shown = digital || said.part.is_some() && tokens[start].kind == Kind::Number;
    (lead > 0 || bare || shown).then_some((said, total))
}

fn lead(tokens: &[Token], at: usize, words: &Words) -> usize {
    if tokens.get(at).is_some_and(|token| token.is("@")) {
        return 1;
    }
    any_phrase(tokens, at, words.time_leads).unwrap_or(0)
}

fn with_part(tokens: &[Token], at: usize, words: &Words, mut said: Said, length: usize) -> (Said, usize) {
    let longest = words
        .parts
        .iter()
        .filter_map(|(name, part)| part_words(tokens, at, name).map(|length| (length, *part)))
        .max_by_key(|(length, _)| *length);
    let Some((taken, part)) = longest else { return (said, length) };
    // "am" is a half of the day, not "in the morning": 12 am is midnight.
    let half = tokens.get(at).is_some_and(|token| ["am", "a"].contains(&token.fold.as_str()));
    if half && said.hour == 12 {
        said.hour = 0;
        said.exact = true;
    }
    said.part = Some(part);
    (said, length + taken)
}

/// "p.m." is written with dots.
fn part_words(tokens: &[Token], at: usize, name: &str) -> Option<usize> {
    if let Some(length) = phrase(tokens, at, name) {
        return Some(length);
    }
    let (first, second) = name.split_once(' ').filter(|(_, second)| *second == "m")?;
    let dotted = tokens.get(at)?.is(first) && tokens.get(at + 1)?.is(".") && tokens.get(at + 2)?.is(second);
    dotted.then(|| 3 + usize::from(tokens.get(at + 3).is_some_and(|token| token.is(".") && token.glued)))
}

/// "half past three", "quarter to five", "ten past nine".
fn spoken_english(tokens: &[Token], at: usize, words: &Words) -> Option<(Said, usize)> {
    // "from ten to eleven" is a range.
    if at > 0 && ["from", "between"].contains(&tokens[at - 1].fold.as_str()) {
        return None;
    }
    let digits = tokens.get(at)?.kind == Kind::Number;
    let (minutes, mut length) = if let Some(length) = any_phrase(tokens, at, &["half"]) {
        (30, length)
    } else if let Some(length) = any_phrase(tokens, at, &["a quarter", "quarter"]) {
        (15, length)
    } else {
        let (value, length) = number(tokens, at, words)?;
        let minutes = any_phrase(tokens, at + length, &["minutes"]).unwrap_or(0);
        if digits && minutes == 0 {
            return None;
        }
        (value, length + minutes)
    };
    let after = match tokens.get(at + length)?.fold.as_str() {
        "past" | "after" => true,
        "to" | "before" if minutes != 30 => false,
        _ => return None,
    };
    length += 1;
    let (hour, taken) = number(tokens, at + length, words).filter(|(hour, _)| (1..=12).contains(hour))?;
    length += taken;
    let total = if after { hour * 60 + minutes } else { hour * 60 - minutes };
    Some((said(total / 60, total % 60, false)?, length))
}

/// Hour and minutes; the last value tells whether they were written like a clock shows them.
fn clock(tokens: &[Token], at: usize, language: Language, words: &Words) -> Option<(Said, usize, bool)> {
    let first = tokens.get(at)?;
    if let Some(hour) = first.number() {
        if !(0..=24).contains(&hour) || first.fold.len() > 2 {
            return None;
        }
        let zero = first.fold.starts_with('0');
        let mark = tokens.get(at + 1).filter(|token| token.glued && [":", ".", "h"].contains(&token.fold.as_str()));
        if let Some(mark) = mark {
            let minute = tokens.get(at + 2).filter(|token| token.glued && token.fold.len() == 2);
            if let Some(minute) = minute.and_then(Token::number).filter(|minute| *minute < 60) {
                let suffix = tokens.get(at + 3).is_some_and(|t| ["h", "hs", "hrs", "horas"].contains(&t.fold.as_str()));
                let said = said(hour, minute, zero || hour > 12 || mark.is("h"))?;
                return Some((said, 3 + usize::from(suffix), true));
            }
            if mark.is("h") {
                return Some((said(hour, 0, true)?, 2, true));
            }
        }
        let (minute, taken) = spoken_minutes(tokens, at + 1, language, words, hour);
        let hour = if minute < 0 { hour - 1 } else { hour };
        return Some((said(hour, minute.rem_euclid(60), zero || hour > 12)?, 1 + taken, false));
    }
    let (hour, length) = number(tokens, at, words).filter(|(hour, length)| (0..=24).contains(hour) && *length == 1)?;
    if ["a", "an", "un"].contains(&first.fold.as_str()) {
        return None;
    }
    let (minute, taken) = spoken_minutes(tokens, at + length, language, words, hour);
    let hour = if minute < 0 { hour - 1 } else { hour };
    Some((said(hour, minute.rem_euclid(60), hour > 12)?, length + taken, false))
}

/// "y media", "menos cuarto", "y veinte", "o'clock", "thirty". Negative: before the hour.
fn spoken_minutes(tokens: &[Token], at: usize, language: Language, words: &Words, hour: i64) -> (i64, usize) {
    match language {
        Language::Es => {
            for (said, minutes) in
                [("y media", 30), ("y cuarto", 15), ("menos cuarto", -15), ("en punto", 0), ("horas", 0), ("hs", 0)]
            {
                if let Some(length) = phrase(tokens, at, said) {
                    let exact = any_phrase(tokens, at + length, &["en punto", "horas"]).unwrap_or(0);
                    return (minutes, length + exact);
                }
            }
            let sign = match tokens.get(at).map(|token| token.fold.as_str()) {
                Some("y") => 1,
                Some("menos") => -1,
                _ => return (0, 0),
            };
            match number(tokens, at + 1, words) {
                // "a las 10 y 2 más" is not a time; a following noun is not looked at.
                Some((minutes, length))
                    if (1..60).contains(&minutes) && !followed_by_clock(tokens, at + 1 + length) =>
                {
                    (sign * minutes, 1 + length)
                }
                _ => (0, 0),
            }
        }
        Language::En => {
            if let Some(length) = any_phrase(tokens, at, &["o'clock", "o’clock", "oclock", "sharp"]) {
                return (0, length);
            }
            match number(tokens, at, words) {
                Some((minutes, length))
                    if [5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55].contains(&minutes)
                        && tokens[at].kind == Kind::Word
                        && (1..=12).contains(&hour)
                        && !tokens.get(at + length).is_some_and(|t| t.fold.starts_with("min")) =>
                {
                    (minutes, length)
                }
                _ => (0, 0),
            }
        }
    }
}

fn followed_by_clock(tokens: &[Token], at: usize) -> bool {
    tokens.get(at).is_some_and(|token| token.is(":") && token.glued)
}

fn said(hour: i64, minute: i64, exact: bool) -> Option<Said> {
    let hour = i8::try_from(hour).ok().filter(|hour| (0..=24).contains(hour))?;
    Some(Said { hour, minute: i8::try_from(minute).ok()?, exact: exact || hour == 0, part: None })
}

/// A number in digits or words, and its length in tokens: "45", "quince", "treinta y cinco", "twenty-five".
pub(super) fn number(tokens: &[Token], at: usize, words: &Words) -> Option<(i64, usize)> {
    let first = tokens.get(at)?;
    if let Some(value) = first.number() {
        return Some((value, 1));
    }
    if first.kind != Kind::Word {
        return None;
    }
    let lookup = |token: &Token| words.numbers.iter().find(|(name, _)| token.is(name)).map(|(_, value)| *value);
    let value = lookup(first)?;
    if value >= 20 && value % 10 == 0 {
        let joint = usize::from(tokens.get(at + 1).is_some_and(|t| t.is("y") || t.is("-") && t.glued));
        if let Some(unit) = tokens.get(at + 1 + joint).and_then(lookup).filter(|unit| (1..10).contains(unit))
            && !["a", "an", "un"].contains(&tokens[at + 1 + joint].fold.as_str())
        {
            return Some((value + unit, 2 + joint));
        }
    }
    Some((value, 1))
}
