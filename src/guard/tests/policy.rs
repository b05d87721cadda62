//! Policy, marks, and where targets come from.

use super::*;
use crate::domain::action::{CreateEvent, OtherAction};
use crate::domain::effect::{EffectState, Mark};
use crate::domain::tool::Policy;
use crate::evidence::testing::*;

const NINE: &str = "2026-03-10T09:00:00+01:00";

fn dentist() -> Action {
    Action::CreateEvent(event("Dentist", NINE))
}

fn offer() -> Action {
    Action::SendEmail(mail("a@example.test", "Offer", "Hi"))
}

fn with_guest() -> Action {
    Action::CreateEvent(CreateEvent { guests: vec!["bo@example.test".into()], ..event("Lunch", NINE) })
}

#[tokio::test(start_paused = true)]
async fn the_defaults_ask_for_mail_guests_deletions_and_foreign_tools() {
    let desk = Desk::new().await;
    admitted(desk.ask(dentist()).await);
    assert!(asked(desk.ask(with_guest()).await).2.contains(&Mark::Guests));
    asked(desk.ask(offer()).await);
    let other =
        OtherAction { tool: "notes__add".into(), arguments: serde_json::json!({"text": "x"}), identity_fields: vec![] };
    asked(desk.ask(Action::Other(other)).await);
}

