//! Claim, perform, record: by the worker, on virtual time.

use super::{HOUR, MINUTE, SECOND, put};
use crate::domain::action::{Action, DeleteEvent, EventChanges, UpdateEvent};
use crate::domain::effect::{EffectState as S, Found, Outcome};
use crate::evidence::testing::*;
use crate::evidence::{Applied, Birth, Claim, Claimed, apply_result, claim};
use crate::store::StoreError;

fn dentist() -> Action {
    Action::CreateEvent(event("Dentist", "2026-03-10T09:00:00+01:00"))
}

#[tokio::test(start_paused = true)]
async fn an_automatic_effect_is_done_once_with_its_receipt_and_audit() {
    let mut world = World::new();
    let id = put(&world, dentist(), Birth::Ready, None).await;
    world.start_worker();
    world.pass(SECOND).await;
    let row = world.effect(&id).await;
    assert_eq!((row.state, row.attempts, row.epoch), (S::Accepted, 1, 1));
    assert_eq!(row.receipt.unwrap().provider_id, row.provider_id);
    assert_eq!(world.calendar.calls(), 1);
    let kinds = world.texts("SELECT kind FROM audit ORDER BY seq").await;
    assert_eq!(kinds, ["effect_admitted", "effect_dispatched", "effect_outcome"]);
    world.pass(HOUR).await;
    assert_eq!(world.calendar.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn case_b25_success_ends_the_retrying_and_a_500_that_stored_nothing_is_tried_again() {
    let mut world = World::new();
    world.calendar.then(retryable("500, nothing stored"));
    let id = put(&world, dentist(), Birth::Ready, None).await;
    world.start_worker();
    world.pass(SECOND).await;
    assert_eq!(world.state(&id).await, S::Retryable);
    world.pass(MINUTE * 2).await;
    assert_eq!(world.state(&id).await, S::Accepted);
    world.pass(HOUR * 30).await;
    assert_eq!(world.calendar.calls(), 2);
    let outcomes = world.texts("SELECT outcome FROM effect_attempts ORDER BY n").await;
    assert_eq!(outcomes, ["retryable", "accepted"]);
}

#[tokio::test(start_paused = true)]
async fn case_b24_a_read_back_that_misses_it_once_is_no_reason_to_post_again() {
    let mut world = World::new();
    world.calendar.then(unknown("read-back found nothing"));
    world.calendar.then_found(Found::No { authoritative: false, detail: "404".into() });
    world.calendar.then_found(Found::Yes { receipt: receipt("e1") });
    let id = put(&world, dentist(), Birth::Ready, None).await;
    world.start_worker();
    world.pass(SECOND).await;
    assert_eq!(world.state(&id).await, S::Unknown);
    world.pass(MINUTE).await;
    let row = world.effect(&id).await;
    assert_eq!((row.state, row.provider_id.as_deref()), (S::Accepted, Some("e1")));
    assert_eq!(world.calendar.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn case_b31_no_second_attempt_while_the_first_one_runs() {
    let mut world = World::new();
    world.calendar.takes(SECOND * 34);
    let id = put(&world, dentist(), Birth::Ready, None).await;
    world.start_worker();
    world.pass(SECOND * 30).await;
    assert_eq!(world.state(&id).await, S::Dispatching);
    world.pass(MINUTE).await;
    assert_eq!(world.state(&id).await, S::Accepted);
    assert_eq!(world.calendar.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn proven_absence_is_tried_again_and_its_client_id_stays() {
    let mut world = World::new();
    world.calendar.then(unknown("timeout"));
    world.calendar.then_found(Found::No { authoritative: true, detail: "no such id".into() });
    let id = put(&world, dentist(), Birth::Ready, None).await;
    world.start_worker();
    world.pass(SECOND).await;
    assert_eq!(world.state(&id).await, S::Accepted);
    let dispatches = world.calendar.performed.lock().unwrap().clone();
    assert_eq!(dispatches.len(), 2);
    assert_eq!(dispatches[0].key, dispatches[1].key);
    assert_eq!((dispatches[0].epoch, dispatches[1].epoch), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn case_e03_overdue_work_runs_once_oldest_first() {
    let mut world = World::new();
    let mut ids = Vec::new();
    for minute in 0..4 {
        world.pass(SECOND).await;
        ids.push(
            put(
                &world,
                Action::CreateEvent(event(&format!("n{minute}"), "2026-03-10T09:00:00+01:00")),
                Birth::Ready,
                None,
            )
            .await,
        );
    }
    world.clock.slept(HOUR * 10);
    world.start_worker();
    world.pass(SECOND).await;
    let order: Vec<_> = world.calendar.performed.lock().unwrap().iter().map(|d| d.effect.clone()).collect();
    assert_eq!(order, ids);
}

#[tokio::test(start_paused = true)]
async fn a_stale_owner_writes_evidence_and_not_state() {
    let world = World::new();
    let id = put(&world, dentist(), Birth::Ready, None).await;
    let take = |owner: &'static str| {
        let (settings, targets, id) = (world.settings.clone(), world.targets.clone(), id.clone());
        world.write(move |tx, now| {
            claim(tx, now, &settings, &targets, &id, &Claim { owner: owner.into(), lease: MINUTE })
        })
    };
    let Claimed::Dispatch { dispatch: first, .. } = take("one").await.unwrap() else { panic!() };
    assert_eq!(take("two").await.unwrap(), Claimed::Gone, "one dispatch per epoch");
    // The first owner hangs; its claim is lost, proven absent, and taken again.
    let settings = world.settings.clone();
    world.write(move |tx, now| crate::evidence::recover(tx, now, &settings)).await.unwrap();
    let (settings, of) = (world.settings.clone(), id.clone());
    let absent = Found::No { authoritative: true, detail: String::new() };
    world.write(move |tx, now| crate::evidence::apply_found(tx, now, &settings, &of, 1, &absent)).await.unwrap();
    let Claimed::Dispatch { dispatch: second, .. } = take("two").await.unwrap() else { panic!() };
    assert_eq!((first.epoch, second.epoch), (1, 2));
    let result = |epoch, result| {
        let (settings, of) = (world.settings.clone(), id.clone());
        world.write(move |tx, now| apply_result(tx, now, &settings, &of, epoch, &result, 0.0))
    };
    assert_eq!(result(1, accepted("late")).await.unwrap(), Applied::KeptAsEvidence);
    assert_eq!(world.state(&id).await, S::Dispatching);
    assert_eq!(result(2, accepted("second")).await.unwrap(), Applied::State(S::Accepted));
    let late = world.count("SELECT COUNT(*) FROM effect_attempts WHERE late = 1 AND outcome = 'accepted'").await;
    assert_eq!(late, 1);
    let items =
        world.store.read(|connection| crate::evidence::attention(connection, Default::default())).await.unwrap();
    assert_eq!(items.len(), 1, "possibly twice: {items:?}");
}

#[tokio::test(start_paused = true)]
async fn a_late_acceptance_settles_what_waits() {
    let world = World::new();
    let id = put(&world, dentist(), Birth::Ready, None).await;
    let (settings, targets, of) = (world.settings.clone(), world.targets.clone(), id.clone());
    world
        .write(move |tx, now| claim(tx, now, &settings, &targets, &of, &Claim { owner: "one".into(), lease: MINUTE }))
        .await
        .unwrap();
    let settings = world.settings.clone();
    world.write(move |tx, now| crate::evidence::recover(tx, now, &settings)).await.unwrap();
    let (settings, of) = (world.settings.clone(), id.clone());
    let applied =
        world.write(move |tx, now| apply_result(tx, now, &settings, &of, 1, &accepted("late"), 0.0)).await.unwrap();
    assert_eq!(applied, Applied::LateEvidence(S::Accepted));
}

#[tokio::test(start_paused = true)]
async fn an_expired_lease_becomes_unknown_and_never_a_second_attempt() {
    let mut world = World::new();
    world.settings.lease = MINUTE;
    world.calendar.takes(HOUR);
    let id = put(&world, dentist(), Birth::Ready, None).await;
    world.start_worker();
    world.pass(MINUTE * 2).await;
    assert_eq!(world.state(&id).await, S::Unknown);
    assert_eq!(world.calendar.calls(), 1);
    world.pass(HOUR).await;
    assert_eq!(world.state(&id).await, S::Accepted, "the late reply settled it");
    assert_eq!(world.calendar.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn later_changes_release_earlier_ones_and_a_deletion_reverts_the_event() {
    let mut world = World::new();
    world.start_worker();
    let update = |title: &str| {
        Action::UpdateEvent(UpdateEvent {
            calendar: "local".into(),
            event_id: "e1".into(),
            occurrence: None,
            changes: EventChanges { title: Some(title.into()), ..Default::default() },
        })
    };
    world.calendar.then(accepted("e1"));
    let made = put(&world, dentist(), Birth::Ready, None).await;
    world.pass(SECOND).await;
    let first = put(&world, update("at 15:00"), Birth::Ready, None).await;
    world.pass(SECOND).await;
    assert_eq!(world.effect(&first).await.released, None);
    let second = put(&world, update("at 16:00"), Birth::Ready, None).await;
    world.pass(SECOND).await;
    assert!(world.effect(&first).await.released.is_some());
    assert_eq!(world.effect(&second).await.released, None);
    let delete = Action::DeleteEvent(DeleteEvent {
        calendar: "local".into(),
        event_id: "e1".into(),
        occurrence: None,
        title: "Dentist".into(),
        start: None,
    });
    put(&world, delete, Birth::Ready, None).await;
    world.pass(SECOND).await;
    assert_eq!(world.state(&made).await, S::Reverted);
    assert!(world.effect(&second).await.released.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_rejected_effect_tells_why_and_is_not_tried_again() {
    let mut world = World::new();
    let owner = world.owner("1001").await;
    world.calendar.then(rejected("400 invalid end, token=bot123:ABC"));
    let id = put(&world, dentist(), Birth::Ready, Some(owner)).await;
    world.start_worker();
    world.pass(HOUR).await;
    assert_eq!(world.state(&id).await, S::Rejected);
    assert_eq!(world.calendar.calls(), 1);
    let lines = world.texts("SELECT content FROM outbound ORDER BY id").await;
    assert_eq!(lines.len(), 1);
    assert!(lines[0].contains("Not done") && lines[0].contains("invalid end"), "{lines:?}");
}

#[tokio::test(start_paused = true)]
async fn every_conversation_that_was_told_gets_one_line() {
    let mut world = World::new();
    let one = world.owner("1001").await;
    let two = world.conversation("window", "main").await;
    world.calendar.takes(SECOND * 5);
    let id = put(&world, dentist(), Birth::Ready, Some(one)).await;
    let of = id.clone();
    world
        .write(move |tx, _| {
            crate::evidence::listen(tx, &of, two)?;
            crate::evidence::listen(tx, &of, two)?;
            Ok::<_, StoreError>(())
        })
        .await
        .unwrap();
    world.start_worker();
    world.pass(MINUTE).await;
    let told = world.texts("SELECT conversation_id || ':' || kind FROM outbound ORDER BY conversation_id").await;
    assert_eq!(told, [format!("{one}:notice"), format!("{two}:notice")]);
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_says_when_is_listened_to() {
    let mut world = World::new();
    let outcome = Outcome::Retryable { reason: "429".into(), retry_after: Some(MINUTE * 10), greylisted: false };
    world.calendar.then(performed(outcome, "request"));
    let id = put(&world, dentist(), Birth::Ready, None).await;
    world.start_worker();
    world.pass(MINUTE * 9).await;
    assert_eq!((world.state(&id).await, world.calendar.calls()), (S::Retryable, 1));
    world.pass(MINUTE * 3).await;
    assert_eq!((world.state(&id).await, world.calendar.calls()), (S::Accepted, 2));
}
