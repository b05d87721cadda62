//! The CalDAV edge against a server that can be told to misbehave.

use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use unavez::calendar::caldav::{CalDavCalendar, Ids, Settings};
use unavez::calendar::local::LocalCalendar;
use unavez::domain::action::EventChanges;
use unavez::domain::calendar::{EventDraft, EventTime};
use unavez::domain::ports::{Calendar, CalendarError, CalendarWarning};
use unavez::domain::time::{Elapsed, Wall};
use unavez::domain::when;
use unavez::runtime::clock::{BootReading, SystemClock};

use crate::support::caldav::{CalDavServer, Elsewhere, FAMILY, Fault, SHARED, WORK};

fn account_with(server: &CalDavServer, change: impl FnOnce(&mut Settings)) -> CalDavCalendar {
    let mut settings = Settings {
        url: server.url.clone(),
        user: "ann".into(),
        password: Some("secret".to_owned().into()),
        timeout: Duration::from_millis(400),
        ..Settings::default()
    };
    change(&mut settings);
    let clock = Arc::new(SystemClock::starting(Elapsed(0), &BootReading::take()));
    CalDavCalendar::new(settings, clock, TimeZone::get("Europe/Berlin").unwrap())
}

fn account(server: &CalDavServer) -> CalDavCalendar {
    account_with(server, |_| {})
}

fn time(text: &str) -> EventTime {
    when::resolve(text, &TimeZone::get("Europe/Berlin").unwrap()).unwrap().time
}

fn wall(text: &str) -> Wall {
    text.parse::<jiff::Timestamp>().unwrap().into()
}

fn dentist() -> EventDraft {
    let start = time("2026-03-10T09:00");
    EventDraft {
        id: "k1dentist".into(),
        calendar: WORK.into(),
        title: "Dentist".into(),
        end: when::default_end(&start).unwrap(),
        start,
        location: None,
        description: None,
        guests: Vec::new(),
        recurrence: None,
        reminders: Vec::new(),
    }
}

const FOREIGN: &str = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Phone//EN\r\nBEGIN:VTIMEZONE\r\nTZID:Phone Zone\r\n\
    X-LIC-LOCATION:Europe/Berlin\r\nBEGIN:STANDARD\r\nDTSTART:19701025T030000\r\nTZOFFSETFROM:+0200\r\nTZOFFSETTO:+0100\r\n\
    END:STANDARD\r\nEND:VTIMEZONE\r\nBEGIN:VEVENT\r\nUID:phone/1@example.test\r\nDTSTART;TZID=Phone Zone:20260303T130000\r\n\
    DTEND;TZID=Phone Zone:20260303T140000\r\nRRULE:FREQ=WEEKLY;BYDAY=TU\r\nSUMMARY:Team\r\nX-PHONE-COLOUR:teal\r\n\
    END:VEVENT\r\nEND:VCALENDAR\r\n";

#[tokio::test]
async fn calendars_are_found_from_the_servers_address() {
    let server = CalDavServer::start().await;
    let account = account(&server);
    let found = account.calendars().await.unwrap();
    let listed: Vec<(&str, &str, bool, bool)> =
        found.iter().map(|info| (info.id.as_str(), info.name.as_str(), info.writable, info.is_default)).collect();
    assert_eq!(listed, [(SHARED, "Shared", false, false), (WORK, "Work", true, true), (FAMILY, "Family", true, false)]);
    for (name, href) in [("family", FAMILY), ("Work", WORK), ("/ann/calendars/family", FAMILY)] {
        assert_eq!(account.resolve(Some(name)).await.unwrap(), href);
    }
    assert!(
        matches!(account.resolve(Some("nowhere")).await, Err(CalendarError::Refused { reason }) if reason.contains("Family"))
    );
    let chosen = account_with(&server, |settings| settings.calendar = "Family".into());
    assert_eq!(chosen.resolve(None).await.unwrap(), FAMILY);
    let wrong = account_with(&server, |settings| settings.password = Some("no".to_owned().into()));
    assert!(matches!(wrong.calendars().await, Err(CalendarError::Unauthorized { .. })));
    let open = account_with(&server, |settings| settings.url = "http://dav.example.test/".into());
    assert!(matches!(open.calendars().await, Err(CalendarError::Refused { reason }) if reason.contains("https")));
}

