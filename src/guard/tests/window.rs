//! The window on the elapsed clock, near duplicates after it, and repeats.

use super::*;
use crate::approvals::Decision;
use crate::domain::effect::{EffectState, Mark};
use crate::evidence::testing::*;
use crate::guard::NearDuplicates;

const NINE: &str = "2026-03-10T09:00:00+01:00";

fn dentist() -> Action {
    Action::CreateEvent(event("Dentist", NINE))
}

async fn accepted_age(desk: &Desk, effect: &EffectId) -> Duration {
    let now = crate::domain::ports::Clock::now(&desk.world.clock).elapsed;
    now.since(desk.world.effect(effect).await.accepted_elapsed.unwrap())
}

#[tokio::test(start_paused = true)]
async fn the_window_is_half_open_from_the_acceptance() {
    let mut desk = Desk::new().await;
    desk.settings.near_duplicates = NearDuplicates::Off;
    desk.world.calendar.takes(SECOND * 3);
    let first = desk.done(dentist()).await;
    desk.world.pass(SECOND * 3).await;
    let left = desk.settings.window - accepted_age(&desk, &first).await;
    desk.world.clock.slept(left - Duration::from_millis(1));
    assert_eq!(duplicate(desk.ask(dentist()).await).0, first);
    desk.world.clock.slept(Duration::from_millis(1));
    assert_ne!(admitted(desk.ask(dentist()).await), first);
}

#[tokio::test(start_paused = true)]
async fn case_e04_jumps_of_the_wall_clock_neither_end_nor_stretch_the_window() {
    let mut desk = Desk::new().await;
    desk.settings.near_duplicates = NearDuplicates::Off;
    desk.world.clock.jump_wall(4 * 365 * 86_400_000);
    let first = desk.done(dentist()).await;
    desk.world.clock.jump_wall(-4 * 365 * 86_400_000);
    assert_eq!(duplicate(desk.ask(dentist()).await).0, first, "still inside");
    desk.world.pass(SECOND * 600).await;
    assert_ne!(admitted(desk.ask(dentist()).await), first, "over after ten minutes of real time");
}

