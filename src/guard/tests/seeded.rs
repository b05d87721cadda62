//! Protocol bugs put in on purpose: each must break a scenario that holds without it.
#![cfg(feature = "proof")]

use std::pin::Pin;

use super::*;
use crate::approvals::{ApprovalError, Decision, Surface};
use crate::domain::effect::{Found, RecipientResult, RecipientState};
use crate::evidence::testing::*;
use crate::evidence::{Applied, Claim, Claimed, apply_found, apply_result, claim, recover};
use crate::runtime::seeded::plant;
use crate::store::StoreError;

const NINE: &str = "2026-03-10T09:00:00+01:00";

type Scenario = fn() -> Pin<Box<dyn Future<Output = bool>>>;

/// The bugs of guard, approvals and evidence; the store's and the inbox's are planted in their own tests.
const BUGS: [(&str, Scenario); 13] = [
    ("effect_before_claim", || Box::pin(what_was_tampered_with_never_leaves())),
    ("literal_unchecked", || Box::pin(what_was_tampered_with_never_leaves())),
    ("window_on_claims", || Box::pin(an_unknown_mail_blocks_for_ever())),
    ("retry_on_unknown", || Box::pin(a_lost_answer_is_never_sent_again())),
    ("absence_is_proof", || Box::pin(a_lost_answer_is_never_sent_again())),
    ("no_epoch_check", || Box::pin(a_stale_result_changes_nothing())),
    ("new_bytes_per_attempt", || Box::pin(every_attempt_sends_the_same_bytes())),
    ("chat_in_the_scope", || Box::pin(another_chat_meets_the_same_action())),
    ("window_by_wall_clock", || Box::pin(a_wall_jump_does_not_end_the_window())),
    ("decide_twice", || Box::pin(the_second_decision_is_told_of_the_first())),
    ("expired_runs", || Box::pin(what_expired_is_not_approved())),
    ("anyone_decides", || Box::pin(a_guest_decides_nothing())),
    ("retry_all_recipients", || Box::pin(nobody_is_served_twice())),
];

#[tokio::test(start_paused = true)]
async fn every_planted_bug_is_caught() {
    for (bug, holds) in BUGS {
        assert!(holds().await, "{bug}: the scenario holds without it");
        plant(Some(bug));
        let held = holds().await;
        plant(None);
        assert!(!held, "{bug} was not caught");
    }
}

fn dentist() -> Action {
    Action::CreateEvent(event("Dentist", NINE))
}

fn offer() -> Action {
    Action::SendEmail(mail("a@example.test", "Offer", "Hi"))
}

async fn automatic() -> Desk {
    let mut desk = Desk::new().await;
    desk.approvals.policies.mail_send = crate::domain::tool::Policy::Auto;
    desk
}

async fn what_was_tampered_with_never_leaves() -> bool {
    let desk = automatic().await;
    let Ok(Verdict::Admitted { effect }) = desk.admit(desk.request(offer())).await else { return false };
    desk.world
        .write(move |tx, _| {
            tx.execute("UPDATE effects SET action = replace(action, 'Hi', 'Bye') WHERE id = ?1", [effect])?;
            Ok::<_, StoreError>(())
        })
        .await
        .unwrap();
    desk.world.pass(MINUTE).await;
    desk.world.mail.calls() == 0
}

async fn an_unknown_mail_blocks_for_ever() -> bool {
    let desk = automatic().await;
    desk.world.mail.then(unknown("cut"));
    desk.ask(offer()).await;
    desk.world.pass(HOUR).await;
    matches!(desk.admit(desk.request(offer())).await, Ok(Verdict::Unresolved { .. }))
}

async fn a_lost_answer_is_never_sent_again() -> bool {
    let desk = automatic().await;
    desk.world.mail.then(unknown("cut"));
    desk.ask(offer()).await;
    desk.world.pass(HOUR * 30).await;
    desk.world.mail.calls() == 1
}

