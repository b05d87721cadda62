//! Events: the same one in other words, and different ones that look alike.

use super::*;
use crate::domain::action::{CreateEvent, DeleteEvent, UpdateEvent};
use crate::domain::effect::{EffectState, Mark};
use crate::domain::when;
use crate::evidence::testing::*;

const NINE: &str = "2026-03-10T09:00:00+01:00";

fn create(event: CreateEvent) -> Action {
    Action::CreateEvent(event)
}

fn starting(start: EventTime) -> Action {
    create(CreateEvent { start, ..event("Dentist", NINE) })
}

#[tokio::test(start_paused = true)]
async fn case_b01_the_same_call_twice_in_one_reply_is_one_event_and_the_same_id_for_both() {
    let desk = Desk::new().await;
    let (one, two) = (desk.request(create(event("Dentist", NINE))), desk.request(create(event("Dentist", NINE))));
    let first = admitted(desk.admit(one).await.unwrap());
    // The second is admitted at once; it waits for the first outside the transaction.
    let (second, differences) = duplicate(desk.admit(two).await.unwrap());
    assert_eq!((&second, differences.len()), (&first, 0));
    assert_eq!(desk.made(), 1);
    assert_eq!(desk.prevented().await, ["duplicate/guard"]);
}

#[tokio::test(start_paused = true)]
async fn case_b03_the_same_instant_in_another_notation_is_the_same_event() {
    let desk = Desk::new().await;
    let zone = when::time_zone("Europe/Berlin").unwrap();
    let resolve = |text: &str| when::resolve(text, &zone).unwrap().time;
    let first = desk.done(starting(resolve("2026-03-10T09:00:00+01:00"))).await;
    for text in ["2026-03-10T08:00:00Z", "2026-03-10T08:00Z", "2026-03-10T08:00:00.000Z", "2026-03-10T09:00"] {
        let (of, differences) = duplicate(desk.ask(starting(resolve(text))).await);
        assert_eq!((of, differences), (first.clone(), vec![]), "{text}");
    }
    assert_eq!(desk.made(), 1);
}

#[tokio::test(start_paused = true)]
async fn case_b04_zone_aliases_are_the_same_zone() {
    let desk = Desk::new().await;
    let named = |zone: &str, at: &str| {
        let start = EventTime::Timed { at: at.into(), zone: zone.into() };
        create(CreateEvent { start, recurrence: Some("FREQ=WEEKLY".into()), ..event(zone, NINE) })
    };
    for (one, other, at) in [
        ("UTC", "Etc/UTC", "2026-03-10T09:00:00+00:00"),
        ("Asia/Calcutta", "Asia/Kolkata", "2026-03-10T09:00:00+05:30"),
    ] {
        let mut second = named(other, at);
        if let Action::CreateEvent(event) = &mut second {
            event.title = one.into();
        }
        let first = desk.done(named(one, at)).await;
        let (of, differences) = duplicate(desk.ask(second).await);
        assert_eq!((of, differences), (first, vec![]), "{one} {other}");
    }
    assert_eq!(desk.made(), 2);
}

#[tokio::test(start_paused = true)]
async fn case_b05_a_naive_time_is_in_the_users_zone() {
    let desk = Desk::new().await;
    let zone = when::time_zone("Asia/Jerusalem").unwrap();
    let naive = when::resolve("2026-05-27T18:00:00", &zone).unwrap().time;
    let first = desk.done(starting(naive)).await;
    let (of, _) = duplicate(desk.ask(starting(when::resolve("2026-05-27T15:00:00Z", &zone).unwrap().time)).await);
    assert_eq!(of, first);
}

#[tokio::test(start_paused = true)]
async fn case_b06_title_variants_are_one_event_and_the_original_title_is_kept() {
    let desk = Desk::new().await;
    let first = desk.done(create(event("Café mit Zoë", NINE))).await;
    let variants = [
        "Cafe\u{301} mit Zoe\u{308}",
        "café  mit zoë ",
        "Café\u{a0}mit\u{a0}Zoë",
        "CAFÉ MIT ZOË!",
        "Café mit Zoë\u{200b}",
    ];
    for title in variants {
        let (of, differences) = duplicate(desk.ask(create(event(title, NINE))).await);
        assert_eq!((of, differences), (first.clone(), vec![]), "{title}");
    }
    assert_eq!(desk.made(), 1);
    assert_eq!(desk.world.effect(&first).await.summary, "Café mit Zoë");
}

