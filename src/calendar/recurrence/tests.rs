#![allow(clippy::unwrap_used, clippy::expect_used)]

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, date};
use jiff::tz::TimeZone;

use super::*;
use crate::calendar::ics::{Series, parse_calendar, read_series};
use crate::domain::calendar::EventTime;
use crate::domain::when;

fn series(zone: &str, start: &str, lines: &str) -> Series {
    let dtstart = if start.contains('T') {
        format!("DTSTART;TZID={zone}:{start}00")
    } else {
        format!("DTSTART;VALUE=DATE:{start}")
    };
    let text =
        format!("BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:s\r\n{dtstart}\r\n{lines}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n");
    read_series(&parse_calendar(&text).unwrap(), None, &TimeZone::UTC).unwrap()
}

/// `19970902`: that day at the time of the start; `19970902T1020`; `19970902..19970905`: each day; `...`: and so on.
fn expected(text: &str, start: &str) -> (Vec<String>, bool) {
    let clock = start.split_once('T').map(|(_, clock)| clock);
    let at = |day: Date| match clock {
        Some(clock) => format!("{}T{clock}", day.strftime("%Y%m%d")),
        None => day.strftime("%Y%m%d").to_string(),
    };
    let mut all = Vec::new();
    for token in text.split_whitespace().filter(|token| *token != "...") {
        match token.split_once("..") {
            Some((first, last)) => {
                let (first, last): (Date, Date) = (first.parse().unwrap(), last.parse().unwrap());
                all.extend(first.series(jiff::Span::new().days(1)).take_while(|day| *day <= last).map(at));
            }
            None if token.contains('T') => all.push(token.to_owned()),
            None => all.push(at(token.parse().unwrap())),
        }
    }
    (all, text.ends_with("..."))
}

fn local(time: &EventTime) -> String {
    match time {
        EventTime::Date { date } => date.replace('-', ""),
        EventTime::Timed { at, .. } => at[..16].replace(['-', ':'], ""),
    }
}

