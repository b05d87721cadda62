#![allow(clippy::unwrap_used, clippy::expect_used)]

use jiff::tz::TimeZone;

use super::*;
use crate::domain::calendar::EventTime;

fn zone(name: &str) -> TimeZone {
    time_zone(name).unwrap()
}

fn at(text: &str, name: &str) -> String {
    match resolve(text, &zone(name)).unwrap().time {
        EventTime::Date { date } => date,
        EventTime::Timed { at, zone } => format!("{at}[{zone}]"),
    }
}

#[test]
fn case_b03_one_instant_in_every_notation() {
    let berlin = "2026-03-10T09:00:00+01:00[Europe/Berlin]";
    for text in [
        "2026-03-10T09:00:00+01:00",
        "2026-03-10T08:00:00Z",
        "2026-03-10T08:00Z",
        "2026-03-10T08:00:00.000Z",
        "2026-03-10T09:00",
        "2026-03-10 9:00",
        "2026-03-10t09:00:00",
        "2026-03-10T09:00+0100",
        "2026-03-10T09:00+01",
        "20260310T090000",
        "2026-03-10T09:00[Europe/Berlin]",
        "2026-03-10T09:00:00+01:00[Europe/Berlin]",
        "2026-03-10T09:00 Europe/Berlin",
        "  2026-03-10T03:00:00-05:00 ",
    ] {
        assert_eq!(at(text, "Europe/Berlin"), berlin, "{text}");
    }
    let named = resolve_in("2026-03-10T09:00", Some("Europe/Berlin"), &zone("America/New_York")).unwrap();
    assert!(same(&named.time, &resolve("2026-03-10T08:00Z", &zone("UTC")).unwrap().time));
    assert_eq!(at("2026-12-31T24:00", "UTC"), "2027-01-01T00:00:00+00:00[UTC]");
}

#[test]
fn case_b04_zone_aliases_are_one_zone() {
    for (alias, name) in [
        ("UTC", "UTC"),
        ("Etc/UTC", "UTC"),
        ("Z", "UTC"),
        ("gmt", "UTC"),
        ("+00:00", "UTC"),
        ("Asia/Calcutta", "Asia/Kolkata"),
        ("Asia/Kolkata", "Asia/Kolkata"),
        ("asia/kolkata", "Asia/Kolkata"),
        ("US/Eastern", "America/New_York"),
        ("Europe/Kiev", "Europe/Kyiv"),
        ("+02:00", "Etc/GMT-2"),
        ("UTC-5", "Etc/GMT+5"),
    ] {
        let canonical = canonical_zone(alias).unwrap();
        let wanted = canonical_zone(name).unwrap();
        assert_eq!(canonical, wanted, "{alias}");
        assert_ne!(canonical, "Z");
    }
    assert_eq!(canonical_zone("Asia/Calcutta").unwrap(), "Asia/Kolkata");
    assert_eq!(at("2026-06-01T10:00[Asia/Calcutta]", "UTC"), at("2026-06-01T10:00[Asia/Kolkata]", "UTC"));
    for bad in ["", "Mars/Olympus", "+25:00", "+05:45x"] {
        assert!(canonical_zone(bad).is_err(), "{bad}");
    }
}

#[test]
fn case_b05_a_naive_time_is_in_the_persons_zone() {
    let time = resolve("2026-05-27T18:00:00", &zone("Asia/Jerusalem")).unwrap().time;
    assert_eq!(key(&time), "instant:2026-05-27T15:00Z");
    assert_eq!(time, EventTime::Timed { at: "2026-05-27T18:00:00+03:00".into(), zone: "Asia/Jerusalem".into() });
}

#[test]
fn what_is_no_time_is_refused() {
    for text in [
        "",
        "tomorrow",
        "2026-13-01",
        "2026-02-30T10:00",
        "2026-03-10T25:00",
        "2026-03-10T09",
        "2026-03-10T09:00+1:2:3",
    ] {
        assert!(matches!(resolve(text, &zone("UTC")), Err(WhenError::Unreadable { .. })), "{text}");
    }
    assert!(matches!(resolve("2026-03-10T09:00[Nowhere/Land]", &zone("UTC")), Err(WhenError::UnknownZone { .. })));
}