#[tokio::test]
async fn case_b32_a_lost_answer_is_settled_by_reading_our_id() {
    for fault in
        [Fault::CutAfter, Fault::DoneThen { status: 504 }, Fault::DoneThen { status: 500 }, Fault::DoneThenSilence]
    {
        let server = CalDavServer::start().await;
        let account = account(&server);
        server.fault("PUT", fault.clone());
        let lost = account.create(&dentist()).await;
        assert!(matches!(lost, Err(CalendarError::NoAnswer { .. })), "{fault:?}: {lost:?}");
        let found = account.get(WORK, "k1dentist").await.unwrap();
        assert_eq!((found.title.as_str(), &found.start), ("Dentist", &dentist().start));
        let again = account.create(&dentist()).await;
        assert_eq!(again, Err(CalendarError::Exists { current: Box::new(found) }), "{fault:?}");
        assert_eq!(server.stored().len(), 1, "{fault:?}");
    }
}

#[tokio::test]
async fn what_did_not_leave_or_was_turned_away_may_be_tried_again() {
    let server = CalDavServer::start().await;
    let account = account(&server);
    account.calendars().await.unwrap();
    for (status, seconds) in [(503, Some(7)), (429, Some(30)), (423, None)] {
        server.fault("PUT", Fault::Status { status, retry_after: seconds });
        let waiting = seconds.map(|seconds| Duration::from_secs(seconds.into()));
        let turned_away = account.create(&dentist()).await;
        assert!(
            matches!(&turned_away, Err(CalendarError::Unavailable { retry_after, .. }) if *retry_after == waiting),
            "{status}: {turned_away:?}"
        );
    }
    for (status, wanted) in [(400, "refused"), (403, "refused"), (507, "refused"), (401, "sign-in")] {
        server.fault("PUT", Fault::Status { status, retry_after: None });
        let answer = account.create(&dentist()).await;
        let told = match &answer {
            Err(CalendarError::Refused { .. }) => "refused",
            Err(CalendarError::Unauthorized { .. }) => "sign-in",
            _other => "other",
        };
        assert_eq!(told, wanted, "{status}: {answer:?}");
    }
    // Cut before anything was done looks like cut after: no answer, and reading tells that nothing stands there.
    server.fault("PUT", Fault::CutBefore);
    assert!(matches!(account.create(&dentist()).await, Err(CalendarError::NoAnswer { .. })));
    assert!(matches!(account.get(WORK, "k1dentist").await, Err(CalendarError::NotFound { .. })));
    assert!(server.stored().is_empty());
    account.create(&dentist()).await.unwrap();
    // Nobody listens any more: nothing leaves, so nothing is unknown.
    let closed = account_with(&server, |settings| settings.url = "http://127.0.0.1:9/".into());
    assert!(matches!(closed.create(&dentist()).await, Err(CalendarError::Unavailable { .. })));
}

#[tokio::test]
async fn case_b24_an_event_that_cannot_be_read_back_at_once_is_not_written_again() {
    let server = CalDavServer::start().await;
    let account = account(&server);
    account.calendars().await.unwrap();
    server.fault("GET", Fault::Status { status: 404, retry_after: None });
    server.fault("GET", Fault::Status { status: 404, retry_after: None });
    let created = account.create(&dentist()).await.unwrap();
    assert_eq!((created.id.as_str(), created.title.as_str()), ("k1dentist", "Dentist"));
    assert_eq!(server.asked("PUT").len(), 1);
    assert_eq!(account.get(WORK, "k1dentist").await.unwrap().title, "Dentist");
}