/// (start, RRULE and other lines, dates). The first 42 with their dates are those of RFC 5545, section 3.8.5.3, in its
/// order; then rules that its other sections state; then rules whose dates any calendar shows.
const VECTORS: &[(&str, &str, &str)] = &[
    ("19970902T0900", "RRULE:FREQ=DAILY;COUNT=10", "19970902..19970911"),
    ("19970902T0900", "RRULE:FREQ=DAILY;UNTIL=19971224T000000Z", "19970902..19971223"),
    ("19970902T0900", "RRULE:FREQ=DAILY;INTERVAL=2", "19970902 19970904 19970906 19970908 19970910 19970912 ..."),
    ("19970902T0900", "RRULE:FREQ=DAILY;INTERVAL=10;COUNT=5", "19970902 19970912 19970922 19971002 19971012"),
    (
        "19980101T0900",
        "RRULE:FREQ=YEARLY;UNTIL=20000131T140000Z;BYMONTH=1;BYDAY=SU,MO,TU,WE,TH,FR,SA",
        "19980101..19980131 19990101..19990131 20000101..20000131",
    ),
    (
        "19980101T0900",
        "RRULE:FREQ=DAILY;UNTIL=20000131T140000Z;BYMONTH=1",
        "19980101..19980131 19990101..19990131 20000101..20000131",
    ),
    (
        "19970902T0900",
        "RRULE:FREQ=WEEKLY;COUNT=10",
        "19970902 19970909 19970916 19970923 19970930 19971007 19971014 19971021 19971028 19971104",
    ),
    (
        "19970902T0900",
        "RRULE:FREQ=WEEKLY;UNTIL=19971224T000000Z",
        "19970902 19970909 19970916 19970923 19970930 19971007 19971014 19971021 19971028 19971104 19971111 19971118 19971125 19971202 19971209 19971216 19971223",
    ),
    (
        "19970902T0900",
        "RRULE:FREQ=WEEKLY;INTERVAL=2;WKST=SU",
        "19970902 19970916 19970930 19971014 19971028 19971111 19971125 19971209 19971223 19980106 19980120 19980203 19980217 ...",
    ),
    (
        "19970902T0900",
        "RRULE:FREQ=WEEKLY;UNTIL=19971007T000000Z;WKST=SU;BYDAY=TU,TH",
        "19970902 19970904 19970909 19970911 19970916 19970918 19970923 19970925 19970930 19971002",
    ),
    (
        "19970902T0900",
        "RRULE:FREQ=WEEKLY;COUNT=10;WKST=SU;BYDAY=TU,TH",
        "19970902 19970904 19970909 19970911 19970916 19970918 19970923 19970925 19970930 19971002",
    ),
    (
        "19970901T0900",
        "RRULE:FREQ=WEEKLY;INTERVAL=2;UNTIL=19971224T000000Z;WKST=SU;BYDAY=MO,WE,FR",
        "19970901 19970903 19970905 19970915 19970917 19970919 19970929 19971001 19971003 19971013 19971015 19971017 19971027 19971029 19971031 19971110 19971112 19971114 19971124 19971126 19971128 19971208 19971210 19971212 19971222",
    ),
    (
        "19970902T0900",
        "RRULE:FREQ=WEEKLY;INTERVAL=2;COUNT=8;WKST=SU;BYDAY=TU,TH",
        "19970902 19970904 19970916 19970918 19970930 19971002 19971014 19971016",
    ),
    (
        "19970905T0900",
        "RRULE:FREQ=MONTHLY;COUNT=10;BYDAY=1FR",
        "19970905 19971003 19971107 19971205 19980102 19980206 19980306 19980403 19980501 19980605",
    ),
    ("19970905T0900", "RRULE:FREQ=MONTHLY;UNTIL=19971224T000000Z;BYDAY=1FR", "19970905 19971003 19971107 19971205"),
    (
        "19970907T0900",
        "RRULE:FREQ=MONTHLY;INTERVAL=2;COUNT=10;BYDAY=1SU,-1SU",
        "19970907 19970928 19971102 19971130 19980104 19980125 19980301 19980329 19980503 19980531",
    ),
    ("19970922T0900", "RRULE:FREQ=MONTHLY;COUNT=6;BYDAY=-2MO", "19970922 19971020 19971117 19971222 19980119 19980216"),
    ("19970928T0900", "RRULE:FREQ=MONTHLY;BYMONTHDAY=-3", "19970928 19971029 19971128 19971229 19980129 19980226 ..."),
    (
        "19970902T0900",
        "RRULE:FREQ=MONTHLY;COUNT=10;BYMONTHDAY=2,15",
        "19970902 19970915 19971002 19971015 19971102 19971115 19971202 19971215 19980102 19980115",
    ),
    (
        "19970930T0900",
        "RRULE:FREQ=MONTHLY;COUNT=10;BYMONTHDAY=1,-1",
        "19970930 19971001 19971031 19971101 19971130 19971201 19971231 19980101 19980131 19980201",
    ),
    (
        "19970910T0900",
        "RRULE:FREQ=MONTHLY;INTERVAL=18;COUNT=10;BYMONTHDAY=10,11,12,13,14,15",
        "19970910..19970915 19990310..19990313",
    ),
    (
        "19970902T0900",
        "RRULE:FREQ=MONTHLY;INTERVAL=2;BYDAY=TU",
        "19970902 19970909 19970916 19970923 19970930 19971104 19971111 19971118 19971125 19980106 19980113 19980120 19980127 19980303 19980310 19980317 19980324 19980331 ...",
    ),
    (
        "19970610T0900",
        "RRULE:FREQ=YEARLY;COUNT=10;BYMONTH=6,7",
        "19970610 19970710 19980610 19980710 19990610 19990710 20000610 20000710 20010610 20010710",
    ),
    (
        "19970310T0900",
        "RRULE:FREQ=YEARLY;INTERVAL=2;COUNT=10;BYMONTH=1,2,3",
        "19970310 19990110 19990210 19990310 20010110 20010210 20010310 20030110 20030210 20030310",
    ),
    (
        "19970101T0900",
        "RRULE:FREQ=YEARLY;INTERVAL=3;COUNT=10;BYYEARDAY=1,100,200",
        "19970101 19970410 19970719 20000101 20000409 20000718 20030101 20030410 20030719 20060101",
    ),
    ("19970519T0900", "RRULE:FREQ=YEARLY;BYDAY=20MO", "19970519 19980518 19990517 ..."),
    ("19970512T0900", "RRULE:FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO", "19970512 19980511 19990517 ..."),
    (
        "19970313T0900",
        "RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=TH",
        "19970313 19970320 19970327 19980305 19980312 19980319 19980326 19990304 19990311 19990318 19990325 ...",
    ),
    (
        "19970605T0900",
        "RRULE:FREQ=YEARLY;BYDAY=TH;BYMONTH=6,7,8",
        "19970605 19970612 19970619 19970626 19970703 19970710 19970717 19970724 19970731 19970807 19970814 19970821 19970828 19980604 19980611 ...",
    ),
    (
        "19970902T0900",
        "EXDATE;TZID=America/New_York:19970902T090000\r\nRRULE:FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13",
        "19980213 19980313 19981113 19990813 20001013 ...",
    ),
    (
        "19970913T0900",
        "RRULE:FREQ=MONTHLY;BYDAY=SA;BYMONTHDAY=7,8,9,10,11,12,13",
        "19970913 19971011 19971108 19971213 19980110 19980207 19980307 19980411 19980509 19980613 ...",
    ),
    (
        "19961105T0900",
        "RRULE:FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8",
        "19961105 20001107 20041102 ...",
    ),
    ("19970904T0900", "RRULE:FREQ=MONTHLY;COUNT=3;BYDAY=TU,WE,TH;BYSETPOS=3", "19970904 19971007 19971106"),
    (
        "19970929T0900",
        "RRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-2",
        "19970929 19971030 19971127 19971230 19980129 19980226 19980330 ...",
    ),
    // UNTIL as corrected by RFC erratum 3883: 17:00 local time is 21:00 UTC.
    (
        "19970902T0900",
        "RRULE:FREQ=HOURLY;INTERVAL=3;UNTIL=19970902T210000Z",
        "19970902T0900 19970902T1200 19970902T1500",
    ),
    (
        "19970902T0900",
        "RRULE:FREQ=MINUTELY;INTERVAL=15;COUNT=6",
        "19970902T0900 19970902T0915 19970902T0930 19970902T0945 19970902T1000 19970902T1015",
    ),
    (
        "19970902T0900",
        "RRULE:FREQ=MINUTELY;INTERVAL=90;COUNT=4",
        "19970902T0900 19970902T1030 19970902T1200 19970902T1330",
    ),
    (
        "19970902T0900",
        "RRULE:FREQ=DAILY;BYHOUR=9,10,11,12,13,14,15,16;BYMINUTE=0,20,40",
        "19970902T0900 19970902T0920 19970902T0940 19970902T1000 19970902T1020 19970902T1040 19970902T1100 19970902T1120 19970902T1140 19970902T1200 19970902T1220 19970902T1240 19970902T1300 19970902T1320 19970902T1340 19970902T1400 19970902T1420 19970902T1440 19970902T1500 19970902T1520 19970902T1540 19970902T1600 19970902T1620 19970902T1640 19970903T0900 19970903T0920 ...",
    ),
    (
        "19970902T0900",
        "RRULE:FREQ=MINUTELY;INTERVAL=20;BYHOUR=9,10,11,12,13,14,15,16",
        "19970902T0900 19970902T0920 19970902T0940 19970902T1000 19970902T1020 19970902T1040 19970902T1100 19970902T1120 19970902T1140 19970902T1200 19970902T1220 19970902T1240 19970902T1300 19970902T1320 19970902T1340 19970902T1400 19970902T1420 19970902T1440 19970902T1500 19970902T1520 19970902T1540 19970902T1600 19970902T1620 19970902T1640 19970903T0900 19970903T0920 ...",
    ),
    (
        "19970805T0900",
        "RRULE:FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=MO",
        "19970805 19970810 19970819 19970824",
    ),
    (
        "19970805T0900",
        "RRULE:FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=SU",
        "19970805 19970817 19970819 19970831",
    ),
    ("20070115T0900", "RRULE:FREQ=MONTHLY;BYMONTHDAY=15,30;COUNT=5", "20070115 20070130 20070215 20070315 20070330"),
    // Section 3.3.10.
    (
        "19970105T0830",
        "RRULE:FREQ=YEARLY;INTERVAL=2;BYMONTH=1;BYDAY=SU;BYHOUR=8,9;BYMINUTE=30",
        "19970105T0830 19970105T0930 19970112T0830 19970112T0930 19970119T0830 19970119T0930 19970126T0830 19970126T0930 19990103T0830 19990103T0930 ...",
    ),
    (
        "19970902T0900",
        "RRULE:FREQ=DAILY;COUNT=10;INTERVAL=2",
        "19970902 19970904 19970906 19970908 19970910 19970912 19970914 19970916 19970918 19970920",
    ),
    (
        "19970930T0900",
        "RRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1",
        "19970930 19971031 19971128 19971231 19980130 19980227 ...",
    ),
    // Section 3.6.1: an anniversary.
    ("19971102", "RRULE:FREQ=YEARLY", "19971102 19981102 19991102 20001102 ..."),
    // Section 3.6.5: when the clocks change in New York, as dates.
    (
        "19670430",
        "RRULE:FREQ=YEARLY;BYMONTH=4;BYDAY=-1SU;UNTIL=19730429T070000Z",
        "19670430 19680428 19690427 19700426 19710425 19720430 19730429",
    ),
    (
        "19671029",
        "RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU;UNTIL=20061029T060000Z",
        "19671029 19681027 19691026 19701025 ...",
    ),
    ("19740106", "RDATE;VALUE=DATE:19750223", "19740106 19750223"),
    (
        "19760425",
        "RRULE:FREQ=YEARLY;BYMONTH=4;BYDAY=-1SU;UNTIL=19860427T070000Z",
        "19760425 19770424 19780430 19790429 19800427 19810426 19820425 19830424 19840429 19850428 19860427",
    ),
    (
        "19870405",
        "RRULE:FREQ=YEARLY;BYMONTH=4;BYDAY=1SU;UNTIL=20060402T070000Z",
        "19870405 19880403 19890402 19900401 ...",
    ),
    ("20070311", "RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=2SU", "20070311 20080309 20090308 20100314 20110313 ..."),
    ("20071104", "RRULE:FREQ=YEARLY;BYMONTH=11;BYDAY=1SU", "20071104 20081102 20091101 20101107 20111106 ..."),
    // RFC 7529, section 1: what does not exist is passed over.
    ("20160229", "RRULE:FREQ=YEARLY", "20160229 20200229 20240229 ..."),
    ("20140131T0900", "RRULE:FREQ=MONTHLY;COUNT=4", "20140131 20140331 20140531 20140731"),
    // Any calendar.
    ("19960229T0900", "RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=-1", "19960229 19970228 19980228 19990228 20000229 ..."),
    ("19971231T0900", "RRULE:FREQ=YEARLY;BYYEARDAY=-1", "19971231 19981231 19991231 20001231 ..."),
    ("20260330T0900", "RRULE:FREQ=MONTHLY;BYDAY=5MO", "20260330 20260629 20260831 20261130 ..."),
    ("20261231T0900", "RRULE:FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;COUNT=4", "20261231 20270101 20270104 20270105"),
    ("19970526T0900", "RRULE:FREQ=YEARLY;BYMONTH=5;BYDAY=-1MO", "19970526 19980525 19990531 ..."),
    ("20260113T1800", "RRULE:FREQ=MONTHLY;BYDAY=2TU", "20260113 20260210 20260310 20260414 20260512 ..."),
    ("20260106T0900", "RRULE:FREQ=DAILY;BYDAY=TU;COUNT=3", "20260106 20260113 20260120"),
    ("20260101", "RRULE:FREQ=DAILY;BYMONTHDAY=1;UNTIL=20260401", "20260101 20260201 20260301 20260401"),
    ("20260302T0900", "EXDATE;VALUE=DATE:20260304\r\nRRULE:FREQ=DAILY;COUNT=4", "20260302 20260303 20260305"),
    (
        "20260302T0900",
        "RDATE;TZID=America/New_York:20260310T110000\r\nRRULE:FREQ=DAILY;COUNT=2",
        "20260302 20260303 20260310T1100",
    ),
    ("20260302T0900", "RRULE:FREQ=WEEKLY;COUNT=2\r\nRRULE:FREQ=MONTHLY;COUNT=2", "20260302 20260309 20260402"),
];

