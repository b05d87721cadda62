//! Random lives of guard, approvals and evidence against a reference that knows only the specification's table.
//!
//! The reference keeps its own record of every effect, moved on by what the outside and the person did, and predicts
//! the verdict of every call. After each life the invariants are checked, and the outside is counted.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::approvals::{Decision, Surface};
use crate::domain::effect::EffectState as S;
use crate::domain::ids::PreventedId;
use crate::domain::time::Now;
use crate::evidence::testing::*;
use crate::evidence::{EffectRow, Resolution, cancel, resolve};
use crate::guard::{Person, do_anyway};
use crate::store::StoreError;

#[derive(Clone, Debug)]
enum Op {
    /// One of three actions, with or without another detail, from one of two chats.
    Ask {
        what: u8,
        detail: bool,
        other_chat: bool,
        repeat: bool,
    },
    /// What the outside answers next.
    Answer(u8),
    /// What the next look finds.
    Look(u8),
    Pass(u16),
    Sleep(u8),
    JumpWall(i8),
    Decide(bool),
    Undo,
    Resolve(u8),
    Anyway,
    Restart,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (0..3_u8, any::<bool>(), any::<bool>(), prop::bool::weighted(0.15))
            .prop_map(|(what, detail, other_chat, repeat)| Op::Ask { what, detail, other_chat, repeat }),
        2 => (0..5_u8).prop_map(Op::Answer),
        1 => (0..3_u8).prop_map(Op::Look),
        3 => prop::sample::select(vec![1_u16, 12, 40, 400, 599, 700]).prop_map(Op::Pass),
        1 => (1..30_u8).prop_map(Op::Sleep),
        1 => any::<i8>().prop_map(Op::JumpWall),
        3 => any::<bool>().prop_map(Op::Decide),
        1 => Just(Op::Undo),
        2 => (0..4_u8).prop_map(Op::Resolve),
        1 => Just(Op::Anyway),
        1 => Just(Op::Restart),
    ]
}

fn action(what: u8, detail: bool) -> Action {
    match what {
        0 => {
            let mut event = event("Dentist", "2026-03-10T09:00:00+01:00");
            event.location = detail.then(|| "Main St 1".into());
            Action::CreateEvent(event)
        }
        1 => {
            let mut event = event("Standup", "2026-03-11T09:00:00+01:00");
            event.guests = vec!["bo@example.test".into()];
            event.location = detail.then(|| "Room 1".into());
            Action::CreateEvent(event)
        }
        _ => {
            let mut mail = mail("a@example.test", "Offer", "Hi");
            mail.html = detail.then(|| "<b>Something else</b>".into());
            Action::SendEmail(mail)
        }
    }
}

/// The verdict table of the specification, said once more in the plainest way.
fn expected(rows: &[EffectRow], what: u8, detail: bool, repeat: bool, now: Now) -> &'static str {
    let wanted = action(what, detail);
    let asks = what != 0;
    let same: Vec<&EffectRow> = rows.iter().filter(|row| row.summary == wanted.summary()).collect();
    for row in &same {
        match row.state {
            S::AwaitingApproval => return "pending",
            S::Unknown => return "unresolved",
            // What is due right now may have ended after the wait: both answers are right.
            S::Ready | S::Retryable | S::Dispatching
                if row.next_attempt.is_some_and(|due| due > now.elapsed.plus(SECOND)) =>
            {
                return "in_flight";
            }
            S::Ready | S::Retryable | S::Dispatching => return "any",
            _ => {}
        }
    }
    let newest = same
        .iter()
        .filter(|row| row.state == S::Accepted && row.released.is_none())
        .map(|row| row.accepted_elapsed.unwrap())
        .max();
    match newest.map(|accepted| now.elapsed.since(accepted)) {
        Some(age) if age < Duration::from_secs(600) => {
            if repeat {
                "needs_approval"
            } else {
                "duplicate"
            }
        }
        Some(age) if age < Duration::from_secs(86_400) => "needs_approval",
        _ if asks => "needs_approval",
        _ => "admitted",
    }
}