#[tokio::test(start_paused = true)]
async fn deny_always_wins_and_inserts_nothing() {
    let mut desk = Desk::new().await;
    desk.done(dentist()).await;
    desk.approvals.policies.calendar_create = Policy::Deny;
    desk.world.pass(HOUR).await;
    let mut request = desk.request(dentist());
    request.repeat = true;
    request.stale_seconds = Some(9_000);
    assert!(matches!(desk.admit(request).await.unwrap(), Verdict::Denied { .. }));
    assert!(matches!(desk.ask(with_guest()).await, Verdict::Denied { .. }));
    assert_eq!(desk.world.count("SELECT COUNT(*) FROM effects").await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_stale_request_needs_a_person_except_an_event_without_guests_that_lies_ahead() {
    let mut desk = Desk::new().await;
    desk.approvals.policies.calendar_create_with_guests = Policy::Auto;
    desk.approvals.policies.mail_send = Policy::Auto;
    let stale = |action: Action| {
        let mut request = desk.request(action);
        request.stale_seconds = Some(6 * 3600);
        request
    };
    admitted(desk.admit(stale(dentist())).await.unwrap());
    let past = Action::CreateEvent(event("Yesterday", "2026-03-01T09:00:00+01:00"));
    assert_eq!(asked(desk.admit(stale(past)).await.unwrap()).2, [Mark::Stale]);
    assert!(asked(desk.admit(stale(with_guest())).await.unwrap()).2.contains(&Mark::Stale));
    let (_, approval, _) = asked(desk.admit(stale(offer())).await.unwrap());
    let card = desk.world.store.read(move |connection| approvals::load(connection, approval)).await.unwrap();
    assert!(approvals::mark_text(Mark::Stale, &card.notes, Default::default()).contains("6 h"));
}

#[tokio::test(start_paused = true)]
async fn a_target_that_no_owner_wrote_needs_a_card_whatever_the_policy() {
    let mut desk = Desk::new().await;
    desk.approvals.policies.mail_send = Policy::Auto;
    let sources = [
        vec![],
        vec![TargetOrigin {
            kind: TargetKind::Mail,
            target: "a@example.test".into(),
            source: TargetSource::Untrusted { carrier: "a mail from eve@evil.test".into() },
        }],
        vec![TargetOrigin { kind: TargetKind::Mail, target: "a@example.test".into(), source: TargetSource::Unseen }],
    ];
    for (n, provenance) in sources.into_iter().enumerate() {
        let mut request = desk.request(Action::SendEmail(mail("a@example.test", &format!("n{n}"), "x")));
        request.provenance = provenance;
        let (_, approval, marks) = asked(desk.admit(request).await.unwrap());
        assert!(marks.contains(&Mark::UntrustedTarget), "{marks:?}");
        let card = desk.world.store.read(move |connection| approvals::load(connection, approval)).await.unwrap();
        assert_eq!(card.notes.origins[0].target, "a@example.test");
    }
    // Once a person confirmed the address, it is known.
    let mut request = desk.request(offer());
    request.provenance = vec![];
    let (_, approval, _) = asked(desk.admit(request).await.unwrap());
    desk.decide(approval, approvals::Decision::Approve).await;
    let mut request = desk.request(Action::SendEmail(mail("A@example.test", "next", "x")));
    request.provenance = vec![];
    admitted(desk.admit(request).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_guest_that_only_the_model_named_follows_the_policy_for_guests() {
    let mut desk = Desk::new().await;
    desk.approvals.policies.calendar_create_with_guests = Policy::Auto;
    let origin = |source| {
        let Action::CreateEvent(event) = with_guest() else { unreachable!("an event") };
        event
            .guests
            .into_iter()
            .map(|target| TargetOrigin { kind: TargetKind::Mail, target, source: TargetSource::clone(&source) })
            .collect()
    };
    let mut request = desk.request(with_guest());
    request.provenance = origin(TargetSource::Unseen);
    let (_, approval, marks) = asked(desk.admit(request).await.unwrap());
    assert!(marks.contains(&Mark::UntrustedTarget), "{marks:?}");
    desk.decide(approval, approvals::Decision::Deny).await;
    let mut request = desk.request(with_guest());
    request.provenance = origin(TargetSource::Model);
    admitted(desk.admit(request).await.unwrap());
    // A mail to an address that only the model named still needs a person.
    desk.approvals.policies.mail_send = Policy::Auto;
    let mut request = desk.request(offer());
    request.provenance =
        vec![TargetOrigin { kind: TargetKind::Mail, target: "a@example.test".into(), source: TargetSource::Model }];
    assert!(asked(desk.admit(request).await.unwrap()).2.contains(&Mark::UntrustedTarget));
}

#[tokio::test(start_paused = true)]
async fn an_address_an_owner_wrote_is_new_only_once() {
    let mut desk = Desk::new().await;
    desk.approvals.policies.mail_send = Policy::Auto;
    admitted(desk.ask(offer()).await);
    desk.approvals.policies.mail_send = Policy::Ask;
    let (_, _, marks) = asked(desk.ask(Action::SendEmail(mail("b@example.test", "x", "y"))).await);
    assert_eq!(marks, [Mark::NewRecipient]);
    let (_, _, marks) = asked(desk.ask(Action::SendEmail(mail("a@example.test", "x", "y"))).await);
    assert_eq!(marks, []);
}

#[tokio::test(start_paused = true)]
async fn a_url_argument_from_a_mail_needs_a_card_too() {
    let mut desk = Desk::new().await;
    desk.approvals.policies.other = Policy::Auto;
    let action = |n: i64| {
        Action::Other(OtherAction {
            tool: "notes__add".into(),
            arguments: serde_json::json!({ "url": "https://evil.test", "n": n }),
            identity_fields: vec![],
        })
    };
    let mut request = desk.request(action(1));
    request.provenance = vec![TargetOrigin {
        kind: TargetKind::Url,
        target: "https://evil.test".into(),
        source: TargetSource::Untrusted { carrier: "a mail".into() },
    }];
    assert_eq!(asked(desk.admit(request).await.unwrap()).2, [Mark::UntrustedTarget]);
    admitted(desk.ask(action(2)).await);
}

#[tokio::test(start_paused = true)]
async fn a_card_says_when_a_mail_is_only_saved() {
    let mut desk = Desk::new().await;
    desk.saves_only = true;
    let (effect, approval, _) = asked(desk.ask(offer()).await);
    let card = desk.world.store.read(move |connection| approvals::load(connection, approval)).await.unwrap();
    assert!(card.notes.saves_only);
    let buttons = desk.world.texts("SELECT buttons FROM outbound WHERE kind = 'card'").await;
    assert!(buttons[0].contains("Save as a file"), "{buttons:?}");
    assert_eq!(desk.world.state(&effect).await, EffectState::AwaitingApproval);
}

#[tokio::test(start_paused = true)]
async fn other_tools_are_identified_by_what_they_declare() {
    let mut desk = Desk::new().await;
    desk.approvals.policies.other = Policy::Auto;
    let add = |arguments: serde_json::Value, fields: &[&str]| {
        Action::Other(OtherAction {
            tool: "notes__add".into(),
            arguments,
            identity_fields: fields.iter().map(|field| (*field).to_owned()).collect(),
        })
    };
    let first = desk.done(add(serde_json::json!({"title": "a", "text": "x"}), &["title"])).await;
    let (of, differences) = duplicate(desk.ask(add(serde_json::json!({"text": "y", "title": "a"}), &["title"])).await);
    assert_eq!((of, differences), (first, vec!["text".to_owned()]));
    let big = |n: u64| add(serde_json::json!({ "id": n }), &[]);
    let one = desk.done(big(9_007_199_254_740_993)).await;
    assert_ne!(desk.done(big(9_007_199_254_740_992)).await, one, "integers are exact");
    assert_eq!(duplicate(desk.ask(big(9_007_199_254_740_993)).await).0, one);
}
