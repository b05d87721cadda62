//! The hardest client: recipients, hold, frozen bytes, unknown, limits.

use super::{HOUR, MINUTE, SECOND, put};
use crate::domain::action::Action;
use crate::domain::effect::{EffectState as S, Found, Outcome, Performed, RecipientResult, RecipientState as R};
use crate::domain::ids::EffectId;
use crate::evidence::testing::*;
use crate::evidence::{Birth, EvidenceError, Resolution, cancel, cancel_conversation, recipients, resolve};

fn offer() -> Action {
    Action::SendEmail(mail("a@example.test", "Offer", "Hi"))
}

fn to_three() -> Action {
    let mut mail = mail("a@example.test", "Offer", "Hi");
    mail.cc = vec!["b@example.test".into(), "c@example.test".into()];
    Action::SendEmail(mail)
}

fn one(address: &str, state: R) -> RecipientResult {
    RecipientResult { address: format!("{address}@example.test"), state, reply: Some("reply".into()) }
}

async fn states(world: &World, id: &EffectId) -> Vec<R> {
    let id = id.clone();
    world
        .store
        .read(move |connection| recipients(connection, &id))
        .await
        .unwrap()
        .into_iter()
        .map(|one| one.state)
        .collect()
}

fn refused(recipients: Vec<RecipientResult>, outcome: Outcome) -> Performed {
    with_recipients(performed(outcome, "rcpt"), recipients)
}

fn try_later() -> Outcome {
    Outcome::Retryable { reason: "450".into(), retry_after: None, greylisted: false }
}

#[tokio::test(start_paused = true)]
async fn case_c12_bytes_and_message_id_are_fixed_when_ready_and_every_attempt_sends_them() {
    let mut world = World::new();
    world.mail.then(retryable("connection refused"));
    let id = put(&world, offer(), Birth::Ready, None).await;
    let fixed = world.effect(&id).await.message_id.unwrap();
    world.start_worker();
    world.pass(MINUTE * 3).await;
    let sent = world.mail.performed.lock().unwrap().clone();
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[0].payload, sent[1].payload);
    assert!(sent[0].payload.is_some());
    assert_eq!(sent[1].message_id.as_deref(), Some(fixed.as_str()));
}

#[tokio::test(start_paused = true)]
async fn a_mail_waits_its_hold_and_can_be_called_back_until_then() {
    let mut world = World::new();
    world.start_worker();
    let id = put(&world, offer(), Birth::Ready, None).await;
    let kept = put(&world, Action::SendEmail(mail("b@example.test", "Kept", "x")), Birth::Ready, None).await;
    world.pass(SECOND * 9).await;
    assert_eq!(world.mail.calls(), 0);
    let (settings, of) = (world.settings.clone(), id.clone());
    world.write(move |tx, now| cancel(tx, now, &settings, &of, "window")).await.unwrap();
    world.pass(SECOND * 2).await;
    assert_eq!(world.state(&id).await, S::Cancelled);
    assert_eq!(world.state(&kept).await, S::Accepted);
    assert_eq!(world.mail.calls(), 1);
    let (settings, of) = (world.settings.clone(), kept.clone());
    let late = world.write(move |tx, now| cancel(tx, now, &settings, &of, "window")).await;
    assert!(matches!(late, Err(EvidenceError::Settled { state: S::Accepted, .. })));
}

