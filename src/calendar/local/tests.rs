#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::sync::Arc;

use jiff::tz::TimeZone;

use super::LocalCalendar;
use crate::domain::action::EventChanges;
use crate::domain::calendar::{Event, EventDraft, EventTime};
use crate::domain::ports::{Calendar, CalendarError};
use crate::domain::time::{Elapsed, Wall};
use crate::domain::when;
use crate::runtime::clock::VirtualClock;
use crate::store::{DataFolder, Store, StoreMode};

struct Desk {
    calendar: LocalCalendar,
    store: Store,
    _dir: tempfile::TempDir,
}

fn desk_in(zone: &str) -> Desk {
    let dir = tempfile::tempdir().unwrap();
    let folder = DataFolder::open(dir.path().join("data")).unwrap();
    let store = Store::open(&folder, StoreMode::Inline).unwrap();
    let clock = Arc::new(VirtualClock::starting(wall("2026-03-01T08:00:00Z"), Elapsed(0)));
    let calendar = LocalCalendar::new(store.clone(), clock, TimeZone::get(zone).unwrap());
    Desk { calendar, store, _dir: dir }
}

fn desk() -> Desk {
    desk_in("Europe/Berlin")
}

fn wall(text: &str) -> Wall {
    text.parse::<jiff::Timestamp>().unwrap().into()
}

fn time(text: &str) -> EventTime {
    when::resolve(text, &TimeZone::get("Europe/Berlin").unwrap()).unwrap().time
}

fn draft(id: &str, title: &str, start: &str) -> EventDraft {
    let start = time(start);
    EventDraft {
        id: id.into(),
        calendar: "local".into(),
        title: title.into(),
        end: when::default_end(&start).unwrap(),
        start,
        location: None,
        description: None,
        guests: Vec::new(),
        recurrence: None,
        reminders: Vec::new(),
    }
}

async fn listed(desk: &Desk, from: &str, to: &str) -> Vec<Event> {
    desk.calendar.list("local", wall(from), wall(to)).await.unwrap()
}