async fn all(desk: &Desk) -> Vec<EffectRow> {
    let ids = desk.world.texts("SELECT id FROM effects ORDER BY rowid").await;
    let mut rows = Vec::new();
    for id in ids {
        rows.push(desk.world.effect(&EffectId(id)).await);
    }
    rows
}

/// Lives `ops`; gives how often each (state of what stood there, event) was reached.
async fn live(ops: &[Op]) -> Result<BTreeMap<(String, String), u64>, TestCaseError> {
    let mut reached: BTreeMap<(String, String), u64> = BTreeMap::new();
    let mut desk = Desk::new().await;
    let other = desk.world.conversation("window", "main").await;
    let (first, mut last_prevented) = (desk.conversation, 0);
    for op in ops {
        let rows = all(&desk).await;
        let mut note = |state: Option<S>, event: &str| {
            let state = state.map_or("none", S::as_str).to_owned();
            *reached.entry((state, event.to_owned())).or_default() += 1;
        };
        match op {
            Op::Ask { what, detail, other_chat, repeat } => {
                let now = crate::domain::ports::Clock::now(&desk.world.clock);
                let wanted = action(*what, *detail);
                let standing = rows.iter().rev().find(|row| row.summary == wanted.summary()).map(|row| row.state);
                note(standing, if *repeat { "ask_repeat" } else { "ask" });
                let expected = expected(&rows, *what, *detail, *repeat, now);
                desk.conversation = if *other_chat { other } else { first };
                desk.turn = desk.world.turn(desk.conversation).await;
                let mut request = desk.request(wanted);
                request.repeat = *repeat;
                let verdict = desk.admit(request.clone()).await.unwrap();
                let name = serde_json::to_value(&verdict).unwrap()["verdict"].as_str().unwrap().to_owned();
                prop_assert!(
                    expected == "any" || expected == name,
                    "expected {expected}, got {verdict:?} among {rows:#?}"
                );
                // The same call again gets the same verdict.
                prop_assert_eq!(desk.admit(request).await.unwrap(), verdict);
            }
            Op::Answer(kind) => {
                let answer = match kind {
                    0 => accepted("id"),
                    1 => rejected("no"),
                    2 => retryable("later"),
                    _ => unknown("cut"),
                };
                desk.world.calendar.then(answer.clone());
                desk.world.mail.then(answer);
            }
            Op::Look(kind) => {
                let found = match kind {
                    0 => crate::domain::effect::Found::Yes { receipt: receipt("found") },
                    1 => crate::domain::effect::Found::No { authoritative: true, detail: "absent".into() },
                    _ => crate::domain::effect::Found::Unreachable { reason: "offline".into() },
                };
                desk.world.calendar.then_found(found.clone());
                desk.world.mail.then_found(found);
            }
            Op::Pass(seconds) => desk.world.pass(SECOND * u32::from(*seconds)).await,
            Op::Sleep(hours) => {
                desk.world.clock.slept(HOUR * u32::from(*hours));
                desk.world.pass(MINUTE * 2).await;
            }
            Op::JumpWall(days) => desk.world.clock.jump_wall(i64::from(*days) * 86_400_000),
            Op::Decide(approve) => {
                let pending =
                    desk.world.store.read(|connection| approvals::list(connection, true, None, 1)).await.unwrap();
                let Some(pending) = pending.first().map(|approval| approval.id) else { continue };
                note(Some(S::AwaitingApproval), if *approve { "approve" } else { "deny" });
                let (rules, decision) = (desk.rules(), if *approve { Decision::Approve } else { Decision::Deny });
                let decided = desk
                    .world
                    .write(move |tx, now| {
                        approvals::decide(tx, now, &rules, pending, decision, "1001", Surface::Window)
                    })
                    .await;
                prop_assert!(
                    decided.is_ok() || matches!(decided, Err(approvals::ApprovalError::Expired(_))),
                    "{decided:?}"
                );
            }
            Op::Undo => {
                for row in &rows {
                    let (settings, id) = (desk.world.settings.clone(), row.id.clone());
                    let undone = desk.world.write(move |tx, now| cancel(tx, now, &settings, &id, "window")).await;
                    note(Some(row.state), "undo");
                    let may = matches!(row.state, S::Ready | S::Retryable);
                    prop_assert!(undone.is_ok() == may, "{:?} {undone:?}", row.state);
                }
            }
            Op::Resolve(kind) => {
                let resolution = match kind {
                    0 => Resolution::Sent,
                    1 => Resolution::NotSent,
                    2 => Resolution::Drop,
                    _ => Resolution::Leave,
                };
                for row in &rows {
                    let (settings, id) = (desk.world.settings.clone(), row.id.clone());
                    let resolved =
                        desk.world.write(move |tx, now| resolve(tx, now, &settings, &id, resolution, "window")).await;
                    note(Some(row.state), "resolve");
                    prop_assert!(resolved.is_ok() == (row.state == S::Unknown), "{:?} {resolved:?}", row.state);
                }
            }
            Op::Anyway => {
                let newest = desk.world.count("SELECT COALESCE(MAX(id), 0) FROM prevented").await;
                if newest > last_prevented {
                    last_prevented = newest;
                    let person = Person { surface: Surface::Window, who: "owner".into() };
                    note(None, "do_anyway");
                    do_anyway(&desk.deps(), PreventedId(newest), person).await.unwrap();
                }
            }
            Op::Restart => {
                for row in &rows {
                    note(Some(row.state), "restart");
                }
                desk.world.restart();
                desk.world.start_worker();
                desk.world.pass(SECOND).await;
            }
        }
    }
    let now = crate::domain::ports::Clock::now(&desk.world.clock);
    let broken = desk
        .world
        .store
        .read(move |connection| {
            let found = crate::audit::invariants::check(connection, now, Duration::from_secs(600))?;
            // The turns are the fixture's own, without their audit entries.
            Ok::<_, StoreError>(found.into_iter().filter(|one| !one.what.starts_with("a turn")).collect::<Vec<_>>())
        })
        .await
        .unwrap();
    prop_assert_eq!(broken, vec![]);
    // What really left: never more requests than claims, one per epoch.
    let claims = desk.world.count("SELECT COUNT(*) FROM effect_attempts").await;
    let requests = i64::try_from(desk.world.calendar.calls() + desk.world.mail.calls()).unwrap();
    prop_assert!(requests <= claims, "{requests} requests, {claims} claims");
    Ok(reached)
}