/// Every clock change of 2026 and 2027 in five zones: (zone, local time asked for, what is taken, kind).
#[test]
fn clock_changes_are_resolved_the_same_way_and_told() {
    let table = [
        ("Europe/Berlin", "2026-03-29T02:30", "2026-03-29T03:30:00+02:00", "gap"),
        ("Europe/Berlin", "2026-03-29T01:59", "2026-03-29T01:59:00+01:00", ""),
        ("Europe/Berlin", "2026-03-29T03:00", "2026-03-29T03:00:00+02:00", ""),
        ("Europe/Berlin", "2026-10-25T02:30", "2026-10-25T02:30:00+02:00", "fold"),
        ("Europe/Berlin", "2026-10-25T03:00", "2026-10-25T03:00:00+01:00", ""),
        ("Europe/Berlin", "2027-03-28T02:00", "2027-03-28T03:00:00+02:00", "gap"),
        ("Europe/Berlin", "2027-10-31T02:59", "2027-10-31T02:59:00+02:00", "fold"),
        // Chile changes at midnight: the first hour of the day is skipped, the last one repeated.
        ("America/Santiago", "2026-04-04T23:30", "2026-04-04T23:30:00-03:00", "fold"),
        ("America/Santiago", "2026-09-06T00:30", "2026-09-06T01:30:00-03:00", "gap"),
        ("America/Santiago", "2026-09-06T00:00", "2026-09-06T01:00:00-03:00", "gap"),
        ("America/Santiago", "2027-04-03T23:00", "2027-04-03T23:00:00-03:00", "fold"),
        ("America/Santiago", "2027-09-05T00:15", "2027-09-05T01:15:00-03:00", "gap"),
        ("America/New_York", "2026-03-08T02:30", "2026-03-08T03:30:00-04:00", "gap"),
        ("America/New_York", "2026-11-01T01:30", "2026-11-01T01:30:00-04:00", "fold"),
        ("America/New_York", "2027-03-14T02:15", "2027-03-14T03:15:00-04:00", "gap"),
        ("America/New_York", "2027-11-07T01:00", "2027-11-07T01:00:00-04:00", "fold"),
        ("America/New_York", "2027-11-07T02:00", "2027-11-07T02:00:00-05:00", ""),
        // Lord Howe moves by half an hour.
        ("Australia/Lord_Howe", "2026-04-05T01:45", "2026-04-05T01:45:00+11:00", "fold"),
        ("Australia/Lord_Howe", "2026-04-05T01:15", "2026-04-05T01:15:00+11:00", ""),
        ("Australia/Lord_Howe", "2026-10-04T02:15", "2026-10-04T02:45:00+11:00", "gap"),
        ("Australia/Lord_Howe", "2026-10-04T02:30", "2026-10-04T02:30:00+11:00", ""),
        ("Australia/Lord_Howe", "2027-04-04T01:30", "2027-04-04T01:30:00+11:00", "fold"),
        ("Australia/Lord_Howe", "2027-10-03T02:00", "2027-10-03T02:30:00+11:00", "gap"),
        ("Asia/Kolkata", "2026-03-29T02:30", "2026-03-29T02:30:00+05:30", ""),
        ("Asia/Kolkata", "2026-10-25T02:30", "2026-10-25T02:30:00+05:30", ""),
        ("Asia/Kolkata", "2027-03-28T02:30", "2027-03-28T02:30:00+05:30", ""),
        ("Asia/Kolkata", "2027-10-31T02:30", "2027-10-31T02:30:00+05:30", ""),
    ];
    for (name, asked, taken, kind) in table {
        for _ in 0..2 {
            let resolved = resolve(asked, &zone(name)).unwrap();
            assert_eq!(resolved.time, EventTime::Timed { at: taken.into(), zone: name.into() }, "{name} {asked}");
            let told = match resolved.note {
                Some(Note::Gap { .. }) => "gap",
                Some(Note::Fold { .. }) => "fold",
                None => "",
            };
            assert_eq!(told, kind, "{name} {asked}");
        }
    }
}

#[test]
fn notes_speak_both_languages_and_the_second_time_can_be_asked_for() {
    let note = resolve("2026-10-25T02:30", &zone("Europe/Berlin")).unwrap().note.unwrap();
    assert_eq!(
        note.text("en"),
        "02:30 comes twice on 2026-10-25 in Europe/Berlin because the clocks go back; the first was taken \
         (UTC+02:00). For the second, give the time with +01:00."
    );
    assert!(note.text("es-ES").starts_with("Las 02:30 del 2026-10-25 se repiten en Europe/Berlin"));
    let second = resolve("2026-10-25T02:30+01:00", &zone("Europe/Berlin")).unwrap();
    assert_eq!((key(&second.time).as_str(), second.note), ("instant:2026-10-25T01:30Z", None));
    let gap = resolve("2026-03-29T02:30", &zone("Europe/Berlin")).unwrap().note.unwrap();
    assert_eq!(
        gap.text("en"),
        "02:30 does not exist on 2026-03-29 in Europe/Berlin because the clocks go forward; 03:30 was taken."
    );
    assert!(gap.text("es").contains("se han tomado las 03:30"));
}

#[test]
fn case_b33_all_day_forms_are_one_day() {
    for name in ["America/Denver", "Europe/Copenhagen", "Pacific/Kiritimati"] {
        let day = resolve("2026-05-05", &zone(name)).unwrap().time;
        let next = resolve("2026-05-06", &zone(name)).unwrap().time;
        assert_eq!(day, EventTime::Date { date: "2026-05-05".into() });
        for end in [None, Some(&day), Some(&next)] {
            assert_eq!(settle_end(&day, end).unwrap(), next);
        }
        let midnight = resolve("2026-05-05T00:00", &zone(name)).unwrap().time;
        assert!(!same(&day, &midnight));
        assert_eq!(settle_end(&day, Some(&midnight)), Err(WhenError::MixedForms));
        let before = EventTime::Date { date: "2026-05-04".into() };
        assert!(matches!(settle_end(&day, Some(&before)), Err(WhenError::EndBeforeStart { .. })));
    }
}