#[tokio::test]
async fn a_server_that_ignores_our_condition_is_asked_before_each_create() {
    let server = CalDavServer::start().await;
    server.ignore_if_none_match();
    let account = account(&server);
    let first = account.create(&dentist()).await.unwrap();
    server.elsewhere(Elsewhere::Put {
        path: format!("{WORK}k1dentist.ics"),
        data: server.stored()[0].1.replace("SUMMARY:Dentist", "SUMMARY:Dentist (moved by phone)"),
    });
    let again = account.create(&dentist()).await;
    assert!(
        matches!(&again, Err(CalendarError::Exists { current }) if current.title == "Dentist (moved by phone)"),
        "{again:?}"
    );
    assert_eq!(server.asked("PUT").len(), 1, "what another program wrote was not overwritten");
    assert_eq!(account.ids(), Ids::NotKnown);
    account.delete(WORK, &first.id, None, None).await.unwrap();
    let test = account.live_test("k1livetest").await.unwrap();
    assert_eq!((test.ids, account.warnings()), (Ids::Ignored, vec![CalendarWarning::IdsIgnored]));
    assert!(server.stored().is_empty(), "the test leaves nothing behind");
    // A second program stores the same id between our look and our write: the answer shows what happened.
    let other = self::account(&server);
    other.calendars().await.unwrap();
    let theirs = Elsewhere::Put {
        path: format!("{WORK}k1dentist.ics"),
        data: FOREIGN.replace("phone/1@example.test", "k1dentist"),
    };
    server.fault("PUT", Fault::Meanwhile(theirs));
    other.create(&dentist()).await.unwrap();
    assert_eq!(other.ids(), Ids::Ignored);

    let honest = CalDavServer::start().await;
    let account = self::account(&honest);
    assert_eq!(account.live_test("k1livetest").await.unwrap().ids, Ids::Honoured);
    assert!(account.warnings().is_empty());
}

#[tokio::test]
async fn our_uid_under_another_name_or_in_another_calendar_is_found() {
    let server = CalDavServer::start().await;
    let account = account(&server);
    account.create(&dentist()).await.unwrap();
    server.elsewhere(Elsewhere::Move { from: format!("{WORK}k1dentist.ics"), to: format!("{WORK}renamed.ics") });
    let again = account.create(&dentist()).await;
    assert!(matches!(again, Err(CalendarError::Exists { .. })), "{again:?}");
    server.elsewhere(Elsewhere::Move { from: format!("{WORK}renamed.ics"), to: format!("{FAMILY}renamed.ics") });
    let found = account.get(WORK, "k1dentist").await.unwrap();
    assert_eq!((found.calendar.as_str(), found.id.as_str()), (FAMILY, "k1dentist"));
    let changes = EventChanges { title: Some("Dentist, moved".into()), ..EventChanges::default() };
    account.update(WORK, "k1dentist", None, &changes, None).await.unwrap();
    account.delete(WORK, "k1dentist", None, None).await.unwrap();
    assert!(server.stored().is_empty());
    assert_eq!(account.get(WORK, "k1dentist").await, Err(CalendarError::NotFound { id: "k1dentist".into() }));
}

