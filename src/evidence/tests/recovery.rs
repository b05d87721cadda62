//! Kills, restarts, restores.

use super::{HOUR, MINUTE, SECOND, put};
use crate::domain::action::Action;
use crate::domain::effect::{EffectState as S, Found};
use crate::evidence::testing::*;
use crate::evidence::{Birth, after_restore};

fn dentist() -> Action {
    Action::CreateEvent(event("Dentist", "2026-03-10T09:00:00+01:00"))
}

#[tokio::test(start_paused = true)]
async fn case_c15_killed_between_body_and_reply_it_is_unknown_and_never_sent_by_a_tick() {
    let mut world = World::new();
    world.mail.takes(HOUR);
    let id = put(&world, Action::SendEmail(mail("a@example.test", "Offer", "Hi")), Birth::Ready, None).await;
    world.start_worker();
    world.pass(MINUTE).await;
    assert_eq!(world.state(&id).await, S::Dispatching);
    world.restart();
    world.mail.takes(Default::default());
    world.start_worker();
    world.pass(MINUTE * 15).await;
    let row = world.effect(&id).await;
    assert_eq!(row.state, S::Unknown);
    assert_eq!(world.mail.calls(), 1);
    let outcome = world.texts("SELECT outcome FROM effect_attempts").await;
    assert_eq!(outcome, ["unknown"]);
}

#[tokio::test(start_paused = true)]
async fn case_c16_and_b36_a_row_that_was_never_dispatched_continues_after_a_restart() {
    let mut world = World::new();
    let id = put(&world, dentist(), Birth::Ready, None).await;
    world.restart();
    world.start_worker();
    world.pass(SECOND).await;
    assert_eq!(world.state(&id).await, S::Accepted);
    assert_eq!(world.calendar.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn case_b32_an_authoritative_read_after_the_restart_settles_it_without_a_second_post() {
    for happened in [true, false] {
        let mut world = World::new();
        world.calendar.takes(HOUR);
        let id = put(&world, dentist(), Birth::Ready, None).await;
        world.start_worker();
        world.pass(SECOND).await;
        world.restart();
        world.calendar.takes(Default::default());
        world.calendar.then_found(if happened {
            Found::Yes { receipt: receipt("e1") }
        } else {
            Found::No { authoritative: true, detail: "404".into() }
        });
        world.start_worker();
        world.pass(SECOND).await;
        assert_eq!(world.state(&id).await, S::Accepted);
        assert_eq!(world.calendar.calls(), if happened { 1 } else { 2 });
    }
}

#[tokio::test(start_paused = true)]
async fn the_schedule_of_looks_goes_on_after_a_restart() {
    let mut world = World::new();
    world.mail.then(unknown("cut"));
    let id = put(&world, Action::SendEmail(mail("a@example.test", "Offer", "Hi")), Birth::Ready, None).await;
    world.start_worker();
    world.pass(SECOND * 50).await;
    assert_eq!(world.mail.look_count(), 2, "0 s and 30 s");
    world.restart();
    world.clock.slept(MINUTE * 30);
    world.start_worker();
    world.pass(SECOND).await;
    assert_eq!(world.mail.look_count(), 3, "one look for those that fell into the sleep");
    world.pass(MINUTE * 40).await;
    assert_eq!(world.mail.look_count(), 4, "the one at an hour");
    assert_eq!(world.state(&id).await, S::Unknown);
}

#[tokio::test(start_paused = true)]
async fn after_a_restore_what_was_under_way_may_have_happened() {
    let mut world = World::new();
    let ready = put(&world, dentist(), Birth::Ready, None).await;
    let asked = put(&world, Action::SendEmail(mail("a@example.test", "x", "y")), Birth::AwaitingApproval, None).await;
    let settings = world.settings.clone();
    let found = world.write(move |tx, now| after_restore(tx, now, &settings)).await.unwrap();
    assert_eq!(found, std::slice::from_ref(&ready));
    assert_eq!(world.state(&ready).await, S::Unknown);
    assert_eq!(world.state(&asked).await, S::AwaitingApproval, "approvals expire in their own stage");
    world.calendar.then_found(Found::Yes { receipt: receipt("e1") });
    world.start_worker();
    world.pass(SECOND).await;
    assert_eq!(world.state(&ready).await, S::Accepted);
    assert_eq!(world.calendar.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn case_f09_what_is_not_what_was_admitted_does_not_leave() {
    let mut world = World::new();
    let id = put(&world, Action::SendEmail(mail("a@example.test", "Offer", "B1")), Birth::Ready, None).await;
    let of = id.clone();
    world
        .write(move |tx, _| {
            tx.execute("UPDATE effects SET action = replace(action, 'B1', 'B2') WHERE id = ?1", [of])?;
            Ok::<_, crate::store::StoreError>(())
        })
        .await
        .unwrap();
    world.start_worker();
    world.pass(MINUTE).await;
    assert_eq!(world.state(&id).await, S::Cancelled);
    assert_eq!(world.mail.calls(), 0);
}