#[test]
fn ends_and_durations() {
    let start = resolve("2026-03-28T10:00", &zone("Europe/Berlin")).unwrap().time;
    let plus = |duration: &str| match add(&start, duration) {
        Ok(EventTime::Timed { at, .. }) => at,
        other => panic!("{duration}: {other:?}"),
    };
    for hour_and_half in ["90", "90m", "1h 30m", "1h30m", "PT1H30M", "PT90M"] {
        assert_eq!(plus(hour_and_half), "2026-03-28T11:30:00+01:00", "{hour_and_half}");
    }
    assert_eq!(plus("P1D"), "2026-03-29T10:00:00+02:00", "a day keeps the local time");
    assert_eq!(plus("PT24H"), "2026-03-29T11:00:00+02:00", "24 hours do not");
    assert_eq!(default_end(&start).unwrap(), add(&start, "1h").unwrap());
    assert!(matches!(add(&start, "-30m"), Err(WhenError::BadDuration { .. })));
    assert!(matches!(add(&start, "soon"), Err(WhenError::BadDuration { .. })));
    let earlier = resolve("2026-03-28T09:00", &zone("Europe/Berlin")).unwrap().time;
    assert!(matches!(settle_end(&start, Some(&earlier)), Err(WhenError::EndBeforeStart { .. })));
    assert_eq!(settle_end(&start, Some(&start)).unwrap(), start, "an event without length is one");
}

#[test]
fn case_b34_rules_are_compared_by_meaning() {
    let same_rules: &[&[&str]] = &[
        &[
            "FREQ=WEEKLY;BYDAY=TU",
            "BYDAY=TU;FREQ=WEEKLY",
            "RRULE:freq=weekly;byday=tu;interval=1",
            "FREQ=WEEKLY;WKST=MO;BYDAY=TU,TU",
        ],
        &["FREQ=MONTHLY;BYDAY=1MO,-1FR", "FREQ=MONTHLY;BYDAY=-1FR,+1MO"],
        &[
            "FREQ=DAILY;UNTIL=20261224T120000Z",
            "FREQ=DAILY;UNTIL=2026-12-24T12:00:00Z",
            "FREQ=DAILY;UNTIL=2026-12-24T13:00:00+01:00",
        ],
        &["FREQ=YEARLY;BYMONTH=1,3;BYMONTHDAY=-1", "BYMONTHDAY=-1;BYMONTH=03,01;FREQ=YEARLY"],
    ];
    for rules in same_rules {
        for rule in *rules {
            assert_eq!(canonical_rule(rule).unwrap(), canonical_rule(rules[0]).unwrap(), "{rule}");
        }
    }
    assert_eq!(canonical_rule("BYDAY=WE,MO;FREQ=WEEKLY;COUNT=10").unwrap(), "FREQ=WEEKLY;COUNT=10;BYDAY=MO,WE");
    let tuesday = resolve("2026-03-10T13:00", &zone("Europe/Berlin")).unwrap().time;
    let implied = |rule: &str| canonical_rule_from(rule, &tuesday).unwrap();
    assert_eq!(implied("FREQ=WEEKLY;BYDAY=TU"), implied("FREQ=WEEKLY"));
    assert_eq!(implied("FREQ=MONTHLY;BYMONTHDAY=10"), "FREQ=MONTHLY");
    assert_eq!(implied("FREQ=YEARLY;BYMONTH=3;BYMONTHDAY=10"), "FREQ=YEARLY");
    for kept in ["FREQ=WEEKLY;BYDAY=MO,TU", "FREQ=MONTHLY;BYDAY=2TU", "FREQ=YEARLY;BYMONTH=4;BYMONTHDAY=10"] {
        assert_eq!(implied(kept), canonical_rule(kept).unwrap());
    }
    for bad in [
        "",
        "BYDAY=TU",
        "FREQ=SOMETIMES",
        "FREQ=DAILY;COUNT=0",
        "FREQ=DAILY;COUNT=3;UNTIL=20261224",
        "FREQ=DAILY;FREQ=DAILY",
        "FREQ=MONTHLY;BYMONTHDAY=32",
        "FREQ=MONTHLY;BYMONTHDAY=0",
        "FREQ=WEEKLY;BYDAY=XX",
        "FREQ=DAILY;UNTIL=soon",
        "FREQ=DAILY;X=1",
        "FREQ",
    ] {
        assert!(matches!(canonical_rule(bad), Err(WhenError::BadRule { .. })), "{bad}");
    }
}
