//! Deciding: once, by an owner, for exactly what was shown.

use super::*;
use crate::approvals::{ApprovalState, decide_now};
use crate::domain::effect::EffectState;
use crate::evidence::testing::unknown;
use crate::store::StoreError;

#[tokio::test(start_paused = true)]
async fn case_f01_a_double_tap_is_one_decision_and_one_execution() {
    let desk = Desk::new().await;
    let (effect, id) = desk.ask("Offer").await;
    let data = format!("a:{}", desk.token(id).await);
    assert!(desk.tap(&data, "1001").await.decided.is_some());
    desk.world.pass(SECOND * 2).await;
    let second = desk.tap(&data, "1001").await;
    assert_eq!((second.decided, second.text.as_str()), (None, "Already decided: approved."));
    let window = desk.decide(id, Decision::Approve, Surface::Window).await;
    assert!(matches!(window, Err(ApprovalError::AlreadyDecided { state: ApprovalState::Approved, .. })));
    desk.world.pass(MINUTE).await;
    assert_eq!(desk.world.state(&effect).await, EffectState::Accepted);
    assert_eq!(desk.world.mail.calls(), 1);
    assert_eq!(desk.world.count("SELECT COUNT(*) FROM audit WHERE kind = 'approval_decided'").await, 1);
    desk.healthy().await;
}

#[tokio::test(start_paused = true)]
async fn case_f02_the_first_of_two_surfaces_wins_in_both_orders() {
    for (first, expected) in [(Decision::Approve, EffectState::Accepted), (Decision::Deny, EffectState::Denied)] {
        let desk = Desk::new().await;
        let (effect, id) = desk.ask("Offer").await;
        let second = if first == Decision::Approve { "d" } else { "a" };
        let data = format!("{second}:{}", desk.token(id).await);
        desk.decide(id, first, Surface::Window).await.unwrap();
        assert!(desk.tap(&data, "1001").await.text.contains("Already decided"));
        desk.world.pass(MINUTE).await;
        assert_eq!(desk.world.state(&effect).await, expected);
        desk.healthy().await;
    }
}

#[tokio::test(start_paused = true)]
async fn case_f04_a_pending_approval_survives_the_restart() {
    let mut desk = Desk::new().await;
    let (effect, id) = desk.ask("Offer").await;
    let data = format!("a:{}", desk.token(id).await);
    desk.restart();
    assert!(desk.tap(&data, "1001").await.decided.is_some());
    desk.world.pass(MINUTE).await;
    assert_eq!(desk.world.state(&effect).await, EffectState::Accepted);
    assert!(desk.tap("a:nobody-knows-this", "1001").await.text.contains("no longer known"));
}

