//! Looking at the calendar: before creating, and before a duplicate is answered.

use super::*;
use crate::domain::effect::Mark;
use crate::evidence::testing::*;

const NINE: &str = "2026-03-10T09:00:00+01:00";

fn dentist() -> Action {
    Action::CreateEvent(event("Dentist", NINE))
}

async fn with_calendar() -> (Desk, Arc<FakeCalendar>) {
    let mut desk = Desk::new().await;
    let calendar = Arc::new(FakeCalendar::default());
    desk.calendar = Some(calendar.clone());
    (desk, calendar)
}

#[tokio::test(start_paused = true)]
async fn what_another_program_made_is_answered_as_existing_at_any_age() {
    let (desk, calendar) = with_calendar().await;
    calendar.put("x1", "dentist!", at("2026-03-10T08:00:00+00:00"), None);
    match desk.ask(dentist()).await {
        Verdict::Exists { event_id, effect, differences } => {
            assert_eq!((event_id.as_str(), effect, differences.len()), ("x1", None, 0));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(desk.made(), 0);
    assert_eq!(desk.prevented().await, ["exists/calendar"]);
    let counted = desk.world.texts("SELECT layer || ':' || count FROM layer_counts").await;
    assert_eq!(counted, ["calendar:1"]);
}

#[tokio::test(start_paused = true)]
async fn case_b34_a_single_date_of_an_existing_series_is_told_as_a_series() {
    let (desk, calendar) = with_calendar().await;
    calendar.put("s1", "Dentist", at(NINE), Some("FREQ=WEEKLY"));
    match desk.ask(dentist()).await {
        Verdict::Exists { differences, .. } => assert_eq!(differences[0].field, "recurrence"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn an_unreachable_calendar_stops_neither_the_admission_nor_the_duplicate() {
    let (desk, calendar) = with_calendar().await;
    *calendar.unreachable.lock().unwrap() = true;
    let first = admitted(desk.ask(dentist()).await);
    desk.world.pass(SECOND).await;
    match desk.ask(dentist()).await {
        Verdict::Duplicate { effect, verified, .. } => assert_eq!((effect, verified), (first, false)),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_duplicate_is_verified_and_one_that_is_gone_or_moved_is_made_again() {
    let (desk, calendar) = with_calendar().await;
    desk.world.calendar.then(accepted("e1"));
    let first = admitted(desk.ask(dentist()).await);
    desk.world.pass(SECOND).await;
    calendar.put("e1", "Dentist", at(NINE), None);
    match desk.ask(dentist()).await {
        Verdict::Duplicate { effect, verified, .. } => assert_eq!((effect, verified), (first.clone(), true)),
        other => panic!("{other:?}"),
    }
    // Somebody moved it by hand: asking for the old time again is a new event.
    calendar.events.lock().unwrap()[0].start = at("2026-03-10T11:00:00+01:00");
    desk.world.calendar.then(accepted("e2"));
    let second = admitted(desk.ask(dentist()).await);
    desk.world.pass(SECOND).await;
    assert_eq!(desk.world.effect(&first).await.released.as_deref(), Some("changed in the calendar"));
    // And this one was deleted by hand.
    let third = admitted(desk.ask(dentist()).await);
    assert_ne!(second, third);
    assert_eq!(desk.world.effect(&second).await.released.as_deref(), Some("gone from the calendar"));
}

#[tokio::test(start_paused = true)]
async fn a_repeat_of_what_exists_is_a_marked_question() {
    let (desk, calendar) = with_calendar().await;
    calendar.put("x1", "Dentist", at(NINE), None);
    let mut request = desk.request(dentist());
    request.repeat = true;
    let (_, approval, marks) = asked(desk.admit(request).await.unwrap());
    assert_eq!(marks, [Mark::Repeat]);
    let card = desk.world.store.read(move |connection| approvals::load(connection, approval)).await.unwrap();
    assert_eq!(card.notes.found.unwrap()["id"], "x1");
}

#[tokio::test(start_paused = true)]
async fn without_the_setting_nobody_looks() {
    let (mut desk, calendar) = with_calendar().await;
    desk.settings.look_before_create = false;
    calendar.put("x1", "Dentist", at(NINE), None);
    admitted(desk.ask(dentist()).await);
    assert_eq!(*calendar.lists.lock().unwrap(), 0);
}
