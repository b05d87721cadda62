//! Finds what a sentence says about when: dates, times, ranges, lengths, repetition.
//!
//! One pass from left to right; at each token the longest reading wins and its tokens are marked as used, so that what is
//! left over is the title.

use jiff::civil::{Date, Weekday};
use jiff::{Span, Timestamp, ZonedDateTime};

use super::text::{Kind, Token, any_phrase, phrase};
use super::times::{self, Said};
use super::words::{Part, Unit, words_of};
use crate::domain::language::Language;

/// Everything a piece of text says about when.
#[derive(Clone, Debug, Default)]
pub(super) struct When {
    pub dates: Vec<Date>,
    pub time: Option<Said>,
    pub until: Option<Said>,
    pub part: Option<Part>,
    /// "in 20 minutes": a point in time, whatever the clocks do meanwhile.
    pub instant: Option<Timestamp>,
    /// A length in minutes.
    pub minutes: Option<i64>,
    pub recurrence: Option<String>,
    pub all_day: bool,
    /// A week or a month for lists, half-open.
    pub span: Option<(Date, Date)>,
    /// Per token: belongs to an expression above.
    pub used: Vec<bool>,
}

impl When {
    pub fn has_time(&self) -> bool {
        self.time.is_some() || self.instant.is_some() || self.part.is_some() || self.all_day
    }
    pub fn has_date(&self) -> bool {
        !self.dates.is_empty() || self.span.is_some() || self.recurrence.is_some()
    }
}

pub(super) enum Found {
    Dates(Vec<Date>),
    DatePart(Date, Part),
    Time(Said),
    Range(Said, Said),
    Part(Part),
    Instant(Timestamp),
    Minutes(i64),
    Repeats { rule: String, days: Vec<Weekday> },
    AllDay,
    Span(Date, Date),
}

pub(super) fn scan(tokens: &[Token], language: Language, now: &ZonedDateTime) -> When {
    let reader = Reader { tokens, language, now };
    let mut when = When { used: vec![false; tokens.len()], ..When::default() };
    let mut at = 0;
    while at < tokens.len() {
        let Some((found, length)) = reader.at(at) else {
            at += 1;
            continue;
        };
        // A second time of the same kind belongs to something else ("the 3 o'clock one to 5"): the first stays.
        let taken = match found {
            Found::Dates(dates) => {
                let free = when.dates.is_empty() && when.instant.is_none();
                if free {
                    when.dates = dates;
                }
                free
            }
            Found::DatePart(date, part) => {
                let free = when.dates.is_empty();
                if free {
                    when.dates = vec![date];
                    when.part = Some(part);
                }
                free
            }
            Found::Time(said) => {
                let free = when.time.is_none();
                if free {
                    when.time = Some(said);
                }
                free
            }
            Found::Range(from, until) => {
                let free = when.time.is_none();
                if free {
                    when.time = Some(from);
                    when.until = Some(until);
                }
                free
            }
            Found::Part(part) => {
                when.part.get_or_insert(part);
                true
            }
            Found::Instant(instant) => {
                when.instant.get_or_insert(instant);
                true
            }
            Found::Minutes(minutes) => {
                when.minutes.get_or_insert(minutes);
                true
            }
            Found::Repeats { rule, days } => {
                let first = days.iter().map(|day| reader.upcoming(*day, true)).min();
                if when.dates.is_empty() {
                    when.dates.extend(first);
                }
                when.recurrence.get_or_insert(rule);
                true
            }
            Found::AllDay => {
                when.all_day = true;
                true
            }
            Found::Span(from, until) => {
                when.span.get_or_insert((from, until));
                true
            }
        };
        if taken {
            when.used[at..at + length].fill(true);
        }
        at += length;
    }
    // "hasta las 5", said apart from the start.
    if when.time.is_some() && when.until.is_none() {
        reader.trailing_until(&mut when);
    }
    when
}

pub(super) struct Reader<'a> {
    pub tokens: &'a [Token],
    pub language: Language,
    pub now: &'a ZonedDateTime,
}