async fn a_stale_result_changes_nothing() -> bool {
    let mut desk = Desk::new().await;
    if let Some(worker) = desk.world.worker.take() {
        worker.abort();
    }
    let Verdict::Admitted { effect } = desk.ask(dentist()).await else { return false };
    let take = || {
        let (settings, targets, id) = (desk.world.settings.clone(), desk.world.targets.clone(), effect.clone());
        desk.world
            .write(move |tx, now| claim(tx, now, &settings, &targets, &id, &Claim { owner: "w".into(), lease: HOUR }))
    };
    let Ok(Claimed::Dispatch { .. }) = take().await else { return false };
    let settings = desk.world.settings.clone();
    desk.world.write(move |tx, now| recover(tx, now, &settings)).await.unwrap();
    let (settings, id) = (desk.world.settings.clone(), effect.clone());
    let absent = Found::No { authoritative: true, detail: String::new() };
    desk.world.write(move |tx, now| apply_found(tx, now, &settings, &id, 1, &absent)).await.unwrap();
    let Ok(Claimed::Dispatch { .. }) = take().await else { return false };
    let (settings, id) = (desk.world.settings.clone(), effect.clone());
    let stale = desk.world.write(move |tx, now| apply_result(tx, now, &settings, &id, 1, &accepted("old"), 0.0)).await;
    matches!(stale, Ok(Applied::KeptAsEvidence))
}

async fn every_attempt_sends_the_same_bytes() -> bool {
    let desk = automatic().await;
    desk.world.mail.then(retryable("refused"));
    desk.ask(offer()).await;
    desk.world.pass(MINUTE * 5).await;
    let sent = desk.world.mail.performed.lock().unwrap().clone();
    sent.len() == 2 && sent[0].payload == sent[1].payload
}

async fn another_chat_meets_the_same_action() -> bool {
    let mut desk = Desk::new().await;
    desk.ask(dentist()).await;
    desk.world.pass(SECOND).await;
    desk.conversation = desk.world.conversation("window", "main").await;
    desk.turn = desk.world.turn(desk.conversation).await;
    matches!(desk.ask(dentist()).await, Verdict::Duplicate { .. })
}

async fn a_wall_jump_does_not_end_the_window() -> bool {
    let desk = Desk::new().await;
    desk.ask(dentist()).await;
    desk.world.pass(SECOND).await;
    desk.world.clock.jump_wall(86_400_000);
    matches!(desk.ask(dentist()).await, Verdict::Duplicate { .. })
}

async fn approve(desk: &Desk, id: crate::domain::ids::ApprovalId) -> Result<approvals::Decided, ApprovalError> {
    let rules = desk.rules();
    desk.world
        .write(move |tx, now| approvals::decide(tx, now, &rules, id, Decision::Approve, "1001", Surface::Window))
        .await
}

async fn the_second_decision_is_told_of_the_first() -> bool {
    let desk = Desk::new().await;
    let Verdict::NeedsApproval { approval, .. } = desk.ask(offer()).await else { return false };
    approve(&desk, approval).await.unwrap();
    matches!(approve(&desk, approval).await, Err(ApprovalError::AlreadyDecided { .. }))
}

async fn what_expired_is_not_approved() -> bool {
    let desk = Desk::new().await;
    let Verdict::NeedsApproval { approval, .. } = desk.ask(offer()).await else { return false };
    desk.world.clock.slept(HOUR * 80);
    let late = approve(&desk, approval).await;
    desk.world.pass(MINUTE).await;
    matches!(late, Err(ApprovalError::Expired(_))) && desk.world.mail.calls() == 0
}

async fn a_guest_decides_nothing() -> bool {
    let desk = Desk::new().await;
    let Verdict::NeedsApproval { approval, .. } = desk.ask(offer()).await else { return false };
    let token = desk.world.store.read(move |connection| approvals::load(connection, approval)).await.unwrap().token;
    let rules = desk.rules();
    let answer = desk
        .world
        .write(move |tx, now| {
            approvals::decide_by_token(tx, now, &rules, &format!("a:{token}"), &approvals::Sender { id: "2002".into() })
        })
        .await
        .unwrap();
    answer.decided.is_none()
}

async fn nobody_is_served_twice() -> bool {
    let desk = automatic().await;
    let one = |address: &str, state| RecipientResult { address: address.into(), state, reply: None };
    let first = vec![one("a@example.test", RecipientState::Accepted), one("b@example.test", RecipientState::Open)];
    desk.world.mail.then(with_recipients(accepted("Q1"), first));
    let mut both = mail("a@example.test", "Offer", "Hi");
    both.cc = vec!["b@example.test".into()];
    desk.ask(Action::SendEmail(both)).await;
    desk.world.pass(MINUTE * 5).await;
    let asked: Vec<_> =
        desk.world.mail.performed.lock().unwrap().iter().map(|dispatch| dispatch.open_recipients.clone()).collect();
    asked == [vec!["a@example.test", "b@example.test"], vec!["b@example.test"]]
}