#[test]
fn rules_yield_the_dates_that_the_standard_gives() {
    assert!(VECTORS.len() >= 60, "{}", VECTORS.len());
    for (start, lines, dates) in VECTORS {
        let series = series("America/New_York", start, lines);
        let (wanted, goes_on) = expected(dates, start);
        let last: Date = wanted.last().unwrap()[..8].parse().unwrap();
        // Of an open series up to the last date given; of a closed one everything.
        let end = if goes_on { last.tomorrow().unwrap() } else { date(2100, 1, 1) };
        let zone = TimeZone::get("America/New_York").unwrap();
        let until = zone.to_timestamp(end.at(0, 0, 0, 0)).unwrap();
        let found: Vec<String> = occurrences(
            &series,
            Timestamp::UNIX_EPOCH.checked_sub(jiff::SignedDuration::from_hours(1_000_000)).unwrap(),
            until,
            &zone,
        )
        .iter()
        .map(|event| local(&event.start))
        .collect();
        let found = if goes_on { &found[..wanted.len().min(found.len())] } else { &found[..] };
        assert_eq!(found, wanted, "{start} {lines}");
        assert_eq!(
            ends(&series, &zone).is_none(),
            lines.contains("RRULE") && !lines.contains("UNTIL") && !lines.contains("COUNT"),
            "{lines}"
        );
    }
}