#[tokio::test(start_paused = true)]
async fn a_tool_may_have_a_window_of_its_own() {
    let mut desk = Desk::new().await;
    desk.settings.near_duplicates = NearDuplicates::Off;
    desk.done(dentist()).await;
    desk.world.clock.slept(MINUTE);
    let mut request = desk.request(dentist());
    request.declaration.window = Some(SECOND * 30);
    admitted(desk.admit(request).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn from_the_window_to_a_day_it_is_asked_and_then_fresh() {
    let desk = Desk::new().await;
    let first = desk.done(dentist()).await;
    desk.world.pass(HOUR * 3).await;
    let (held, approval, marks) = asked(desk.ask(dentist()).await);
    assert_eq!(marks, [Mark::NearDuplicate]);
    let card = desk.world.store.read(move |connection| approvals::load(connection, approval)).await.unwrap();
    assert_eq!(card.notes.earlier, Some(first));
    assert!(approvals::mark_text(Mark::NearDuplicate, &card.notes, Default::default()).contains("3 h ago"));
    assert_eq!(desk.prevented().await, ["near/near"]);
    let kinds = desk.world.texts("SELECT kind FROM audit WHERE kind LIKE '%duplicate%'").await;
    assert_eq!(kinds, ["near_duplicate_held"]);
    desk.decide(approval, Decision::Deny).await;
    assert_eq!(desk.world.state(&held).await, EffectState::Denied);
    desk.world.pass(HOUR * 22).await;
    admitted(desk.ask(dentist()).await);
}

#[tokio::test(start_paused = true)]
async fn a_similar_title_at_the_same_start_is_asked_and_an_unlike_one_is_not() {
    let desk = Desk::new().await;
    desk.done(dentist()).await;
    for (title, near) in [("Dentist appointment", true), ("Dentits", true), ("Standup", false), ("Room 12", false)] {
        let verdict = desk.ask(Action::CreateEvent(event(title, NINE))).await;
        match verdict {
            Verdict::NeedsApproval { marks, .. } => {
                assert!(near && marks == [Mark::NearDuplicate], "{title} {marks:?}")
            }
            Verdict::Admitted { .. } => assert!(!near, "{title}"),
            other => panic!("{title}: {other:?}"),
        }
    }
    desk.world.pass(SECOND).await;
    let verdict = desk.ask(Action::CreateEvent(event("Room 13", NINE))).await;
    assert!(matches!(verdict, Verdict::Admitted { .. }), "another number is another room: {verdict:?}");
}

#[tokio::test(start_paused = true)]
async fn near_duplicates_off_leaves_the_window_alone() {
    let mut desk = Desk::new().await;
    desk.settings.near_duplicates = NearDuplicates::Off;
    let first = desk.done(dentist()).await;
    assert_eq!(duplicate(desk.ask(dentist()).await).0, first);
    admitted(desk.ask(Action::CreateEvent(event("Dentist appointment", NINE))).await);
    desk.world.pass(HOUR).await;
    admitted(desk.ask(dentist()).await);
}

#[tokio::test(start_paused = true)]
async fn repeat_changes_nothing_on_a_fresh_pending_or_unresolved_action() {
    let desk = Desk::new().await;
    let repeat = |action: Action| {
        let mut request = desk.request(action);
        request.repeat = true;
        request
    };
    admitted(desk.admit(repeat(dentist())).await.unwrap());
    desk.world.pass(SECOND).await;
    let mail = Action::SendEmail(mail("a@example.test", "Offer", "Hi"));
    let (first, approval, _) = asked(desk.ask(mail.clone()).await);
    let verdict = desk.admit(repeat(mail.clone())).await.unwrap();
    assert!(matches!(verdict, Verdict::Pending { effect, .. } if effect == first));
    desk.world.mail.then(unknown("cut"));
    desk.decide(approval, Decision::Approve).await;
    let verdict = desk.admit(repeat(mail)).await.unwrap();
    assert!(matches!(&verdict, Verdict::Unresolved { effect, .. } if *effect == first), "{verdict:?}");
}

#[tokio::test(start_paused = true)]
async fn a_repeat_outside_the_window_is_marked_too() {
    let desk = Desk::new().await;
    let first = desk.done(dentist()).await;
    desk.world.pass(HOUR).await;
    let mut request = desk.request(dentist());
    request.repeat = true;
    let (effect, _, marks) = asked(desk.admit(request).await.unwrap());
    assert_eq!(marks, [Mark::Repeat]);
    assert_eq!(desk.world.effect(&effect).await.repeat_of, Some(first));
}

#[tokio::test(start_paused = true)]
async fn pending_names_the_waiting_card_and_counts_apart_from_prevented() {
    let desk = Desk::new().await;
    let mut first = event("Lunch", NINE);
    first.guests = vec!["bo@example.test".into()];
    let (effect, approval, _) = asked(desk.ask(Action::CreateEvent(first.clone())).await);
    first.end = Some(at("2026-03-10T10:30:00+01:00"));
    match desk.ask(Action::CreateEvent(first)).await {
        Verdict::Pending { effect: waiting, approval: card, differences } => {
            assert_eq!((waiting, card), (effect, Some(approval)));
            assert_eq!(differences[0].field, "end");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(desk.world.count("SELECT COUNT(*) FROM approvals").await, 1);
    assert_eq!(desk.prevented().await, ["pending/guard"]);
    assert_eq!(desk.world.count("SELECT COUNT(*) FROM audit WHERE kind = 'duplicate_prevented'").await, 0);
    assert_eq!(desk.world.count("SELECT COUNT(*) FROM layer_counts").await, 0);
}