#[tokio::test(start_paused = true)]
async fn case_c06_one_bad_recipient_is_listed_and_nobody_is_served_twice() {
    let mut world = World::new();
    world.mail.then(with_recipients(
        accepted("Q1"),
        vec![one("a", R::Accepted), one("b", R::Rejected), one("c", R::Accepted)],
    ));
    let id = put(&world, to_three(), Birth::Ready, None).await;
    world.start_worker();
    world.pass(HOUR * 5).await;
    let row = world.effect(&id).await;
    assert_eq!((row.state, row.partial), (S::Accepted, true));
    assert_eq!(states(&world, &id).await, [R::Accepted, R::Rejected, R::Accepted]);
    assert_eq!(world.mail.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_retry_addresses_only_the_open_ones_and_giving_up_keeps_what_was_served() {
    let mut world = World::new();
    world.settings.max_attempts = 3;
    world
        .mail
        .then(with_recipients(accepted("Q1"), vec![one("a", R::Accepted), one("b", R::Open), one("c", R::Accepted)]));
    world.mail.then(refused(vec![one("b", R::Open)], try_later()));
    world.mail.then(refused(vec![one("b", R::Open)], try_later()));
    let id = put(&world, to_three(), Birth::Ready, None).await;
    world.start_worker();
    world.pass(MINUTE).await;
    assert_eq!(world.state(&id).await, S::Retryable);
    world.pass(HOUR).await;
    let asked: Vec<_> = world.mail.performed.lock().unwrap().iter().map(|d| d.open_recipients.len()).collect();
    assert_eq!(asked, [3, 1, 1]);
    let row = world.effect(&id).await;
    assert_eq!((row.state, row.partial, row.provider_id.as_deref()), (S::Accepted, true, Some("Q1")));
    assert_eq!(states(&world, &id).await, [R::Accepted, R::Failed, R::Accepted]);
}

#[tokio::test(start_paused = true)]
async fn case_c07_all_refused_is_rejected() {
    let mut world = World::new();
    let no = Outcome::Rejected { reason: "550".into() };
    world.mail.then(refused(vec![one("a", R::Rejected), one("b", R::Rejected), one("c", R::Rejected)], no));
    let id = put(&world, to_three(), Birth::Ready, None).await;
    world.start_worker();
    world.pass(HOUR).await;
    assert_eq!(world.state(&id).await, S::Rejected);
    assert_eq!(world.mail.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn cancelling_a_partly_delivered_mail_keeps_it_accepted_for_those_served() {
    let mut world = World::new();
    world.mail.then(with_recipients(accepted("Q1"), vec![one("a", R::Accepted), one("b", R::Open), one("c", R::Open)]));
    let id = put(&world, to_three(), Birth::Ready, None).await;
    world.start_worker();
    world.pass(SECOND * 20).await;
    assert_eq!(world.state(&id).await, S::Retryable);
    let (settings, of) = (world.settings.clone(), id.clone());
    let state = world.write(move |tx, now| cancel(tx, now, &settings, &of, "window")).await.unwrap();
    assert_eq!(state, S::Accepted);
    assert_eq!(states(&world, &id).await, [R::Accepted, R::Failed, R::Failed]);
    assert!(world.effect(&id).await.receipt.is_some());
}

#[tokio::test(start_paused = true)]
async fn case_b12_an_answer_that_was_lost_is_looked_for_and_never_sent_again() {
    let mut world = World::new();
    world.mail.then(unknown("connection cut after the final dot"));
    world.mail.then_found(Found::Yes { receipt: receipt("Sent/42") });
    let id = put(&world, offer(), Birth::Ready, None).await;
    world.start_worker();
    world.pass(MINUTE).await;
    let row = world.effect(&id).await;
    assert_eq!((row.state, row.provider_id.as_deref()), (S::Accepted, Some("Sent/42")));
    assert_eq!(world.mail.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn case_c14_absence_is_no_proof_and_the_schedule_ends_with_a_person() {
    let mut world = World::new();
    let owner = world.owner("1001").await;
    world.mail.then(unknown("cut"));
    let id = put(&world, offer(), Birth::Ready, Some(owner)).await;
    world.start_worker();
    let mut looks = Vec::new();
    for (pass, _) in [(SECOND * 11, 0), (SECOND * 31, 1), (MINUTE * 2, 2), (MINUTE * 10, 3), (HOUR, 4), (HOUR * 24, 5)]
    {
        world.pass(pass).await;
        looks.push(world.mail.look_count());
    }
    assert_eq!(looks, [1, 2, 3, 4, 5, 6]);
    world.pass(HOUR * 100).await;
    assert_eq!((world.mail.look_count(), world.mail.calls()), (6, 1));
    assert_eq!(world.state(&id).await, S::Unknown);
    let lines = world.texts("SELECT content FROM outbound ORDER BY id").await;
    assert_eq!(lines.len(), 1, "told once: {lines:?}");
    let now = crate::domain::ports::Clock::now(&world.clock);
    let items = world.store.read(move |connection| crate::evidence::attention(connection, now)).await.unwrap();
    assert_eq!(items[0].reason, crate::evidence::AttentionReason::NeedsPerson);
}

async fn make_unknown(world: &mut World) -> EffectId {
    world.mail.then(unknown("cut"));
    let id = put(world, offer(), Birth::Ready, None).await;
    world.start_worker();
    world.pass(MINUTE).await;
    assert_eq!(world.state(&id).await, S::Unknown);
    id
}

async fn answer(world: &World, id: &EffectId, resolution: Resolution) -> Result<S, EvidenceError> {
    let (settings, id) = (world.settings.clone(), id.clone());
    world.write(move |tx, now| resolve(tx, now, &settings, &id, resolution, "window:owner")).await
}

#[tokio::test(start_paused = true)]
async fn a_person_says_it_was_sent_and_the_receipt_says_who_said_so() {
    let mut world = World::new();
    let id = make_unknown(&mut world).await;
    assert_eq!(answer(&world, &id, Resolution::Sent).await.unwrap(), S::Accepted);
    let receipt = world.effect(&id).await.receipt.unwrap();
    assert_eq!(receipt.source, crate::domain::effect::ReceiptSource::Person);
    let again = answer(&world, &id, Resolution::NotSent).await;
    assert!(matches!(again, Err(EvidenceError::Settled { state: S::Accepted, .. })), "{again:?}");
}

#[tokio::test(start_paused = true)]
async fn a_person_says_it_was_not_sent_the_worker_looks_once_more_and_sends_the_same_bytes() {
    let mut world = World::new();
    let id = make_unknown(&mut world).await;
    let looks = world.mail.look_count();
    answer(&world, &id, Resolution::NotSent).await.unwrap();
    world.pass(SECOND).await;
    let row = world.effect(&id).await;
    assert_eq!((row.state, row.epoch), (S::Accepted, 2), "without the hold");
    assert_eq!(world.mail.look_count(), looks + 1);
    let sent = world.mail.performed.lock().unwrap().clone();
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[0].payload, sent[1].payload);
}

#[tokio::test(start_paused = true)]
async fn the_last_look_finds_it_after_all_and_nothing_is_sent() {
    let mut world = World::new();
    let id = make_unknown(&mut world).await;
    world.mail.then_found(Found::Yes { receipt: receipt("Sent/7") });
    answer(&world, &id, Resolution::NotSent).await.unwrap();
    world.pass(SECOND).await;
    assert_eq!(world.state(&id).await, S::Accepted);
    assert_eq!(world.mail.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn dropped_is_cancelled_and_left_still_blocks_off_the_list() {
    let mut world = World::new();
    let id = make_unknown(&mut world).await;
    answer(&world, &id, Resolution::Leave).await.unwrap();
    world.pass(HOUR * 50).await;
    let row = world.effect(&id).await;
    assert_eq!((row.state, row.left_by_person), (S::Unknown, true));
    let now = crate::domain::ports::Clock::now(&world.clock);
    assert!(world.store.read(move |connection| crate::evidence::attention(connection, now)).await.unwrap().is_empty());
    assert_eq!(answer(&world, &id, Resolution::Drop).await.unwrap(), S::Cancelled);
    world.pass(HOUR).await;
    assert_eq!(world.mail.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn only_so_many_mails_leave_in_an_hour() {
    let mut world = World::new();
    world.settings.mails_per_hour = 3;
    for n in 0..5 {
        put(&world, Action::SendEmail(mail("a@example.test", &format!("n{n}"), "x")), Birth::Ready, None).await;
    }
    world.start_worker();
    world.pass(MINUTE * 59).await;
    assert_eq!(world.mail.calls(), 3);
    world.pass(MINUTE * 2).await;
    assert_eq!(world.mail.calls(), 5);
}

#[tokio::test(start_paused = true)]
async fn stop_cancels_what_has_not_left_and_names_the_rest() {
    let mut world = World::new();
    let owner = world.owner("1001").await;
    let held = put(&world, offer(), Birth::Ready, Some(owner)).await;
    let asked =
        put(&world, Action::SendEmail(mail("b@example.test", "x", "y")), Birth::AwaitingApproval, Some(owner)).await;
    world.calendar.takes(MINUTE);
    let running =
        put(&world, Action::CreateEvent(event("Dentist", "2026-03-10T09:00:00+01:00")), Birth::Ready, Some(owner))
            .await;
    world.start_worker();
    world.pass(SECOND).await;
    let settings = world.settings.clone();
    let stopped =
        world.write(move |tx, now| cancel_conversation(tx, now, &settings, owner, "telegram:1001")).await.unwrap();
    assert_eq!(stopped.cancelled, [held]);
    assert_eq!(stopped.sending, std::slice::from_ref(&running));
    assert_eq!(stopped.waiting, std::slice::from_ref(&asked));
    world.pass(MINUTE * 2).await;
    assert_eq!(world.state(&running).await, S::Accepted, "never undone");
    assert_eq!(world.state(&asked).await, S::AwaitingApproval);
    assert_eq!(world.mail.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn email_steps_show_the_mails_under_their_own_names() {
    let mut world = World::new();
    put(&world, offer(), Birth::AwaitingApproval, None).await;
    put(&world, Action::SendEmail(mail("b@example.test", "x", "y")), Birth::Ready, None).await;
    world.start_worker();
    let seen =
        world.texts("SELECT state || ':' || awaiting_approval FROM email_steps ORDER BY awaiting_approval").await;
    assert_eq!(seen, ["pending:0", "pending:1"]);
    world.pass(MINUTE).await;
    let seen = world.texts("SELECT state || ':' || attempts FROM email_steps ORDER BY awaiting_approval").await;
    assert_eq!(seen, ["accepted:1", "pending:0"]);
}
