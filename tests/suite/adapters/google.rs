//! The Google Calendar edge against a server that can be told to misbehave.

use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use serde_json::json;
use unavez::calendar::google::{GoogleCalendar, SendUpdates, Settings};
use unavez::calendar::local::LocalCalendar;
use unavez::domain::action::EventChanges;
use unavez::domain::calendar::{EventDraft, EventTime};
use unavez::domain::ports::{Calendar, CalendarError, Secrets};
use unavez::domain::time::{Elapsed, Wall};
use unavez::domain::when;
use unavez::runtime::clock::{BootReading, SystemClock};
use unavez::runtime::oauth::{OAuthClient, OAuthSecrets, OAuthSettings};
use unavez::runtime::secrets::MemorySecrets;

use crate::support::google::{Fault, GoogleServer};

async fn account_with(server: &GoogleServer, change: impl FnOnce(&mut Settings)) -> GoogleCalendar {
    let clock = Arc::new(SystemClock::starting(Elapsed(0), &BootReading::take()));
    let secrets = Arc::new(MemorySecrets::default());
    secrets.set("refresh", "lasting".to_owned().into()).await.unwrap();
    let oauth = OAuthSettings {
        auth_url: server.url.clone(),
        token_url: server.url.clone(),
        client_id: "desktop".into(),
        scopes: Vec::new(),
    };
    let names = OAuthSecrets { client_secret: "secret".into(), refresh_token: "refresh".into() };
    let oauth = Arc::new(OAuthClient::new(oauth, secrets, names, clock).unwrap());
    let mut settings =
        Settings { api_url: server.url.clone(), timeout: Duration::from_millis(800), ..Settings::default() };
    change(&mut settings);
    GoogleCalendar::new(settings, oauth, TimeZone::get("Europe/Berlin").unwrap()).unwrap()
}

