//! Births and decisions.

use super::put;
use crate::audit::Actor;
use crate::domain::action::Action;
use crate::domain::effect::EffectState as S;
use crate::evidence::testing::*;
use crate::evidence::{Birth, EvidenceError, approve, deny, expire};

#[tokio::test(start_paused = true)]
async fn an_approval_fixes_the_bytes_and_starts_the_hold() {
    let world = World::new();
    let id = put(&world, Action::SendEmail(mail("a@example.test", "x", "y")), Birth::AwaitingApproval, None).await;
    assert_eq!(world.effect(&id).await.message_id, None);
    let (settings, targets, of) = (world.settings.clone(), world.targets.clone(), id.clone());
    world
        .write(move |tx, now| approve(tx, now, &settings, &targets, &of, Actor::Person("window".into())))
        .await
        .unwrap();
    let row = world.effect(&id).await;
    let now = crate::domain::ports::Clock::now(&world.clock);
    assert_eq!((row.state, row.next_attempt), (S::Ready, Some(now.elapsed.plus(world.settings.hold))));
    assert!(row.message_id.is_some());
    let (settings, of) = (world.settings.clone(), id.clone());
    let late = world.write(move |tx, now| deny(tx, now, &settings, &of, Actor::System)).await;
    assert!(matches!(late, Err(EvidenceError::Illegal(_))));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_composed_is_not_asked_for() {
    let world = World::new();
    world.mail.refuse_freeze("the attachment is gone");
    let literal = crate::evidence::literal_hash("me", &Action::SendEmail(mail("a@example.test", "x", "y"))).unwrap();
    let new = crate::evidence::NewEffect {
        id: "e".into(),
        tool: "send_email".into(),
        target: "mail".into(),
        account: "me".into(),
        key: "k".into(),
        identity: "i".into(),
        digest: "d".into(),
        literal,
        normalisation: 1,
        near_key: None,
        intent: Default::default(),
        action: Action::SendEmail(mail("a@example.test", "x", "y")),
        conversation: None,
        turn: None,
        call_id: None,
        repeat_of: None,
        replaces: None,
        told: false,
    };
    let (settings, targets) = (world.settings.clone(), world.targets.clone());
    let refused = world
        .write(move |tx, now| {
            crate::evidence::insert(tx, now, &settings, &targets, &new, Birth::AwaitingApproval, Actor::Model)
        })
        .await;
    assert!(matches!(refused, Err(EvidenceError::NotSendable { .. })));
    assert_eq!(world.count("SELECT COUNT(*) FROM effects").await, 0);
}

#[tokio::test(start_paused = true)]
async fn an_expired_one_ran_nothing_and_says_so() {
    let world = World::new();
    let owner = world.owner("1001").await;
    let id =
        put(&world, Action::SendEmail(mail("a@example.test", "x", "y")), Birth::AwaitingApproval, Some(owner)).await;
    let (settings, of) = (world.settings.clone(), id.clone());
    world.write(move |tx, now| expire(tx, now, &settings, &of, "nobody decided")).await.unwrap();
    assert_eq!(world.state(&id).await, S::Expired);
    let lines = world.texts("SELECT content FROM outbound").await;
    assert!(lines[0].contains("nobody approved it in time"), "{lines:?}");
}