impl Reader<'_> {
    fn at(&self, at: usize) -> Option<(Found, usize)> {
        if !matches!(self.tokens[at].kind, Kind::Word | Kind::Number | Kind::Mark) {
            return None;
        }
        let readings = [
            self.repeats(at),
            self.relative(at),
            self.whole_span(at),
            self.clock_range(at),
            self.day_part(at),
            self.dates(at),
            self.length(at),
            self.all_day(at),
            times::time(self.tokens, at, self.language, false).map(|(said, length)| (Found::Time(said), length)),
            self.part(at),
        ];
        // The longest wins; among equals the first.
        readings.into_iter().flatten().fold(None, |best: Option<(Found, usize)>, next| match best {
            Some(best) if best.1 >= next.1 => Some(best),
            _ => Some(next),
        })
    }

    pub fn today(&self) -> Date {
        self.now.date()
    }

    pub fn plus_days(&self, days: i64) -> Date {
        self.today().saturating_add(Span::new().days(days))
    }

    /// The next such day; today counts only with `today`.
    fn upcoming(&self, day: Weekday, today: bool) -> Date {
        let ahead = i64::from(self.today().weekday().until(day));
        self.plus_days(if ahead == 0 && !today { 7 } else { ahead })
    }

    fn in_following_week(&self, day: Weekday) -> Date {
        let monday = self.plus_days(7 - i64::from(self.today().weekday().to_monday_zero_offset()));
        monday.saturating_add(Span::new().days(i64::from(day.to_monday_zero_offset())))
    }

    pub fn weekday(&self, at: usize) -> Option<(Weekday, usize)> {
        let token = self.tokens.get(at)?;
        let (_, number) = words_of(self.language).weekdays.iter().find(|(name, _)| token.is(name))?;
        let dot = usize::from(
            token.fold.len() <= 5
                && self
                    .tokens
                    .get(at + 1)
                    .is_some_and(|t| t.is(".") && t.glued && self.language == Language::En && token.fold.len() == 3),
        );
        Some((Weekday::from_monday_one_offset(*number).ok()?, 1 + dot))
    }

    fn dates(&self, at: usize) -> Option<(Found, usize)> {
        let words = words_of(self.language);
        let lead = any_phrase(self.tokens, at, words.date_leads).unwrap_or(0);
        let start = at + lead;
        let offset = words
            .days
            .iter()
            .filter_map(|(name, days)| phrase(self.tokens, start, name).map(|length| (*days, length)))
            .max_by_key(|(_, length)| *length);
        if let Some((days, length)) = offset {
            // "por la mañana" and "de la mañana" are no tomorrow.
            let after_article = start > 0 && self.tokens[start].is("manana") && self.tokens[start - 1].is("la");
            if !after_article {
                return Some((Found::Dates(vec![self.plus_days(days)]), lead + length));
            }
        }
        if let Some((dates, length)) = self.weekdays(start) {
            return Some((Found::Dates(dates), lead + length));
        }
        let lead_says_day =
            lead > 0 && ["el", "dia", "the", "al", "del"].contains(&self.tokens[start - 1].fold.as_str());
        self.calendar_date(start, lead_says_day).map(|(date, length)| (Found::Dates(vec![date]), lead + length))
    }

    /// One weekday, a list, or a range: "el próximo martes", "lunes y jueves", "de lunes a viernes", "Mon-Fri".
    fn weekdays(&self, at: usize) -> Option<(Vec<Date>, usize)> {
        let words = words_of(self.language);
        let mut length = any_phrase(self.tokens, at, words.next).unwrap_or(0);
        let next = length > 0;
        let this = !next && any_phrase(self.tokens, at, words.this).is_some();
        if this {
            length = any_phrase(self.tokens, at, words.this).unwrap_or(0);
        }
        let (day, taken) = self.weekday(at + length)?;
        length += taken;
        let week_after =
            any_phrase(self.tokens, at + length, &["de la semana que viene", "de la proxima semana", "next week"]);
        if let Some(taken) = week_after {
            return Some((vec![self.in_following_week(day)], length + taken));
        }
        if let Some(taken) = any_phrase(self.tokens, at + length, words.next_after) {
            return Some((vec![self.upcoming(day, false)], length + taken));
        }
        if next {
            let date = match self.language {
                Language::En => self.in_following_week(day),
                Language::Es => self.upcoming(day, false),
            };
            return Some((vec![date], length));
        }
        if let Some((last, taken)) = self.range_end(at + length) {
            let first = self.upcoming(day, false);
            let count = i64::from(day.until(last));
            let days = (0..=count).map(|n| first.saturating_add(Span::new().days(n))).collect();
            return Some((days, length + taken));
        }
        let mut dates = vec![self.upcoming(day, this)];
        while let Some((day, taken)) = self.listed_day(at + length) {
            dates.push(self.upcoming(day, this));
            length += taken;
        }
        dates.sort();
        dates.dedup();
        Some((dates, length))
    }

    fn range_end(&self, at: usize) -> Option<(Weekday, usize)> {
        let joint = self.tokens.get(at)?;
        let joins = match self.language {
            Language::Es => ["a", "-", "–"].contains(&joint.fold.as_str()),
            Language::En => ["to", "through", "-", "–"].contains(&joint.fold.as_str()),
        };
        let (day, taken) = joins.then(|| self.weekday(at + 1)).flatten()?;
        Some((day, 1 + taken))
    }

    /// ", y el viernes"
    pub fn listed_day(&self, at: usize) -> Option<(Weekday, usize)> {
        let words = words_of(self.language);
        let mut length = usize::from(self.tokens.get(at)?.is(","));
        length += any_phrase(self.tokens, at + length, words.and).unwrap_or(0);
        if length == 0 {
            return None;
        }
        length += any_phrase(self.tokens, at + length, &["el", "los", "on"]).unwrap_or(0);
        let (day, taken) = self.weekday(at + length)?;
        Some((day, length + taken))
    }

    fn calendar_date(&self, at: usize, named: bool) -> Option<(Date, usize)> {
        let token = self.tokens.get(at)?;
        if let Some((month, taken)) = self.month(at) {
            // "May 5th, 2027"
            let (day, more) = self.day_number(at + taken)?;
            let comma = usize::from(self.tokens.get(at + taken + more).is_some_and(|t| t.is(",")));
            let year = self.year(at + taken + more + comma);
            let length = taken + more + year.map_or(0, |_| comma + 1);
            return Some((self.date(year, month, day)?, length));
        }
        if let Some(number) = token.number()
            && let Some(found) = self.numeric_date(at, number)
        {
            return Some(found);
        }
        let (day, taken) = self.day_number(at)?;
        let of = any_phrase(self.tokens, at + taken, &["de", "of"]).unwrap_or(0);
        if let Some((month, more)) = self.month(at + taken + of) {
            let mut length = taken + of + more;
            let of_year = any_phrase(self.tokens, at + length, &["de", "del", ","]).unwrap_or(0);
            let year = self.year(at + length + of_year);
            if year.is_some() {
                length += of_year + 1;
            }
            return Some((self.date(year, month, day)?, length));
        }
        // "el 5", "the 5th": only when nothing else could follow from the number.
        let ordinal = taken == 2;
        let alone = self.tokens.get(at + taken).is_none_or(|next| {
            next.kind == Kind::Break
                || next.kind == Kind::Mark && !next.glued
                || [",", ".", "?", "!"].contains(&next.fold.as_str())
                || times::time(self.tokens, at + taken, self.language, false).is_some()
                || self.part(at + taken).is_some()
        });
        (named && (ordinal || alone)).then(|| self.day_of_month(day)).flatten().map(|date| (date, taken))
    }

    /// 2027-05-05, 5/5, 05/05/2027, 5-5-27. Spanish and numbers over 12 put the day first, English the month.
    fn numeric_date(&self, at: usize, number: i64) -> Option<(Date, usize)> {
        let token = &self.tokens[at];
        if token.fold.len() == 4 {
            let (month, day) = (self.glued_number(at + 1, "-")?, self.glued_number(at + 3, "-")?);
            return Some((self.date(Some(number), month, day)?, 5));
        }
        for mark in ["/", "-", "."] {
            if let Some(second) = self.glued_number(at + 1, mark) {
                let third = self.glued_number(at + 3, mark);
                if mark != "/" && third.is_none() {
                    continue;
                }
                let day_first = self.language == Language::Es || number > 12;
                let (day, month) = if day_first { (number, second) } else { (second, number) };
                let year = third.map(|year| if year < 100 { 2000 + year } else { year });
                return Some((self.date(year, month, day)?, if third.is_some() { 5 } else { 3 }));
            }
        }
        None
    }

    fn month(&self, at: usize) -> Option<(i64, usize)> {
        let token = self.tokens.get(at)?;
        let (_, month) = words_of(self.language).months.iter().find(|(name, _)| token.is(name))?;
        Some((i64::from(*month), 1))
    }

    /// "5", "5th", "cinco", "1º"
    fn day_number(&self, at: usize) -> Option<(i64, usize)> {
        let (day, taken) = match self.tokens.get(at)?.is("primero") {
            true => (1, 1),
            false => times::number(self.tokens, at, words_of(self.language))?,
        };
        let suffix = self
            .tokens
            .get(at + taken)
            .is_some_and(|t| t.glued && ["st", "nd", "rd", "th", "º"].contains(&t.fold.as_str()));
        (1..=31).contains(&day).then_some((day, taken + usize::from(suffix)))
    }

    fn year(&self, at: usize) -> Option<i64> {
        self.tokens.get(at)?.number().filter(|year| (2000..2200).contains(year))
    }

    fn glued_number(&self, at: usize, mark: &str) -> Option<i64> {
        let joined = self.tokens.get(at)?.is(mark) && self.tokens[at].glued && self.tokens.get(at + 1)?.glued;
        joined.then(|| self.tokens[at + 1].number()).flatten()
    }

    /// Without a year: the next such date, today included.
    fn date(&self, year: Option<i64>, month: i64, day: i64) -> Option<Date> {
        let (month, day) = (i8::try_from(month).ok()?, i8::try_from(day).ok()?);
        match year {
            Some(year) => Date::new(i16::try_from(year).ok()?, month, day).ok(),
            None => {
                let this = self.today().year();
                // Eight years reach the next 29 February.
                (this..this + 9).filter_map(|year| Date::new(year, month, day).ok()).find(|date| *date >= self.today())
            }
        }
    }

    fn day_of_month(&self, day: i64) -> Option<Date> {
        let day = i8::try_from(day).ok()?;
        let first = self.today().first_of_month();
        (0..3)
            .map(|months| first.saturating_add(Span::new().months(months)))
            .filter_map(|month| Date::new(month.year(), month.month(), day).ok())
            .find(|date| *date >= self.today())
    }

    fn day_part(&self, at: usize) -> Option<(Found, usize)> {
        let (_, (days, part), length) = words_of(self.language)
            .day_parts
            .iter()
            .filter_map(|(name, value)| phrase(self.tokens, at, name).map(|length| (name, *value, length)))
            .max_by_key(|(_, _, length)| *length)?;
        Some((Found::DatePart(self.plus_days(days), part), length))
    }

    fn part(&self, at: usize) -> Option<(Found, usize)> {
        let words = words_of(self.language);
        // "am" and "pm" say nothing without an hour before them.
        let found = words.parts.iter().filter(|(name, _)| !name.ends_with('m'));
        let (part, length) = found
            .filter_map(|(name, part)| phrase(self.tokens, at, name).map(|length| (*part, length)))
            .max_by_key(|(_, length)| *length)?;
        // In English a bare "morning" is a part only right after a day: "tomorrow morning", "Friday night".
        let bare = self.language == Language::En && length == 1;
        let after_day = at > 0
            && (self.weekday(at - 1).is_some()
                || ["tomorrow", "today", "yesterday", "the", "day"].contains(&self.tokens[at - 1].fold.as_str()));
        (!bare || after_day).then_some((Found::Part(part), length))
    }

    fn all_day(&self, at: usize) -> Option<(Found, usize)> {
        any_phrase(self.tokens, at, words_of(self.language).all_day).map(|length| (Found::AllDay, length))
    }

    fn clock_range(&self, at: usize) -> Option<(Found, usize)> {
        for (open, (near, far)) in words_of(self.language).ranges {
            let Some(lead) = phrase(self.tokens, at, open) else { continue };
            let Some((from, first)) = times::time(self.tokens, at + lead, self.language, true) else { continue };
            for joint in [near, far] {
                let Some(middle) = phrase(self.tokens, at + lead + first, joint) else { continue };
                let start = at + lead + first + middle;
                let Some((until, second)) = times::time(self.tokens, start, self.language, true) else { continue };
                let until_counts = !self.tokens.get(start + second).is_some_and(|t| {
                    words_of(self.language).units.iter().any(|(name, _)| t.is(name))
                        || t.is("de") && self.month(start + second + 1).is_some()
                });
                if until_counts {
                    return Some((range(from, until), lead + first + middle + second));
                }
            }
        }
        // "10:00-11:30", "3-4pm"
        let lead = any_phrase(self.tokens, at, words_of(self.language).time_leads).unwrap_or(0);
        let (from, first) = times::time(self.tokens, at + lead, self.language, true)?;
        let dash = self.tokens.get(at + lead + first).filter(|t| ["-", "–"].contains(&t.fold.as_str()))?;
        let (until, second) = times::time(self.tokens, at + lead + first + 1, self.language, true)?;
        let clock_like = lead > 0 || first > 1 || second > 1;
        (clock_like && self.tokens[at + lead].kind == Kind::Number && !dash.raw.is_empty())
            .then(|| (range(from, until), lead + first + 1 + second))
    }

    fn whole_span(&self, at: usize) -> Option<(Found, usize)> {
        let words = words_of(self.language);
        if let Some(length) = any_phrase(self.tokens, at, words.weekend) {
            let saturday = self.upcoming(Weekday::Saturday, true);
            let from = if self.today().weekday() == Weekday::Sunday { self.today() } else { saturday };
            return Some((Found::Span(from, self.monday_after(from)), length));
        }
        let lead = any_phrase(self.tokens, at, &["para", "de", "en", "for", "in", "during"]).unwrap_or(0);
        let (unit, ahead, length) = words
            .spans
            .iter()
            .filter_map(|(name, (unit, ahead))| {
                phrase(self.tokens, at + lead, name).map(|length| (*unit, *ahead, length))
            })
            .max_by_key(|(_, _, length)| *length)?;
        let (from, until) = match unit {
            Unit::Month => {
                let first = self.today().first_of_month().saturating_add(Span::new().months(ahead));
                (first, first.saturating_add(Span::new().months(1)))
            }
            Unit::Minute | Unit::Hour | Unit::Day | Unit::Week => {
                let monday = self.plus_days(7 * ahead - i64::from(self.today().weekday().to_monday_zero_offset()));
                (monday, monday.saturating_add(Span::new().days(7)))
            }
        };
        Some((Found::Span(from.max(self.today()), until), lead + length))
    }

    fn monday_after(&self, date: Date) -> Date {
        date.saturating_add(Span::new().days(7 - i64::from(date.weekday().to_monday_zero_offset())))
    }

    fn trailing_until(&self, when: &mut When) {
        for at in 0..self.tokens.len() {
            if when.used[at] {
                continue;
            }
            let Some(lead) = any_phrase(self.tokens, at, &["hasta las", "hasta la", "until", "till"]) else { continue };
            let Some((said, length)) = times::time(self.tokens, at + lead, self.language, true) else { continue };
            when.until = Some(said);
            when.used[at..at + lead + length].fill(true);
            return;
        }
    }
}

/// "from 3 to 5 in the afternoon": what is said of the end holds for the start.
fn range(mut from: Said, until: Said) -> Found {
    let same_half = until.hour >= from.hour || until.part != Some(Part::Afternoon);
    if from.part.is_none() && until.part.is_some() && same_half && from.hour < 12 && until.hour != 12 {
        from.part = until.part;
    }
    Found::Range(from, until)
}