async fn account(server: &GoogleServer) -> GoogleCalendar {
    account_with(server, |_| {}).await
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
        calendar: "primary".into(),
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

#[tokio::test]
async fn case_b32_a_lost_answer_is_settled_by_reading_our_id() {
    for fault in [Fault::CutAfter, Fault::DoneThen(503), Fault::DoneThen(504)] {
        let server = GoogleServer::start().await;
        let account = account(&server).await;
        server.fault("insert", fault.clone());
        let lost = account.create(&dentist()).await;
        assert!(matches!(lost, Err(CalendarError::NoAnswer { .. })), "{fault:?}: {lost:?}");
        let found = account.get("primary", "k1dentist").await.unwrap();
        assert_eq!((found.title.as_str(), &found.start), ("Dentist", &dentist().start));
        // The retry is refused as a duplicate; that is read, and no error for a person.
        let again = account.create(&dentist()).await;
        assert_eq!(again, Err(CalendarError::Exists { current: Box::new(found) }), "{fault:?}");
        assert_eq!((server.standing().len(), server.asked("insert").len()), (1, 2));
    }
    let server = GoogleServer::start().await;
    let account = account(&server).await;
    server.fault("insert", Fault::CutBefore);
    assert!(matches!(account.create(&dentist()).await, Err(CalendarError::NoAnswer { .. })));
    assert_eq!(account.get("primary", "k1dentist").await, Err(CalendarError::NotFound { id: "k1dentist".into() }));
    account.create(&dentist()).await.unwrap();
    assert_eq!(server.standing().len(), 1);
}

#[tokio::test]
async fn a_cancelled_event_is_not_a_done_one() {
    let server = GoogleServer::start().await;
    let account = account(&server).await;
    let created = account.create(&dentist()).await.unwrap();
    account.delete("primary", "k1dentist", None, Some(&created.etag)).await.unwrap();
    let again = account.create(&dentist()).await;
    assert!(matches!(&again, Err(CalendarError::Exists { current }) if current.cancelled), "{again:?}");
    assert!(account.get("primary", "k1dentist").await.unwrap().cancelled);
    let twice = account.delete("primary", "k1dentist", None, None).await;
    assert_eq!(twice, Err(CalendarError::NotFound { id: "k1dentist".into() }));
}

#[tokio::test]
async fn case_b24_nothing_is_inserted_again_because_a_read_misses_it() {
    let server = GoogleServer::start().await;
    let account = account(&server).await;
    account.create(&dentist()).await.unwrap();
    server.fault("get", Fault::Refuse(404, "notFound", None));
    server.fault("get", Fault::Refuse(404, "notFound", None));
    assert!(matches!(account.get("primary", "k1dentist").await, Err(CalendarError::NotFound { .. })));
    assert_eq!(account.get("primary", "k1dentist").await.unwrap().title, "Dentist");
    assert_eq!(server.asked("insert").len(), 1);
}

#[tokio::test]
async fn sign_in_is_renewed_once_and_a_revoked_one_is_told() {
    let server = GoogleServer::start().await;
    let account = account(&server).await;
    account.create(&dentist()).await.unwrap();
    server.expire_tokens();
    let changes = EventChanges { title: Some("Dentist, again".into()), ..EventChanges::default() };
    account.update("primary", "k1dentist", None, &changes, None).await.unwrap();
    assert_eq!(server.asked("token").len(), 2);
    server.revoke();
    let refused = account.get("primary", "k1dentist").await;
    assert!(
        matches!(&refused, Err(CalendarError::Unauthorized { reason }) if reason.contains("revoked")),
        "{refused:?}"
    );
    let refused = account.create(&dentist()).await;
    assert!(matches!(refused, Err(CalendarError::Unauthorized { .. })), "{refused:?}");
}

#[tokio::test]
async fn limits_wait_and_refusals_do_not() {
    let server = GoogleServer::start().await;
    let account = account(&server).await;
    let minute = Some(Duration::from_secs(60));
    for (status, reason, header, wait) in [
        (403, "rateLimitExceeded", None, minute),
        (403, "userRateLimitExceeded", Some(5), Some(Duration::from_secs(5))),
        (429, "rateLimitExceeded", None, minute),
        (403, "quotaExceeded", None, Some(Duration::from_secs(3_600))),
    ] {
        server.fault("insert", Fault::Refuse(status, reason, header));
        let answer = account.create(&dentist()).await;
        assert!(
            matches!(&answer, Err(CalendarError::Unavailable { retry_after, .. }) if *retry_after == wait),
            "{reason}: {answer:?}"
        );
    }
    for (status, reason) in [(403, "forbiddenForNonOrganizer"), (400, "invalid"), (403, "accessNotConfigured")] {
        server.fault("insert", Fault::Refuse(status, reason, None));
        assert!(matches!(account.create(&dentist()).await, Err(CalendarError::Refused { .. })), "{reason}");
    }
    server.fault("insert", Fault::Refuse(403, "insufficientPermissions", None));
    assert!(matches!(account.create(&dentist()).await, Err(CalendarError::Unauthorized { .. })));
    assert!(server.standing().is_empty());
}

#[tokio::test]
async fn a_lost_race_is_told_and_nothing_is_overwritten() {
    let server = GoogleServer::start().await;
    let account = account(&server).await;
    let event = account.create(&dentist()).await.unwrap();
    let mine = EventChanges { location: Some("Main street".into()), ..EventChanges::default() };
    let theirs = |title: &str| Fault::Meanwhile { id: "k1dentist".into(), title: title.into() };
    server.fault("patch", theirs("At ten"));
    let lost = account.update("primary", "k1dentist", None, &mine, Some(&event.etag)).await;
    assert!(matches!(&lost, Err(CalendarError::Changed { current }) if current.title == "At ten"), "{lost:?}");
    server.fault("delete", theirs("At eleven"));
    let lost = account.delete("primary", "k1dentist", None, None).await;
    assert_eq!(lost, Ok(()), "without a version any will do");
    let other = account.create(&EventDraft { id: "k2dentist".into(), ..dentist() }).await.unwrap();
    server.fault("patch", Fault::Meanwhile { id: "k2dentist".into(), title: "At noon".into() });
    let both = account.update("primary", "k2dentist", None, &mine, None).await.unwrap();
    assert_eq!((both.title.as_str(), both.location.as_deref()), ("At noon", Some("Main street")));
    assert_ne!(both.etag, other.etag);
}

#[tokio::test]
async fn guests_keep_their_answers_and_are_told_as_chosen() {
    let server = GoogleServer::start().await;
    let account = account_with(&server, |settings| settings.send_updates = SendUpdates::ExternalOnly).await;
    let draft = EventDraft { guests: vec!["Zoë <zoe@example.test>".into()], reminders: vec![10], ..dentist() };
    let created = account.create(&draft).await.unwrap();
    assert_eq!((created.guests, created.reminders), (vec!["zoe@example.test".to_owned()], vec![10]));
    assert!(server.asked("insert")[0].path.contains("sendUpdates=externalOnly"));
    let mut answered = server.standing().remove(0);
    answered["attendees"][0]["responseStatus"] = json!("accepted");
    server.put("primary", answered);
    let guests = EventChanges {
        guests: Some(vec!["ZOE@example.test".into(), "b@example.test".into()]),
        ..EventChanges::default()
    };
    account.update("primary", "k1dentist", None, &guests, None).await.unwrap();
    let stored = server.standing().remove(0);
    assert_eq!(stored["attendees"][0]["responseStatus"], "accepted");
    assert_eq!(stored["attendees"][1], json!({ "email": "b@example.test" }));
}

#[tokio::test]
async fn case_b33_forms_change_without_a_rest_of_the_old() {
    let server = GoogleServer::start().await;
    let account = account(&server).await;
    account.create(&dentist()).await.unwrap();
    let day = EventChanges { start: Some(time("2026-05-05")), ..EventChanges::default() };
    let all_day = account.update("primary", "k1dentist", None, &day, None).await.unwrap();
    assert_eq!((&all_day.start, &all_day.end), (&time("2026-05-05"), &time("2026-05-06")));
    let stored = server.standing().remove(0);
    assert_eq!(stored["start"], json!({ "date": "2026-05-05" }));
    let timed = EventChanges { start: Some(time("2026-05-05T10:00")), ..EventChanges::default() };
    let timed = account.update("primary", "k1dentist", None, &timed, None).await.unwrap();
    assert_eq!((&timed.start, &timed.end), (&time("2026-05-05T10:00"), &time("2026-05-05T11:00")));
}

#[tokio::test]
async fn case_b35_a_series_keeps_its_local_time_and_each_date_can_change() {
    let server = GoogleServer::start().await;
    let account = account(&server).await;
    let start = time("2026-03-24T13:00");
    let series = EventDraft {
        id: "k1team".into(),
        title: "Team".into(),
        end: when::default_end(&start).unwrap(),
        start,
        recurrence: Some("FREQ=WEEKLY;BYDAY=TU".into()),
        ..dentist()
    };
    let created = account.create(&series).await.unwrap();
    assert_eq!(created.recurrence.as_deref(), Some("FREQ=WEEKLY;BYDAY=TU"));
    let (from, to) = (wall("2026-03-20T00:00:00Z"), wall("2026-04-12T00:00:00Z"));
    let dates = account.list("primary", from, to).await.unwrap();
    let starts: Vec<&EventTime> = dates.iter().map(|event| &event.start).collect();
    let tuesdays = ["2026-03-24T13:00", "2026-03-31T13:00", "2026-04-07T13:00"].map(time);
    assert_eq!(starts, tuesdays.iter().collect::<Vec<_>>());
    assert!(dates.iter().all(|event| event.id == "k1team" && event.recurrence == created.recurrence));
    let later = EventChanges { start: Some(time("2026-03-31T16:00")), ..EventChanges::default() };
    let moved = account.update("primary", "k1team", Some(&tuesdays[1]), &later, Some(&created.etag)).await.unwrap();
    assert_eq!((&moved.start, moved.occurrence.as_ref()), (&time("2026-03-31T16:00"), Some(&tuesdays[1])));
    // By the day alone, and by where it was moved to.
    account.delete("primary", "k1team", Some(&time("2026-04-07")), None).await.unwrap();
    let again = EventChanges { start: Some(time("2026-03-31T17:00")), ..EventChanges::default() };
    account.update("primary", "k1team", Some(&time("2026-03-31T16:00")), &again, None).await.unwrap();
    let dates = account.list("primary", from, to).await.unwrap();
    let starts: Vec<&EventTime> = dates.iter().map(|event| &event.start).collect();
    assert_eq!(starts, [&time("2026-03-24T13:00"), &time("2026-03-31T17:00")]);
    let stale = account.update("primary", "k1team", Some(&tuesdays[1]), &later, Some("\"old\"")).await;
    assert!(matches!(stale, Err(CalendarError::Changed { .. })), "{stale:?}");
    let none = account.delete("primary", "k1team", Some(&time("2026-04-01T13:00")), None).await;
    assert_eq!(none, Err(CalendarError::NotFound { id: "k1team".into() }));
}

#[tokio::test]
async fn calendars_have_one_name_each_and_a_moved_event_is_found() {
    let server = GoogleServer::start().await;
    let account = account(&server).await;
    let found = account.calendars().await.unwrap();
    let listed: Vec<(&str, bool, bool)> =
        found.iter().map(|info| (info.id.as_str(), info.writable, info.is_default)).collect();
    assert_eq!(
        listed,
        [
            ("primary", true, true),
            ("family@group.calendar.google.com", true, false),
            ("holidays@group.v.calendar.google.com", false, false)
        ]
    );
    for name in ["primary", "ann@example.test", "Ann"] {
        assert_eq!(account.resolve(Some(name)).await.unwrap(), "primary", "{name}");
    }
    let family = account.resolve(Some("family")).await.unwrap();
    assert!(matches!(account.resolve(Some("work")).await, Err(CalendarError::Refused { .. })));
    account.create(&dentist()).await.unwrap();
    server.move_event("k1dentist", "primary", &family);
    let found = account.get("primary", "k1dentist").await.unwrap();
    assert_eq!((found.calendar.as_str(), found.cancelled), (family.as_str(), false));
    account.delete("primary", "k1dentist", None, Some(&found.etag)).await.unwrap();
    assert!(server.standing().is_empty());
}

#[tokio::test]
async fn changes_come_by_token_and_start_over_when_it_is_too_old() {
    let server = GoogleServer::start().await;
    let account = account(&server).await;
    for n in 0..5 {
        account.create(&EventDraft { id: format!("k1man{n}"), ..dentist() }).await.unwrap();
    }
    let all = account.sync("primary", None).await.unwrap();
    assert_eq!((all.changed.len(), all.gone.len(), all.restarted), (5, 0, false), "over two pages");
    account.delete("primary", "k1man3", None, None).await.unwrap();
    let since = account.sync("primary", all.token.as_deref()).await.unwrap();
    assert_eq!((since.changed.len(), since.gone.as_slice()), (0, ["k1man3".to_owned()].as_slice()));
    server.forget_tokens();
    let restarted = account.sync("primary", since.token.as_deref()).await.unwrap();
    assert_eq!((restarted.restarted, restarted.changed.len()), (true, 4));
}

#[tokio::test]
async fn the_local_calendar_moves_to_google_with_its_ids() {
    let folder = tempfile::tempdir().unwrap();
    let data = unavez::store::DataFolder::open(folder.path().join("data")).unwrap();
    let store = unavez::store::Store::open(&data, unavez::store::StoreMode::Inline).unwrap();
    let clock = Arc::new(SystemClock::starting(Elapsed(0), &BootReading::take()));
    let local = LocalCalendar::new(store, clock, TimeZone::get("Europe/Berlin").unwrap());
    let start = time("2026-03-24T13:00");
    let series = EventDraft {
        id: "k1team".into(),
        calendar: "local".into(),
        end: when::default_end(&start).unwrap(),
        start,
        recurrence: Some("FREQ=WEEKLY;BYDAY=TU".into()),
        ..dentist()
    };
    local.create(&series).await.unwrap();
    local.delete("local", "k1team", Some(&time("2026-04-07T13:00")), None).await.unwrap();
    let later = EventChanges { start: Some(time("2026-03-31T16:00")), ..EventChanges::default() };
    local.update("local", "k1team", Some(&time("2026-03-31T13:00")), &later, None).await.unwrap();
    let server = GoogleServer::start().await;
    let account = account(&server).await;
    server.fault("patch", Fault::CutAfter);
    assert!(local.move_to("local", &account, "primary").await.is_err());
    let moved = local.move_to("local", &account, "primary").await.unwrap();
    assert_eq!((moved.moved, moved.left.len()), (1, 0));
    let (from, to) = (wall("2026-03-20T00:00:00Z"), wall("2026-04-16T00:00:00Z"));
    let dates = account.list("primary", from, to).await.unwrap();
    let starts: Vec<&EventTime> = dates.iter().map(|event| &event.start).collect();
    let wanted = ["2026-03-24T13:00", "2026-03-31T16:00", "2026-04-14T13:00"].map(time);
    assert_eq!(starts, wanted.iter().collect::<Vec<_>>());
    assert!(dates.iter().all(|event| event.id == "k1team"));
    assert!(local.list("local", from, to).await.unwrap().is_empty());
}