/// A range in the middle yields the same dates as the whole: nothing depends on where one looks from.
#[test]
fn every_window_shows_its_part_of_the_whole() {
    let zone = TimeZone::get("America/New_York").unwrap();
    for (start, lines, _) in VECTORS.iter().filter(|(start, lines, _)| *start < "1998" && !lines.contains("MINUTE")) {
        let series = series("America/New_York", start, lines);
        let at = |day: Date| zone.to_timestamp(day.at(0, 0, 0, 0)).unwrap();
        let (from, to) = (date(1997, 1, 1), date(1999, 1, 1));
        let whole = occurrences(&series, at(from), at(to), &zone);
        let mut parts = Vec::new();
        for day in from.series(jiff::Span::new().days(73)).take_while(|day| *day < to) {
            let next = day.checked_add(jiff::Span::new().days(73)).unwrap().min(to);
            parts.extend(occurrences(&series, at(day), at(next), &zone));
        }
        let starts = |events: &[crate::domain::calendar::Event]| {
            events.iter().map(|event| local(&event.start)).collect::<Vec<_>>()
        };
        assert_eq!(starts(&parts), starts(&whole), "{start} {lines}");
    }
}

/// Daily series at awkward hours through 2026 and 2027: each date is what `when` makes of that local time.
#[test]
fn series_pass_every_clock_change_of_two_years() {
    for name in ["Europe/Berlin", "America/Santiago", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"] {
        let zone = TimeZone::get(name).unwrap();
        for clock in ["0000", "0030", "0100", "0130", "0145", "0200", "0215", "0230", "0245", "0300", "1000", "2330"] {
            let start = format!("20260101T{clock}");
            let series = series(name, &start, "RRULE:FREQ=DAILY;UNTIL=20271231T235959Z\r\nDURATION:PT30M");
            let from = date(2025, 12, 30).at(0, 0, 0, 0);
            let until = date(2028, 1, 3).at(0, 0, 0, 0);
            let at = |local: DateTime| zone.to_ambiguous_timestamp(local).compatible().unwrap();
            let found = occurrences(&series, at(from), at(until), &zone);
            assert!(found.len() >= 729, "{name} {clock}: {}", found.len());
            let first: DateTime = format!("{start}00").parse().unwrap();
            for (n, event) in found.iter().enumerate() {
                let local = first.checked_add(jiff::Span::new().days(n as i64)).unwrap();
                let wanted = when::resolve_local(local, &zone).unwrap().time;
                assert_eq!(event.start, wanted, "{name} {local}");
                let length = event.start.instant(&zone).unwrap().duration_until(event.end.instant(&zone).unwrap());
                assert_eq!(length, jiff::SignedDuration::from_mins(30), "{name} {local}");
            }
        }
    }
}