#[tokio::test(start_paused = true)]
async fn case_b10_a_second_call_waits_for_the_first_and_gets_its_receipt() {
    let desk = Desk::new().await;
    desk.world.calendar.takes(SECOND * 4);
    let first = admitted(desk.ask(create(event("Dentist", NINE))).await);
    desk.world.pass(Duration::from_millis(200)).await;
    let (of, _) = duplicate(desk.ask(create(event("Dentist", NINE))).await);
    assert_eq!(of, first);
    desk.world.calendar.takes(SECOND * 60);
    let slow = admitted(desk.ask(create(event("Slow", NINE))).await);
    desk.world.pass(SECOND).await;
    let before = crate::domain::ports::Clock::now(&desk.world.clock).elapsed;
    let verdict = desk.ask(create(event("Slow", NINE))).await;
    let waited = crate::domain::ports::Clock::now(&desk.world.clock).elapsed.since(before);
    assert!(matches!(verdict, Verdict::InFlight { effect, state: EffectState::Dispatching, .. } if effect == slow));
    assert_eq!(waited, SECOND * 5);
    assert_eq!(desk.made(), 2);
}

#[tokio::test(start_paused = true)]
async fn case_b11_a_failed_attempt_is_not_remembered_as_done() {
    let desk = Desk::new().await;
    desk.world.calendar.then(rejected("400 invalid end"));
    let first = desk.done(create(event("Dentist", NINE))).await;
    assert_eq!(desk.world.state(&first).await, EffectState::Rejected);
    let second = desk.done(create(event("Dentist", NINE))).await;
    assert_eq!(desk.world.state(&second).await, EffectState::Accepted);
    assert_eq!(desk.made(), 2);
}

#[tokio::test(start_paused = true)]
async fn case_b15_create_delete_create_inside_the_window_makes_it_again() {
    let desk = Desk::new().await;
    desk.world.calendar.then(accepted("e1"));
    let first = desk.done(create(event("Dentist", NINE))).await;
    let delete = DeleteEvent {
        calendar: "local".into(),
        event_id: "e1".into(),
        occurrence: None,
        title: "Dentist".into(),
        start: Some(at(NINE)),
    };
    let (_, approval, _) = asked(desk.ask(Action::DeleteEvent(delete)).await);
    desk.decide(approval, approvals::Decision::Approve).await;
    assert_eq!(desk.world.state(&first).await, EffectState::Reverted);
    let again = desk.done(create(event("Dentist", NINE))).await;
    assert_eq!(desk.world.state(&again).await, EffectState::Accepted);
    assert_eq!(desk.made(), 3);
}

#[tokio::test(start_paused = true)]
async fn case_b16_another_calendar_or_account_is_another_event() {
    let desk = Desk::new().await;
    desk.done(create(CreateEvent { calendar: "work".into(), ..event("Sync", NINE) })).await;
    desk.done(create(CreateEvent { calendar: "family".into(), ..event("Sync", NINE) })).await;
    let mut other = desk.request(create(CreateEvent { calendar: "work".into(), ..event("Sync", NINE) }));
    other.account = AccountId::new("other");
    admitted(desk.admit(other).await.unwrap());
    desk.world.pass(SECOND).await;
    assert_eq!(desk.made(), 3);
}

#[tokio::test(start_paused = true)]
async fn case_b17_another_end_is_told_and_never_a_second_event() {
    let desk = Desk::new().await;
    let until = |end: &str| create(CreateEvent { end: Some(at(end)), ..event("Dentist", NINE) });
    let first = desk.done(until("2026-03-10T10:00:00+01:00")).await;
    let verdict = desk.ask(until("2026-03-10T10:30:00+01:00")).await;
    let words = crate::guard::words::for_model(&verdict);
    let (of, differences) = duplicate(verdict);
    assert_eq!((of, differences), (first, vec!["end".to_owned()]));
    assert!(words["differs"].as_str().unwrap().contains("update_event"), "{words}");
    assert!(words["event_id"].is_string());
    // The end that a call leaves open is an hour: naming it changes nothing.
    let (_, differences) = duplicate(desk.ask(create(event("Dentist", NINE))).await);
    assert_eq!(differences, Vec::<String>::new());
    assert_eq!(desk.made(), 1);
    assert_eq!(desk.prevented().await, ["differs/guard", "duplicate/guard"]);
}

