//! Reminders and expiry on the elapsed clock.

use super::*;
use crate::approvals::{ApprovalState, after_restore, ask_again, load};
use crate::domain::effect::EffectState;

async fn state(desk: &Desk, id: ApprovalId) -> ApprovalState {
    desk.world.store.read(move |connection| load(connection, id)).await.unwrap().state
}

#[tokio::test(start_paused = true)]
async fn one_reminder_then_expiry_and_nothing_runs() {
    let desk = Desk::new().await;
    let (effect, id) = desk.ask("Offer").await;
    desk.world.pass(HOUR * 47).await;
    assert_eq!(desk.world.count("SELECT COUNT(*) FROM outbound").await, 1);
    desk.world.pass(HOUR * 2).await;
    let cards = desk.world.texts("SELECT content FROM outbound ORDER BY id").await;
    assert!(cards.len() == 2 && cards[1].contains("Still waiting"), "{cards:?}");
    desk.world.pass(HOUR * 24).await;
    assert_eq!(state(&desk, id).await, ApprovalState::Expired);
    assert_eq!(desk.world.state(&effect).await, EffectState::Expired);
    assert_eq!(desk.world.mail.calls(), 0);
    let cards = desk.world.texts("SELECT content FROM outbound ORDER BY id").await;
    assert_eq!(cards.len(), 3, "the outcome line: {cards:?}");
    let edits = desk.world.texts("SELECT content || buttons FROM outbound_edits").await;
    assert!(edits.len() == 2 && edits.iter().all(|edit| edit.contains("Expired") && edit.contains("r:")), "{edits:?}");
    desk.healthy().await;
}

#[tokio::test(start_paused = true)]
async fn case_f03_and_d13_a_tap_after_the_expiry_says_so_and_runs_nothing() {
    let desk = Desk::new().await;
    let (effect, id) = desk.ask("Offer").await;
    let data = format!("a:{}", desk.token(id).await);
    // The tap is handled before the worker has noticed.
    desk.world.clock.slept(HOUR * 72);
    let answer = desk.tap(&data, "1001").await;
    assert!(answer.decided.is_none() && answer.text.contains("expired"), "{answer:?}");
    assert_eq!(desk.world.state(&effect).await, EffectState::Expired);
    assert!(desk.tap(&data, "1001").await.text.contains("expired"));
    desk.world.pass(HOUR).await;
    assert_eq!(desk.world.mail.calls(), 0);
    assert_eq!(desk.world.count("SELECT COUNT(*) FROM audit WHERE kind = 'approval_expired'").await, 1);
}

#[tokio::test(start_paused = true)]
async fn case_f16_what_expired_can_be_asked_again() {
    let desk = Desk::new().await;
    let (old, id) = desk.ask("Offer").await;
    desk.world.pass(HOUR * 73).await;
    let data = format!("r:{}", desk.token(id).await);
    let answer = desk.tap(&data, "1001").await;
    assert!(answer.text.contains("Asked again"), "{answer:?}");
    let rules = desk.rules.clone();
    let again = desk.world.write(move |tx, now| ask_again(tx, now, &rules, id, "window")).await.unwrap();
    assert_ne!(again, id);
    assert_eq!(desk.world.count("SELECT COUNT(*) FROM approvals").await, 2, "asked twice it is the same");
    desk.decide(again, Decision::Approve, Surface::Window).await.unwrap();
    desk.world.pass(MINUTE).await;
    assert_eq!(desk.world.mail.calls(), 1);
    assert_eq!(desk.world.state(&old).await, EffectState::Expired);
    let linked = desk.world.texts("SELECT replaces FROM effects WHERE replaces IS NOT NULL").await;
    assert_eq!(linked, [old.to_string()]);
    desk.healthy().await;
}

#[tokio::test(start_paused = true)]
async fn case_e04_a_jump_of_the_wall_clock_expires_nothing() {
    let desk = Desk::new().await;
    let (_, id) = desk.ask("Offer").await;
    desk.world.clock.jump_wall(4 * 365 * 86_400_000);
    desk.world.pass(HOUR).await;
    assert_eq!(state(&desk, id).await, ApprovalState::Pending);
    desk.world.clock.jump_wall(-8 * 365 * 86_400_000);
    desk.world.pass(HOUR * 72).await;
    assert_eq!(state(&desk, id).await, ApprovalState::Expired, "and it does not live to 2030");
}

#[tokio::test(start_paused = true)]
async fn a_restore_expires_what_was_pending_then() {
    let desk = Desk::new().await;
    let (effect, id) = desk.ask("Offer").await;
    let rules = desk.rules.clone();
    let expired = desk.world.write(move |tx, now| after_restore(tx, now, &rules)).await.unwrap();
    assert_eq!(expired, [id]);
    assert_eq!(desk.world.state(&effect).await, EffectState::Expired);
}