#[test]
fn until_is_written_in_the_form_of_the_start() {
    let timed = when::resolve("2026-03-10T13:00", &TimeZone::get("Europe/Berlin").unwrap()).unwrap().time;
    let day = EventTime::Date { date: "2026-03-10".into() };
    for (rule, start, wanted) in [
        ("FREQ=DAILY;UNTIL=20260401", &timed, "FREQ=DAILY;UNTIL=20260401T215959Z"),
        ("FREQ=DAILY;UNTIL=20260401T130000", &timed, "FREQ=DAILY;UNTIL=20260401T110000Z"),
        ("FREQ=DAILY;UNTIL=20260401T110000Z", &timed, "FREQ=DAILY;UNTIL=20260401T110000Z"),
        ("FREQ=DAILY;UNTIL=20260401T110000Z", &day, "FREQ=DAILY;UNTIL=20260401"),
        ("FREQ=DAILY;COUNT=3", &day, "FREQ=DAILY;COUNT=3"),
    ] {
        assert_eq!(rule_for(rule, start), wanted);
    }
}

#[test]
fn a_rule_without_end_is_cut_and_a_broken_one_leaves_the_first_date() {
    let zone = TimeZone::UTC;
    let range = |from: &str, to: &str| (from.parse::<Timestamp>().unwrap(), to.parse::<Timestamp>().unwrap());
    let (from, to) = range("2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z");
    let busy = series("UTC", "20260101T0000", "RRULE:FREQ=SECONDLY");
    assert!(occurrences(&busy, from, to, &zone).len() <= 5_000);
    let broken = series("UTC", "20260101T0900", "RRULE:FREQ=FORTNIGHTLY");
    let found = occurrences(&broken, from, to, &zone);
    assert_eq!(found.iter().map(|event| local(&event.start)).collect::<Vec<_>>(), ["20260101T0900"]);
}