/// Pairs that a run must have reached, or it proves less than it says.
const PAIRS: [(&str, &str); 22] = [
    ("none", "ask"),
    ("awaiting_approval", "ask"),
    ("ready", "ask"),
    ("retryable", "ask"),
    ("unknown", "ask"),
    ("accepted", "ask"),
    ("rejected", "ask"),
    ("denied", "ask"),
    ("cancelled", "ask"),
    ("accepted", "ask_repeat"),
    ("awaiting_approval", "ask_repeat"),
    ("awaiting_approval", "approve"),
    ("awaiting_approval", "deny"),
    ("ready", "undo"),
    ("unknown", "undo"),
    ("accepted", "undo"),
    ("unknown", "resolve"),
    ("accepted", "resolve"),
    ("ready", "restart"),
    ("unknown", "restart"),
    ("accepted", "restart"),
    ("none", "do_anyway"),
];

/// `UNAVEZ_PROOF_CASES` lives of up to 30 acts, 120 without it: what a test run has time for.
#[test]
fn random_lives_agree_with_the_table() {
    let cases = std::env::var("UNAVEZ_PROOF_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(120);
    let config =
        ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 200, ..ProptestConfig::default() };
    let reached = std::cell::RefCell::new(BTreeMap::<(String, String), u64>::new());
    // The same lives in every run of this size; a failing one is printed, shrunk.
    let rng = proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha);
    let mut runner = proptest::test_runner::TestRunner::new_with_rng(config, rng);
    let outcome = runner.run(&prop::collection::vec(op(), 5..30), |ops| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        for (pair, count) in runtime.block_on(live(&ops))? {
            *reached.borrow_mut().entry(pair).or_default() += count;
        }
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
    let reached = reached.into_inner();
    let missing: Vec<_> = PAIRS
        .iter()
        .filter(|(state, event)| !reached.contains_key(&((*state).to_owned(), (*event).to_owned())))
        .collect();
    assert!(missing.is_empty(), "not reached: {missing:?}; reached: {reached:#?}");
}