#[tokio::test(start_paused = true)]
async fn case_f07_one_approval_authorises_one_execution() {
    let desk = Desk::new().await;
    desk.world.mail.then(unknown("cut"));
    let (effect, id) = desk.ask("Offer").await;
    desk.decide(id, Decision::Approve, Surface::Window).await.unwrap();
    desk.world.pass(HOUR * 30).await;
    assert_eq!(desk.world.state(&effect).await, EffectState::Unknown);
    assert!(desk.decide(id, Decision::Approve, Surface::Window).await.is_err());
    assert_eq!(desk.world.mail.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn case_f08_a_tap_takes_effect_at_once_and_the_late_ones_change_nothing() {
    let desk = Desk::new().await;
    let (effect, id) = desk.ask("Offer").await;
    let token = desk.token(id).await;
    // A running turn of the same conversation stands in nobody's way.
    desk.world.turn(desk.owner).await;
    assert!(desk.tap(&format!("a:{token}"), "1001").await.decided.is_some());
    assert_eq!(desk.world.state(&effect).await, EffectState::Ready);
    for verb in ["a", "d"] {
        assert!(desk.tap(&format!("{verb}:{token}"), "1001").await.decided.is_none());
    }
    assert_eq!(desk.world.state(&effect).await, EffectState::Ready);
}

#[tokio::test(start_paused = true)]
async fn case_f09_what_changed_after_it_was_shown_is_not_approved_and_not_sent() {
    let desk = Desk::new().await;
    let change = |effect: EffectId| {
        desk.world.write(move |tx, _| {
            tx.execute("UPDATE effects SET action = replace(action, 'Hi', 'Bye') WHERE id = ?1", [effect])?;
            Ok::<_, StoreError>(())
        })
    };
    let (before, id) = desk.ask("Before").await;
    change(before.clone()).await.unwrap();
    assert!(matches!(desk.decide(id, Decision::Approve, Surface::Window).await, Err(ApprovalError::Changed(_))));
    assert_eq!(desk.world.state(&before).await, EffectState::AwaitingApproval);

    let (after, id) = desk.ask("After").await;
    desk.decide(id, Decision::Approve, Surface::Window).await.unwrap();
    change(after.clone()).await.unwrap();
    desk.world.pass(MINUTE).await;
    assert_eq!(desk.world.state(&after).await, EffectState::Cancelled);
    assert_eq!(desk.world.mail.calls(), 0);
    let asked = desk.world.texts("SELECT state FROM effects WHERE replaces IS NOT NULL").await;
    assert_eq!(asked, ["awaiting_approval"], "a new question for what it is now");
}

#[tokio::test(start_paused = true)]
async fn case_f11_a_guest_or_a_tap_without_sender_decides_nothing_and_is_on_record() {
    let desk = Desk::new().await;
    let (effect, id) = desk.ask("Offer").await;
    let data = format!("a:{}", desk.token(id).await);
    for user in ["2002", ""] {
        let answer = desk.tap(&data, user).await;
        assert!(answer.decided.is_none() && answer.text.contains("Only the owner"), "{answer:?}");
    }
    assert_eq!(desk.world.state(&effect).await, EffectState::AwaitingApproval);
    assert_eq!(desk.world.count("SELECT COUNT(*) FROM audit WHERE kind = 'sender_refused'").await, 2);
}

#[tokio::test(start_paused = true)]
async fn case_f13_only_known_tokens_decide_and_ids_are_no_tokens() {
    let desk = Desk::new().await;
    let (effect, id) = desk.ask("Offer").await;
    for data in [format!("a:{id}"), format!("a:{effect}"), "/approve 1".into(), "a".into(), String::new(), "x:y".into()]
    {
        assert!(desk.tap(&data, "1001").await.decided.is_none(), "{data}");
    }
    assert_eq!(desk.world.state(&effect).await, EffectState::AwaitingApproval);
}

#[tokio::test(start_paused = true)]
async fn case_f14_a_decision_covers_its_own_action_only() {
    let desk = Desk::new().await;
    let (_, first) = desk.ask("First").await;
    let (second, _) = desk.ask("Second").await;
    desk.decide(first, Decision::Approve, Surface::Window).await.unwrap();
    desk.world.pass(MINUTE).await;
    assert_eq!(desk.world.state(&second).await, EffectState::AwaitingApproval);
    assert_eq!(desk.world.mail.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_draft_that_can_no_longer_be_composed_stays_pending_with_the_reason() {
    let desk = Desk::new().await;
    let (effect, id) = desk.ask("Offer").await;
    desk.world.mail.refuse_freeze("the attachment is gone");
    let failed = desk.decide(id, Decision::Approve, Surface::Window).await;
    assert!(failed.unwrap_err().to_string().contains("the attachment is gone"));
    assert_eq!(desk.world.state(&effect).await, EffectState::AwaitingApproval);
    let card = desk.world.store.read(move |connection| crate::approvals::load(connection, id)).await.unwrap();
    assert_eq!(card.state, ApprovalState::Pending);
}

#[tokio::test]
async fn case_f18_a_busy_database_delays_the_decision_and_loses_nothing() {
    let desk = Desk::new().await;
    let (effect, id) = desk.ask("Offer").await;
    let path = desk.world.dir.path().join("data").join("unavez.db");
    let other = rusqlite::Connection::open(path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let release = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        other.execute_batch("ROLLBACK").unwrap();
    });
    let clock: std::sync::Arc<dyn crate::domain::ports::Clock> = std::sync::Arc::new(desk.world.clock.clone());
    let decided =
        decide_now(&desk.world.store, &clock, &desk.rules, id, Decision::Approve, "owner", Surface::Window).await;
    release.join().unwrap();
    assert_eq!(decided.unwrap().effect, effect);
    assert_eq!(desk.world.count("SELECT COUNT(*) FROM audit WHERE kind = 'approval_decided'").await, 1);
}
