//! Lengths of time and repetition: "45 minutos", "in an hour and a half", "every other week".

use jiff::civil::Weekday;
use jiff::{Span, Timestamp};

use super::dates::{Found, Reader};
use super::text::{Kind, any_phrase, phrase};
use super::times;
use super::words::{Unit, words_of};

impl Reader<'_> {
    /// An amount of time: "45 minutos", "una hora y media", "1h30". In minutes, with the unit first named.
    fn amount(&self, at: usize) -> Option<(i64, Unit, usize)> {
        let words = words_of(self.language);
        if let Some(length) = any_phrase(self.tokens, at, words.half_hour) {
            return Some((30, Unit::Minute, length));
        }
        let couple = any_phrase(self.tokens, at, &["un par de", "a couple of"]);
        let (count, taken) = match couple {
            Some(length) => (2, length),
            None => times::number(self.tokens, at, words)?,
        };
        let mut length = taken;
        let hyphen = usize::from(self.tokens.get(at + length).is_some_and(|t| t.is("-") && t.glued));
        let token = self.tokens.get(at + length + hyphen)?;
        let (_, unit) = words.units.iter().find(|(name, _)| token.is(name))?;
        // "1 m" is a metre as well; "5m" is not.
        if token.fold.len() == 1 && !token.glued {
            return None;
        }
        length += hyphen + 1;
        let mut minutes = count.checked_mul(unit.minutes())?;
        if *unit == Unit::Hour {
            if let Some(taken) = any_phrase(self.tokens, at + length, words.and_half) {
                return Some((minutes + 30, *unit, length + taken));
            }
            if let Some(taken) = any_phrase(self.tokens, at + length, &["y cuarto", "and a quarter"]) {
                return Some((minutes + 15, *unit, length + taken));
            }
            let joint = any_phrase(self.tokens, at + length, words.and).unwrap_or(0);
            if let Some((more, taken)) = times::number(self.tokens, at + length + joint, words) {
                let next = self.tokens.get(at + length + joint + taken);
                let minute_unit =
                    next.is_some_and(|t| words.units.iter().any(|(name, unit)| t.is(name) && *unit == Unit::Minute));
                if minute_unit {
                    minutes += more;
                    length += joint + taken + 1;
                } else if self.tokens[at + length].glued && self.tokens[at + length].kind == Kind::Number {
                    minutes += more;
                    length += taken;
                }
            }
        }
        Some((minutes, *unit, length))
    }

    pub fn relative(&self, at: usize) -> Option<(Found, usize)> {
        let words = words_of(self.language);
        let lead = any_phrase(self.tokens, at, words.in_leads).unwrap_or(0);
        let (minutes, unit, length) = self.amount(at + lead)?;
        let trail = any_phrase(self.tokens, at + lead + length, words.from_now).unwrap_or(0);
        if lead == 0 && trail == 0 {
            return None;
        }
        let count = minutes / unit.minutes();
        let found = match unit {
            Unit::Minute | Unit::Hour => {
                let at = self.now.timestamp().as_second() + minutes * 60;
                // Whole minutes: nobody means the seconds of the present.
                Found::Instant(Timestamp::from_second(at - at.rem_euclid(60)).ok()?)
            }
            Unit::Day | Unit::Week => Found::Dates(vec![self.plus_days(minutes / Unit::Day.minutes())]),
            Unit::Month => Found::Dates(vec![self.today().checked_add(Span::new().try_months(count).ok()?).ok()?]),
        };
        Some((found, lead + length + trail))
    }

    pub fn length(&self, at: usize) -> Option<(Found, usize)> {
        let lead = any_phrase(self.tokens, at, words_of(self.language).for_leads).unwrap_or(0);
        let (minutes, unit, length) = self.amount(at + lead)?;
        let trail = any_phrase(self.tokens, at + lead + length, &["long", "de duracion"]).unwrap_or(0);
        matches!(unit, Unit::Minute | Unit::Hour).then_some((Found::Minutes(minutes), lead + length + trail))
    }

    pub fn repeats(&self, at: usize) -> Option<(Found, usize)> {
        let words = words_of(self.language);
        let plain = words
            .daily
            .iter()
            .filter_map(|(name, rule)| phrase(self.tokens, at, name).map(|length| ((*rule).to_owned(), length)))
            .max_by_key(|(_, length)| *length);
        if let Some((rule, length)) = plain {
            return Some((Found::Repeats { rule, days: Vec::new() }, length));
        }
        let lead = any_phrase(self.tokens, at, words.every)?;
        if let Some((first, taken)) = self.weekday(at + lead) {
            let mut days = vec![first];
            let mut length = lead + taken;
            while let Some((day, taken)) = self.listed_day(at + length) {
                days.push(day);
                length += taken;
            }
            days.sort_by_key(|day| day.to_monday_zero_offset());
            let names: Vec<&str> = days.iter().map(|day| rule_day(*day)).collect();
            return Some((Found::Repeats { rule: format!("FREQ=WEEKLY;BYDAY={}", names.join(",")), days }, length));
        }
        let (count, taken) = match self.tokens.get(at + lead)?.is("other") {
            true => (2, 1),
            false => times::number(self.tokens, at + lead, words)?,
        };
        let token = self.tokens.get(at + lead + taken)?;
        let (_, unit) = words.units.iter().find(|(name, _)| token.is(name))?;
        let frequency = match unit {
            Unit::Day => "DAILY",
            Unit::Week => "WEEKLY",
            Unit::Month => "MONTHLY",
            Unit::Minute | Unit::Hour => return None,
        };
        let rule = if count > 1 { format!("FREQ={frequency};INTERVAL={count}") } else { format!("FREQ={frequency}") };
        Some((Found::Repeats { rule, days: Vec::new() }, lead + taken + 1))
    }
}

fn rule_day(day: Weekday) -> &'static str {
    match day {
        Weekday::Monday => "MO",
        Weekday::Tuesday => "TU",
        Weekday::Wednesday => "WE",
        Weekday::Thursday => "TH",
        Weekday::Friday => "FR",
        Weekday::Saturday => "SA",
        Weekday::Sunday => "SU",
    }
}

impl Unit {
    pub(super) fn minutes(self) -> i64 {
        match self {
            Self::Minute => 1,
            Self::Hour => 60,
            Self::Day => 1_440,
            Self::Week => 10_080,
            // Only to tell how many: months are added by the calendar.
            Self::Month => 43_200,
        }
    }
}
