//! The exact key, turns that were taken back, and faults.

use super::*;
use crate::evidence::testing::*;
use crate::store::StoreError;

const NINE: &str = "2026-03-10T09:00:00+01:00";

fn dentist() -> Action {
    Action::CreateEvent(event("Dentist", NINE))
}

#[tokio::test(start_paused = true)]
async fn a_replay_gets_the_stored_verdict_whatever_it_was_and_however_late() {
    let desk = Desk::new().await;
    let request = desk.request(dentist());
    let first = desk.admit(request.clone()).await.unwrap();
    desk.world.pass(SECOND).await;
    let other = desk.request(dentist());
    let second = desk.admit(other.clone()).await.unwrap();
    assert!(matches!(second, Verdict::Duplicate { .. }));
    desk.world.pass(HOUR * 72).await;
    assert_eq!(desk.admit(request).await.unwrap(), first);
    assert_eq!(desk.admit(other).await.unwrap(), second);
    assert_eq!(desk.made(), 1);
    assert_eq!(desk.prevented().await, ["duplicate/guard", "replayed/exact", "replayed/exact"]);
}

#[tokio::test(start_paused = true)]
async fn the_same_call_with_another_action_is_a_fault_that_goes_to_a_person() {
    let desk = Desk::new().await;
    let mut request = desk.request(dentist());
    desk.admit(request.clone()).await.unwrap();
    request.action = Action::CreateEvent(event("Haircut", "2026-03-11T09:00:00+01:00"));
    let (effect, approval, _) = asked(desk.admit(request.clone()).await.unwrap());
    let card = desk.world.store.read(move |connection| approvals::load(connection, approval)).await.unwrap();
    assert!(card.notes.fault);
    let faults = desk.world.count("SELECT COUNT(*) FROM audit WHERE details LIKE '%another action%'").await;
    assert_eq!(faults, 1);
    assert_eq!(asked(desk.admit(request).await.unwrap()).0, effect, "the fault replays as well");
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_was_taken_back_or_stopped_admits_nothing() {
    let desk = Desk::new().await;
    let request = desk.request(dentist());
    let turn = desk.turn.clone();
    desk.world
        .write(move |tx, _| {
            tx.execute("UPDATE turns SET epoch = 2 WHERE id = ?1", [turn])?;
            Ok::<_, StoreError>(())
        })
        .await
        .unwrap();
    assert!(matches!(desk.admit(request.clone()).await, Err(GuardError::TurnSuperseded)));
    let turn = desk.turn.clone();
    desk.world
        .write(move |tx, _| {
            tx.execute("UPDATE turns SET epoch = 1, stop_requested = 1 WHERE id = ?1", [turn])?;
            Ok::<_, StoreError>(())
        })
        .await
        .unwrap();
    assert!(matches!(desk.admit(request).await, Err(GuardError::TurnSuperseded)));
    assert_eq!(desk.world.count("SELECT COUNT(*) FROM effects").await, 0);
}

#[tokio::test(start_paused = true)]
async fn an_inserted_effect_fences_its_turn_and_a_duplicate_does_not() {
    let mut desk = Desk::new().await;
    desk.done(dentist()).await;
    assert_eq!(desk.world.count("SELECT fenced FROM turns").await, 1);
    desk.turn = desk.world.turn(desk.conversation).await;
    desk.ask(dentist()).await;
    assert_eq!(desk.world.count("SELECT fenced FROM turns ORDER BY number DESC LIMIT 1").await, 0);
}

#[tokio::test(start_paused = true)]
async fn every_prevented_duplicate_is_audited_with_the_first_effect_and_counted() {
    let desk = Desk::new().await;
    let first = desk.done(dentist()).await;
    desk.ask(dentist()).await;
    let audited = desk.world.texts("SELECT effect_id FROM audit WHERE kind = 'duplicate_prevented'").await;
    assert_eq!(audited, [first.to_string()]);
    let counted = desk.world.texts("SELECT layer || ':' || count FROM layer_counts").await;
    assert_eq!(counted, ["guard:1"]);
    let valid = desk.world.store.read(|connection| crate::audit::verify(connection, None)).await.unwrap();
    assert!(valid.bad.is_none(), "{valid:?}");
}