#[tokio::test]
async fn a_lost_race_is_told_and_nothing_is_overwritten() {
    let server = CalDavServer::start().await;
    let account = account(&server);
    let event = account.create(&dentist()).await.unwrap();
    let path = format!("{WORK}k1dentist.ics");
    let theirs = server.stored()[0].1.replace("SUMMARY:Dentist", "SUMMARY:Dentist at ten");
    server.fault("PUT", Fault::Meanwhile(Elsewhere::Put { path: path.clone(), data: theirs }));
    let mine = EventChanges { location: Some("Main street".into()), ..EventChanges::default() };
    let lost = account.update(WORK, "k1dentist", None, &mine, Some(&event.etag)).await;
    assert!(matches!(&lost, Err(CalendarError::Changed { current }) if current.title == "Dentist at ten"), "{lost:?}");
    let stale = account.delete(WORK, "k1dentist", None, Some(&event.etag)).await;
    assert!(matches!(stale, Err(CalendarError::Changed { .. })));
    // Without a version any will do: the change is made on top of theirs.
    let theirs = server.stored()[0].1.replace("at ten", "at eleven");
    server.fault("PUT", Fault::Meanwhile(Elsewhere::Put { path: path.clone(), data: theirs }));
    let both = account.update(WORK, "k1dentist", None, &mine, None).await.unwrap();
    assert_eq!((both.title.as_str(), both.location.as_deref()), ("Dentist at eleven", Some("Main street")));
    server.fault("PUT", Fault::Meanwhile(Elsewhere::Delete { path }));
    let gone = account.update(WORK, "k1dentist", None, &mine, None).await;
    assert_eq!(gone, Err(CalendarError::NotFound { id: "k1dentist".into() }));
    assert!(server.stored().is_empty(), "a change does not bring a deleted event back");
}

#[tokio::test]
async fn what_others_wrote_is_kept_when_one_date_changes() {
    let server = CalDavServer::start().await;
    server.elsewhere(Elsewhere::Put { path: format!("{WORK}phone.ics"), data: FOREIGN.into() });
    let account = account(&server);
    let month = account.list(WORK, wall("2026-03-20T00:00:00Z"), wall("2026-04-08T00:00:00Z")).await.unwrap();
    let starts: Vec<&EventTime> = month.iter().map(|event| &event.start).collect();
    assert_eq!(starts, [&time("2026-03-24T13:00"), &time("2026-03-31T13:00"), &time("2026-04-07T13:00")]);
    let date = month[1].occurrence.clone().unwrap();
    let later = EventChanges { start: Some(time("2026-03-31T15:00")), ..EventChanges::default() };
    let moved = account.update(WORK, "phone/1@example.test", Some(&date), &later, Some(&month[1].etag)).await.unwrap();
    assert_eq!((moved.start, moved.occurrence), (time("2026-03-31T15:00"), Some(date)));
    account.delete(WORK, "phone/1@example.test", Some(&time("2026-04-07")), None).await.unwrap();
    let month = account.list(WORK, wall("2026-03-20T00:00:00Z"), wall("2026-04-15T00:00:00Z")).await.unwrap();
    let starts: Vec<&EventTime> = month.iter().map(|event| &event.start).collect();
    assert_eq!(starts, [&time("2026-03-24T13:00"), &time("2026-03-31T15:00"), &time("2026-04-14T13:00")]);
    let (path, data) = server.stored().remove(0);
    assert_eq!(path, format!("{WORK}phone.ics"));
    for kept in
        ["TZID:Phone Zone\r\n", "X-PHONE-COLOUR:teal\r\n", "RRULE:FREQ=WEEKLY;BYDAY=TU\r\n", "PRODID:-//Phone//EN\r\n"]
    {
        assert!(data.contains(kept), "{kept} is missing in\n{data}");
    }
    assert!(data.contains("RECURRENCE-ID;TZID=Europe/Berlin:20260331T130000\r\n"), "{data}");
}

