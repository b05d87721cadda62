//! What only a person starts: do it anyway, edit.

use super::*;
use crate::approvals::{Decision, Surface};
use crate::domain::effect::EffectState;
use crate::domain::ids::PreventedId;
use crate::domain::tool::Policy;
use crate::evidence::testing::*;
use crate::guard::{Person, do_anyway, edit};

const NINE: &str = "2026-03-10T09:00:00+01:00";

fn dentist() -> Action {
    Action::CreateEvent(event("Dentist", NINE))
}

fn person() -> Person {
    Person { surface: Surface::Window, who: "owner".into() }
}

#[tokio::test(start_paused = true)]
async fn a_person_does_it_anyway_once_and_it_is_on_record() {
    let desk = Desk::new().await;
    let first = desk.done(dentist()).await;
    desk.ask(dentist()).await;
    let second = admitted(do_anyway(&desk.deps(), PreventedId(1), person()).await.unwrap());
    assert_eq!(admitted(do_anyway(&desk.deps(), PreventedId(1), person()).await.unwrap()), second, "pressed twice");
    desk.world.pass(SECOND).await;
    let row = desk.world.effect(&second).await;
    assert_eq!((row.state, row.repeat_of), (EffectState::Accepted, Some(first)));
    assert_eq!(desk.made(), 2);
    let decided = desk.world.texts("SELECT actor FROM audit WHERE kind = 'approval_decided'").await;
    assert_eq!(decided, ["person:window:owner"]);
    assert_eq!(desk.world.texts("SELECT done_anyway FROM prevented WHERE id = 1").await, [second.to_string()]);
    assert_eq!(duplicate(desk.ask(dentist()).await).0, second, "the next call meets the newest one");
}

#[tokio::test(start_paused = true)]
async fn deny_wins_over_a_person_too_and_an_unknown_row_is_no_number() {
    let mut desk = Desk::new().await;
    desk.done(dentist()).await;
    desk.ask(dentist()).await;
    desk.approvals.policies.calendar_create = Policy::Deny;
    let verdict = do_anyway(&desk.deps(), PreventedId(1), person()).await.unwrap();
    assert!(matches!(verdict, Verdict::Denied { .. }));
    let missing = do_anyway(&desk.deps(), PreventedId(99), person()).await;
    assert!(matches!(missing, Err(GuardError::NoSuchDuplicate(PreventedId(99)))));
}

#[tokio::test(start_paused = true)]
async fn an_edited_draft_is_a_new_hash_a_new_card_and_the_old_one_is_over() {
    let desk = Desk::new().await;
    let draft = |body: &str| Action::SendEmail(mail("a@example.test", "Offer", body));
    let (old, card, _) = asked(desk.ask(draft("B1")).await);
    let (new, next, _) = asked(edit(&desk.deps(), old.clone(), draft("B2"), person()).await.unwrap());
    assert_eq!(desk.world.state(&old).await, EffectState::Cancelled);
    let (before, after) = (desk.world.effect(&old).await, desk.world.effect(&new).await);
    assert_ne!(before.literal, after.literal);
    assert_eq!(after.replaces, Some(old));
    let rules = desk.rules();
    let late = desk
        .world
        .write(move |tx, now| approvals::decide(tx, now, &rules, card, Decision::Approve, "1001", Surface::Telegram))
        .await;
    assert!(matches!(late, Err(approvals::ApprovalError::AlreadyDecided { .. })));
    desk.decide(next, Decision::Approve).await;
    assert_eq!(desk.world.mail.calls(), 1);
    let sent = desk.world.mail.performed.lock().unwrap()[0].payload.clone().unwrap();
    assert!(String::from_utf8(sent).unwrap().ends_with("B2"));
}

#[tokio::test(start_paused = true)]
async fn an_edit_that_meets_the_same_action_changes_nothing() {
    let desk = Desk::new().await;
    let draft = |body: &str| Action::SendEmail(mail("a@example.test", "Offer", body));
    let (waiting, ..) = asked(desk.ask(draft("B1")).await);
    let (other, ..) = asked(desk.ask(Action::SendEmail(mail("b@example.test", "x", "y"))).await);
    let met = edit(&desk.deps(), other.clone(), draft("B1"), person()).await;
    assert!(
        matches!(&met, Err(GuardError::Meets(verdict)) if matches!(&**verdict, Verdict::Pending { effect, .. } if *effect == waiting)),
        "{met:?}"
    );
    assert_eq!(desk.world.state(&other).await, EffectState::AwaitingApproval);
    assert_eq!(desk.world.count("SELECT COUNT(*) FROM approvals WHERE state = 'pending'").await, 2);
}