fn starts(events: &[Event]) -> Vec<String> {
    events
        .iter()
        .map(|event| match &event.start {
            EventTime::Date { date } => date.clone(),
            EventTime::Timed { at, .. } => at.clone(),
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn case_b32_a_second_create_with_our_id_finds_the_first() {
    let desk = desk();
    let first = desk.calendar.create(&draft("k1abc", "Dentist", "2026-03-10T09:00")).await.unwrap();
    assert_eq!((first.id.as_str(), first.etag.as_str()), ("k1abc", "1"));
    let again = desk.calendar.create(&draft("k1abc", "Dentist", "2026-03-10T09:00")).await;
    assert_eq!(again, Err(CalendarError::Exists { current: Box::new(first.clone()) }));
    assert_eq!(listed(&desk, "2026-03-01T00:00:00Z", "2026-04-01T00:00:00Z").await, [first]);
}

#[tokio::test(start_paused = true)]
async fn case_b15_after_a_delete_the_same_event_can_be_created_again() {
    let desk = desk();
    desk.calendar.create(&draft("k1abc", "Dentist", "2026-03-10T09:00")).await.unwrap();
    desk.calendar.delete("local", "k1abc", None, Some("1")).await.unwrap();
    assert_eq!(desk.calendar.get("local", "k1abc").await, Err(CalendarError::NotFound { id: "k1abc".into() }));
    let gone = desk.calendar.delete("local", "k1abc", None, None).await;
    assert_eq!(gone, Err(CalendarError::NotFound { id: "k1abc".into() }));
    desk.calendar.create(&draft("k2abc", "Dentist", "2026-03-10T09:00")).await.unwrap();
    assert_eq!(listed(&desk, "2026-03-01T00:00:00Z", "2026-04-01T00:00:00Z").await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn case_b16_the_same_event_in_two_calendars_is_two_events() {
    let desk = desk();
    for (id, name) in [("k1work", "work"), ("k1family", "Family")] {
        let calendar = desk.calendar.resolve(Some(name)).await.unwrap();
        desk.calendar.create(&EventDraft { calendar, ..draft(id, "Dinner", "2026-03-10T20:00") }).await.unwrap();
    }
    assert_eq!(desk.calendar.resolve(Some("family")).await.unwrap(), "Family", "found in any case");
    assert_eq!(desk.calendar.resolve(None).await.unwrap(), "local");
    let names: Vec<String> = desk.calendar.calendars().await.unwrap().into_iter().map(|info| info.id).collect();
    assert_eq!(names, ["local", "Family", "work"]);
    for name in ["work", "Family"] {
        let events = desk.calendar.list(name, wall("2026-03-10T00:00:00Z"), wall("2026-03-11T00:00:00Z")).await;
        assert_eq!(events.unwrap().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_needs_the_version_it_was_decided_on() {
    let desk = desk();
    desk.calendar.create(&draft("k1abc", "Dentist", "2026-03-10T09:00")).await.unwrap();
    let changes = EventChanges { start: Some(time("2026-03-10T15:00")), ..EventChanges::default() };
    let moved = desk.calendar.update("local", "k1abc", None, &changes, Some("1")).await.unwrap();
    assert_eq!((&moved.start, &moved.end), (&time("2026-03-10T15:00"), &time("2026-03-10T16:00")), "the length stays");
    assert_eq!(moved.etag, "2");
    let stale = desk.calendar.update("local", "k1abc", None, &changes, Some("1")).await;
    assert_eq!(stale, Err(CalendarError::Changed { current: Box::new(moved.clone()) }));
    let stale = desk.calendar.delete("local", "k1abc", None, Some("1")).await;
    assert_eq!(stale, Err(CalendarError::Changed { current: Box::new(moved) }));
    let texts = EventChanges {
        location: Some("Room; 2, left\nfloor".into()),
        guests: Some(vec!["Zoë <zoe@example.test>".into(), "b@example.test".into()]),
        reminders: Some(vec![30, 0]),
        ..EventChanges::default()
    };
    let full = desk.calendar.update("local", "k1abc", None, &texts, None).await.unwrap();
    assert_eq!(full.location.as_deref(), Some("Room; 2, left\nfloor"));
    assert_eq!(full.guests, ["zoe@example.test", "b@example.test"]);
    assert_eq!(full.reminders, [30, 0]);
    let cleared = EventChanges { location: Some(String::new()), guests: Some(Vec::new()), ..EventChanges::default() };
    let cleared = desk.calendar.update("local", "k1abc", None, &cleared, None).await.unwrap();
    assert_eq!((cleared.location, cleared.guests), (None, Vec::new()));
    let backwards = EventChanges { end: Some(time("2026-03-10T14:00")), ..EventChanges::default() };
    let refused = desk.calendar.update("local", "k1abc", None, &backwards, None).await;
    assert!(matches!(refused, Err(CalendarError::Refused { .. })));
}

#[tokio::test(start_paused = true)]
async fn case_b35_a_series_keeps_its_local_time_over_the_clock_change() {
    let desk = desk();
    let series =
        EventDraft { recurrence: Some("FREQ=WEEKLY;BYDAY=TU".into()), ..draft("k1tue", "Team", "2026-03-24T13:00") };
    desk.calendar.create(&series).await.unwrap();
    let events = listed(&desk, "2026-03-20T00:00:00Z", "2026-04-10T00:00:00Z").await;
    assert_eq!(
        starts(&events),
        ["2026-03-24T13:00:00+01:00", "2026-03-31T13:00:00+02:00", "2026-04-07T13:00:00+02:00"]
    );
    let instants: Vec<String> = events.iter().map(|event| when::key(&event.start)).collect();
    assert_eq!(instants[..2], ["instant:2026-03-24T12:00Z", "instant:2026-03-31T11:00Z"]);
    let file = desk.calendar.export(None).await.unwrap();
    assert!(file.contains("DTSTART;TZID=Europe/Berlin:20260324T130000\r\n"), "{file}");
    assert!(file.contains("BEGIN:VTIMEZONE\r\nTZID:Europe/Berlin\r\n"), "{file}");
}

#[tokio::test(start_paused = true)]
async fn case_b33_an_all_day_event_stays_on_its_day_in_every_zone() {
    for zone in ["America/Denver", "Europe/Copenhagen", "Pacific/Kiritimati", "Pacific/Pago_Pago"] {
        let desk = desk_in(zone);
        desk.calendar.create(&draft("k1day", "Holiday", "2026-05-05")).await.unwrap();
        let home = TimeZone::get(zone).unwrap();
        let day = |date: &str| -> Wall {
            let date: jiff::civil::Date = date.parse().unwrap();
            home.to_timestamp(date.at(0, 0, 0, 0)).unwrap().into()
        };
        let on = |from: &str, to: &str| (day(from), day(to));
        for ((from, to), wanted) in [
            (on("2026-05-04", "2026-05-05"), 0),
            (on("2026-05-05", "2026-05-06"), 1),
            (on("2026-05-06", "2026-05-07"), 0),
        ] {
            let events = desk.calendar.list("local", from, to).await.unwrap();
            assert_eq!(events.len(), wanted, "{zone}");
            assert!(events.iter().all(|event| event.start == EventTime::Date { date: "2026-05-05".into() }));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn one_date_of_a_series_can_be_changed_and_taken_out() {
    let desk = desk();
    let series =
        EventDraft { recurrence: Some("FREQ=DAILY;COUNT=5".into()), ..draft("k1gym", "Gym", "2026-03-27T18:00") };
    desk.calendar.create(&series).await.unwrap();
    let later = EventChanges { start: Some(time("2026-03-28T20:00")), ..EventChanges::default() };
    let date = time("2026-03-28T18:00");
    let moved = desk.calendar.update("local", "k1gym", Some(&date), &later, Some("1")).await.unwrap();
    assert_eq!((moved.occurrence, moved.start), (Some(date.clone()), time("2026-03-28T20:00")));
    // The day alone names the date, and so does where it was moved to.
    desk.calendar.delete("local", "k1gym", Some(&time("2026-03-29")), None).await.unwrap();
    let events = listed(&desk, "2026-03-01T00:00:00Z", "2026-05-01T00:00:00Z").await;
    assert_eq!(
        starts(&events),
        [
            "2026-03-27T18:00:00+01:00",
            "2026-03-28T20:00:00+01:00",
            "2026-03-30T18:00:00+02:00",
            "2026-03-31T18:00:00+02:00"
        ]
    );
    desk.calendar.delete("local", "k1gym", Some(&time("2026-03-28T20:00")), None).await.unwrap();
    assert_eq!(listed(&desk, "2026-03-01T00:00:00Z", "2026-05-01T00:00:00Z").await.len(), 3);
    let nothing = desk.calendar.delete("local", "k1gym", Some(&time("2026-04-20T18:00")), None).await;
    assert_eq!(nothing, Err(CalendarError::NotFound { id: "k1gym".into() }));
    // The whole series an hour later: what was taken out stays out.
    let hour = EventChanges { start: Some(time("2026-03-27T19:00")), ..EventChanges::default() };
    desk.calendar.update("local", "k1gym", None, &hour, None).await.unwrap();
    let events = listed(&desk, "2026-03-01T00:00:00Z", "2026-05-01T00:00:00Z").await;
    assert_eq!(
        starts(&events),
        ["2026-03-27T19:00:00+01:00", "2026-03-30T19:00:00+02:00", "2026-03-31T19:00:00+02:00"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_file_goes_in_and_out_whole() {
    let desk = desk();
    let file = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Other//EN\r\nX-WR-CALNAME:Home\r\n\
        BEGIN:VTIMEZONE\r\nTZID:Custom/Berlin\r\nX-LIC-LOCATION:Europe/Berlin\r\nBEGIN:STANDARD\r\n\
        DTSTART:19701025T030000\r\nTZOFFSETFROM:+0200\r\nTZOFFSETTO:+0100\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\n\
        BEGIN:VEVENT\r\nUID:one@example.test\r\nDTSTAMP:20260101T000000Z\r\nDTSTART;TZID=Custom/Berlin:20260310T090000\r\n\
        DURATION:PT45M\r\nSUMMARY:A very long title that has to be folded because it does not fit on \r\n one line\\, \
        truly\r\nX-COLOUR;X-SHADE=\"a:b\":teal\r\nATTENDEE;CN=\"Doe, Jane\":mailto:jane@example.test\r\nEND:VEVENT\r\n\
        BEGIN:VEVENT\r\nUID:two@example.test\r\nDTSTART;VALUE=DATE:20260310\r\nSUMMARY:Two\r\nEND:VEVENT\r\n\
        BEGIN:VEVENT\r\nUID:broken@example.test\r\nSUMMARY:No start\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";
    let report = desk.calendar.import(file, "local").await.unwrap();
    assert_eq!((report.added, report.already_there, report.unreadable), (2, 0, 1));
    let again = desk.calendar.import(file, "local").await.unwrap();
    assert_eq!((again.added, again.already_there), (0, 2));
    let one = desk.calendar.get("local", "one@example.test").await.unwrap();
    assert_eq!(one.title, "A very long title that has to be folded because it does not fit on one line, truly");
    assert_eq!(one.end, time("2026-03-10T09:45"));
    assert_eq!(one.guests, ["jane@example.test"]);
    let changes = EventChanges { title: Some("Short".into()), ..EventChanges::default() };
    desk.calendar.update("local", "one@example.test", None, &changes, None).await.unwrap();
    let out = desk.calendar.export(Some("local")).await.unwrap();
    for kept in [
        "X-COLOUR;X-SHADE=\"a:b\":teal\r\n",
        "TZID:Custom/Berlin\r\n",
        "DTSTART;TZID=Custom/Berlin:20260310T090000\r\n",
        "DURATION:PT45M\r\n",
        "ATTENDEE;CN=\"Doe, Jane\":mailto:jane@example.test\r\n",
        "SUMMARY:Short\r\n",
    ] {
        assert!(out.contains(kept), "{kept} is missing in\n{out}");
    }
    let other = self::desk();
    assert_eq!(other.calendar.import(&out, "local").await.unwrap().added, 2);
    assert!(other.calendar.import("no calendar", "local").await.is_err());
}

#[tokio::test(start_paused = true)]
async fn only_months_with_dates_are_read_from_a_full_calendar() {
    let desk = desk();
    let mut file = String::from("BEGIN:VCALENDAR\r\nVERSION:2.0\r\n");
    for n in 0..2_000 {
        let day = jiff::civil::date(2020, 1, 1)
            .checked_add(jiff::Span::new().days(n))
            .unwrap()
            .strftime("%Y%m%d")
            .to_string();
        let rule = if n % 200 == 0 { "RRULE:FREQ=WEEKLY\r\n" } else { "" };
        file.push_str(&format!(
            "BEGIN:VEVENT\r\nUID:e{n}\r\nDTSTART;TZID=Europe/Berlin:{day}T100000\r\nDTEND;TZID=Europe/Berlin:{day}T110000\r\nSUMMARY:Event {n}\r\n{rule}END:VEVENT\r\n"
        ));
    }
    file.push_str("END:VCALENDAR\r\n");
    assert_eq!(desk.calendar.import(&file, "local").await.unwrap().added, 2_000);
    let (from, to) = (wall("2024-05-01T00:00:00Z"), wall("2024-06-01T00:00:00Z"));
    let rows = desk.store.read(move |connection| super::rows::in_range(connection, "local", from, to)).await.unwrap();
    let singles = rows.iter().filter(|row| !row.ics.contains("RRULE")).count();
    assert_eq!((singles, rows.len() - singles), (30, 9), "of 2,000 events the month and the open series are read");
    let events = listed(&desk, "2024-05-01T00:00:00Z", "2024-06-01T00:00:00Z").await;
    let of_series = events.iter().filter(|event| event.occurrence.is_some()).count();
    assert_eq!((events.len() - of_series, of_series > 30), (30, true));
    assert!(
        events.windows(2).all(|pair| pair[0].start.instant(&TimeZone::UTC) <= pair[1].start.instant(&TimeZone::UTC))
    );
}