#[tokio::test]
async fn changes_come_by_token_and_start_over_when_it_is_too_old() {
    let server = CalDavServer::start().await;
    let account = account(&server);
    account.create(&dentist()).await.unwrap();
    let all = account.sync(WORK, None).await.unwrap();
    assert_eq!((all.changed.len(), all.gone.len(), all.restarted), (1, 0, false));
    server.elsewhere(Elsewhere::Put { path: format!("{WORK}phone.ics"), data: FOREIGN.into() });
    server.elsewhere(Elsewhere::Delete { path: format!("{WORK}k1dentist.ics") });
    let since = account.sync(WORK, Some(&all.token)).await.unwrap();
    assert_eq!(
        since.changed.iter().map(|event| event.series.id.as_str()).collect::<Vec<_>>(),
        ["phone/1@example.test"]
    );
    assert_eq!(since.gone, [format!("{WORK}k1dentist.ics")]);
    let nothing = account.sync(WORK, Some(&since.token)).await.unwrap();
    assert_eq!((nothing.changed.len(), nothing.gone.len()), (0, 0));
    server.forget_tokens();
    let restarted = account.sync(WORK, Some(&since.token)).await.unwrap();
    assert_eq!((restarted.restarted, restarted.changed.len()), (true, 1));
}

#[tokio::test]
async fn the_local_calendar_moves_to_the_account_with_its_ids() {
    let folder = tempfile::tempdir().unwrap();
    let store = unavez::store::Store::open(
        &unavez::store::DataFolder::open(folder.path().join("data")).unwrap(),
        unavez::store::StoreMode::Inline,
    )
    .unwrap();
    let clock = Arc::new(SystemClock::starting(Elapsed(0), &BootReading::take()));
    let local = LocalCalendar::new(store, clock, TimeZone::get("Europe/Berlin").unwrap());
    local.import(FOREIGN, "local").await.unwrap();
    local.create(&EventDraft { calendar: "local".into(), ..dentist() }).await.unwrap();
    local.delete("local", "phone/1@example.test", Some(&time("2026-03-10")), None).await.unwrap();
    let server = CalDavServer::start().await;
    let account = account(&server);
    // The line breaks in the middle: what stands there is not written again.
    account.calendars().await.unwrap();
    server.fault("PUT", Fault::CutAfter);
    let broken = local.move_to("local", &account, WORK).await;
    assert!(matches!(broken, Err(CalendarError::NoAnswer { .. })), "{broken:?}");
    let moved = local.move_to("local", &account, WORK).await.unwrap();
    assert_eq!((moved.moved, moved.already_there, moved.left.len()), (1, 1, 0));
    assert_eq!(server.stored().len(), 2);
    for id in ["phone/1@example.test", "k1dentist"] {
        assert_eq!(account.get(WORK, id).await.unwrap().id, id);
        assert!(matches!(local.get("local", id).await, Err(CalendarError::NotFound { .. })));
    }
    let march = account.list(WORK, wall("2026-03-01T00:00:00Z"), wall("2026-03-20T00:00:00Z")).await.unwrap();
    let starts: Vec<&EventTime> = march.iter().map(|event| &event.start).collect();
    assert_eq!(starts, [&time("2026-03-03T13:00"), &dentist().start, &time("2026-03-17T13:00")]);
    assert!(server.stored().iter().any(|(_, data)| data.contains("X-PHONE-COLOUR:teal\r\n")));
}

#[tokio::test]
async fn a_change_is_undone_if_nobody_changed_the_event_since() {
    let server = CalDavServer::start().await;
    let account = account(&server);
    let before = account.create(&dentist()).await.unwrap();
    let changes = EventChanges {
        title: Some("Dentist, moved".into()),
        start: Some(time("2026-03-10T15:00")),
        location: Some("Main street".into()),
        ..EventChanges::default()
    };
    let after = account.update(WORK, "k1dentist", None, &changes, Some(&before.etag)).await.unwrap();
    let back = account.update(WORK, "k1dentist", None, &before.before(&changes), Some(&after.etag)).await.unwrap();
    assert_eq!(
        (back.title, back.start, back.end, back.location),
        (before.title.clone(), before.start.clone(), before.end.clone(), None)
    );
    let twice = account.update(WORK, "k1dentist", None, &before.before(&changes), Some(&after.etag)).await;
    assert!(matches!(twice, Err(CalendarError::Changed { .. })));
}