#[tokio::test(start_paused = true)]
async fn case_b18_the_same_title_and_start_with_other_people_is_asked_for() {
    for policy in [crate::domain::tool::Policy::Auto, crate::domain::tool::Policy::Ask] {
        let mut desk = Desk::new().await;
        desk.approvals.policies.calendar_create_with_guests = policy;
        let with = |guest: &str| create(CreateEvent { guests: vec![guest.into()], ..event("Interview", NINE) });
        let first = desk.ask(with("x@example.test")).await;
        desk.world.pass(SECOND).await;
        let (second, approval, marks) = asked(desk.ask(with("y@example.test")).await);
        assert!(marks.contains(&Mark::Guests) && marks.contains(&Mark::NearDuplicate), "{marks:?}");
        let again = desk.ask(with("Y@example.test")).await;
        assert!(matches!(again, Verdict::Pending { effect, .. } if effect == second));
        desk.decide(approval, approvals::Decision::Approve).await;
        assert_eq!(desk.world.state(&second).await, EffectState::Accepted);
        assert!(matches!(duplicate(desk.ask(with("y@example.test")).await), (effect, _) if effect == second));
        match first {
            Verdict::Admitted { effect } => {
                assert_eq!(duplicate(desk.ask(with("x@example.test")).await).0, effect);
                assert_eq!(desk.made(), 2);
            }
            other => assert!(matches!(other, Verdict::NeedsApproval { .. })),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn case_b19_five_days_are_five_events() {
    let desk = Desk::new().await;
    for day in 9..14 {
        desk.done(create(event("gym", &format!("2026-03-{day:02}T18:00:00+01:00")))).await;
    }
    assert_eq!(desk.made(), 5);
    assert!(desk.prevented().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn case_b33_all_day_forms_are_one_event_and_not_midnight() {
    let desk = Desk::new().await;
    let day = |date: &str| EventTime::Date { date: date.into() };
    let all_day = |end: Option<&str>| {
        create(CreateEvent { start: day("2026-05-05"), end: end.map(day), ..event("Holiday", NINE) })
    };
    let first = desk.done(all_day(Some("2026-05-06"))).await;
    for end in [None, Some("2026-05-05")] {
        assert_eq!(duplicate(desk.ask(all_day(end)).await), (first.clone(), vec![]));
    }
    admitted(desk.ask(create(event("Holiday", "2026-05-05T00:00:00+02:00"))).await);
    desk.world.pass(SECOND).await;
    assert_eq!(desk.made(), 2);
}

#[tokio::test(start_paused = true)]
async fn case_b34_rules_in_another_order_are_one_series_and_a_single_date_is_told() {
    let desk = Desk::new().await;
    let series =
        |rule: Option<&str>| create(CreateEvent { recurrence: rule.map(str::to_owned), ..event("Yoga", NINE) });
    let first = desk.done(series(Some("FREQ=WEEKLY;BYDAY=TU"))).await;
    assert_eq!(duplicate(desk.ask(series(Some("BYDAY=TU;FREQ=WEEKLY"))).await), (first.clone(), vec![]));
    assert_eq!(duplicate(desk.ask(series(None)).await), (first, vec!["recurrence".to_owned()]));
    assert_eq!(desk.made(), 1);
}

#[tokio::test(start_paused = true)]
async fn case_b35_a_rule_belongs_to_its_zone() {
    let desk = Desk::new().await;
    let weekly = |zone: &str, at: &str| {
        let start = EventTime::Timed { at: at.into(), zone: zone.into() };
        create(CreateEvent { start, recurrence: Some("FREQ=WEEKLY;BYDAY=TU".into()), ..event("Sync", NINE) })
    };
    let first = desk.done(weekly("Europe/Berlin", "2026-03-24T13:00:00+01:00")).await;
    // The same first instant, but kept at a fixed offset it would move in local time after the clock change.
    let (of, differences) = duplicate(desk.ask(weekly("UTC", "2026-03-24T12:00:00+00:00")).await);
    assert_eq!((of, differences), (first, vec!["recurrence".to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn case_b36_a_reserved_row_that_was_never_dispatched_is_done_after_the_restart() {
    let mut desk = Desk::new().await;
    if let Some(worker) = desk.world.worker.take() {
        worker.abort();
    }
    let first = admitted(desk.ask(create(event("Dentist", NINE))).await);
    desk.world.restart();
    desk.world.clock.slept(MINUTE);
    desk.world.start_worker();
    let verdict = desk.ask(create(event("Dentist", NINE))).await;
    assert_eq!(duplicate(verdict).0, first);
    assert_eq!(desk.made(), 1);
}

#[tokio::test(start_paused = true)]
async fn to_three_to_four_and_back_to_three_are_three_changes() {
    let desk = Desk::new().await;
    let to = |start: &str| {
        Action::UpdateEvent(UpdateEvent {
            calendar: "local".into(),
            event_id: "e1".into(),
            occurrence: None,
            changes: EventChanges { start: Some(at(start)), ..Default::default() },
        })
    };
    desk.done(to("2026-03-10T15:00:00+01:00")).await;
    let second = desk.done(to("2026-03-10T16:00:00+01:00")).await;
    assert_eq!(duplicate(desk.ask(to("2026-03-10T16:00:00+01:00")).await).0, second);
    desk.done(to("2026-03-10T15:00:00+01:00")).await;
    assert_eq!(desk.made(), 3);
}

#[tokio::test(start_paused = true)]
async fn the_same_request_from_another_channel_is_the_same_action() {
    let mut desk = Desk::new().await;
    let first = desk.done(create(event("Dentist", NINE))).await;
    desk.conversation = desk.world.conversation("window", "main").await;
    desk.turn = desk.world.turn(desk.conversation).await;
    assert_eq!(duplicate(desk.ask(create(event("Dentist", NINE))).await).0, first);
}
