//! Mails: form makes no difference, content does.

use super::*;
use crate::approvals::Decision;
use crate::domain::action::{AttachedFile, SendEmail};
use crate::domain::effect::{EffectState, Mark};
use crate::evidence::testing::*;

fn send(mail: SendEmail) -> Action {
    Action::SendEmail(mail)
}

fn offer(body: &str) -> SendEmail {
    mail("a@example.test", "Offer", body)
}

/// Sends mails without asking, so that the window is what is tested.
async fn automatic() -> Desk {
    let mut desk = Desk::new().await;
    desk.approvals.policies.mail_send = crate::domain::tool::Policy::Auto;
    desk
}

async fn sent(desk: &Desk, mail: SendEmail) -> EffectId {
    let effect = admitted(desk.ask(send(mail)).await);
    desk.world.pass(SECOND * 12).await;
    assert_eq!(desk.world.state(&effect).await, EffectState::Accepted);
    effect
}

#[tokio::test(start_paused = true)]
async fn case_b07_the_form_of_the_body_makes_no_difference() {
    let desk = automatic().await;
    let first = sent(&desk, offer("Hi,\r\nsee you.\r\n")).await;
    let html = SendEmail { html: Some("<p>Hi,<br>see you.</p>".into()), ..offer("") };
    for again in [html, offer("Hi,\nsee you."), offer("Hi, \n\nsee you.  \n")] {
        assert_eq!(duplicate(desk.ask(send(again)).await).0, first);
    }
    assert_eq!(desk.world.mail.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn case_b08_quoted_history_in_a_reply_makes_no_difference() {
    let desk = automatic().await;
    let reply = |body: &str| SendEmail {
        in_reply_to: Some("<t1@example.test>".into()),
        thread: Some("<t1@example.test>".into()),
        ..offer(body)
    };
    let first = sent(&desk, reply("Works for me.")).await;
    let quoted = reply("Works for me.\n\nOn Mon, 2 Mar 2026 at 10:00, Bo <b@example.test> wrote:\n> earlier text");
    assert_eq!(duplicate(desk.ask(send(quoted)).await), (first, vec![]));
    assert_eq!(desk.world.mail.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn case_b09_recipients_are_a_set_of_addresses() {
    let desk = automatic().await;
    let to = |list: &[&str]| SendEmail { to: list.iter().map(|one| (*one).to_owned()).collect(), ..offer("x") };
    let first = sent(&desk, to(&["B@Example.test", "a@example.test"])).await;
    let again = to(&["A <a@example.test>", "b@example.test", "b@example.test"]);
    assert_eq!(duplicate(desk.ask(send(again)).await).0, first);
    admitted(desk.ask(send(to(&["b@example.test", "a+x@example.test"]))).await);
}

#[tokio::test(start_paused = true)]
async fn case_b12_and_b13_an_unknown_mail_blocks_whatever_its_age() {
    let desk = automatic().await;
    desk.world.mail.then(unknown("cut"));
    let first = admitted(desk.ask(send(offer("x"))).await);
    desk.world.pass(SECOND * 700).await;
    assert_eq!(desk.world.state(&first).await, EffectState::Unknown);
    let verdict = desk.ask(send(offer("x"))).await;
    assert!(matches!(&verdict, Verdict::Unresolved { effect, .. } if *effect == first), "{verdict:?}");
    let words = crate::guard::words::for_model(&verdict);
    assert_eq!(words["status"], "unresolved");
    assert_eq!(desk.world.mail.calls(), 1);
    assert_eq!(desk.prevented().await, ["unresolved/guard"]);
}

#[tokio::test(start_paused = true)]
async fn an_unresolved_mail_reaches_other_bodies_whatever_the_settings() {
    let mut desk = automatic().await;
    desk.settings.near_duplicates = crate::guard::NearDuplicates::Off;
    desk.world.mail.then(unknown("cut"));
    admitted(desk.ask(send(offer("x"))).await);
    desk.world.pass(HOUR * 30).await;
    let (effect, approval, marks) = asked(desk.ask(send(offer("in other words"))).await);
    assert_eq!(marks, [Mark::NearDuplicate]);
    let card = desk.world.store.read(move |connection| approvals::load(connection, approval)).await.unwrap();
    assert!(card.notes.earlier_unresolved);
    assert_eq!(desk.world.state(&effect).await, EffectState::AwaitingApproval);
}

#[tokio::test(start_paused = true)]
async fn case_b14_a_repeat_on_purpose_is_a_marked_question_and_then_a_second_mail() {
    let desk = automatic().await;
    let first = sent(&desk, offer("reminder")).await;
    let mut again = desk.request(send(offer("reminder")));
    again.repeat = true;
    let (second, approval, marks) = asked(desk.admit(again).await.unwrap());
    assert_eq!(marks, [Mark::Repeat]);
    assert_eq!(desk.world.effect(&second).await.repeat_of, Some(first));
    desk.decide(approval, Decision::Approve).await;
    assert_eq!(desk.world.state(&second).await, EffectState::Accepted);
    assert_eq!(desk.world.mail.calls(), 2);
}

#[tokio::test(start_paused = true)]
async fn case_b20_another_attachment_thread_or_sender_is_another_mail() {
    let desk = automatic().await;
    let file = |hash: &str| AttachedFile {
        name: "report.pdf".into(),
        mime: "application/pdf".into(),
        sha256: hash.into(),
        bytes: 1,
    };
    let with = |hash: &str| SendEmail { attachments: vec![file(hash)], ..mail("a@example.test", "Report", "attached") };
    sent(&desk, with("aa")).await;
    sent(&desk, with("bb")).await;
    sent(&desk, SendEmail { in_reply_to: Some("<t@example.test>".into()), ..with("aa") }).await;
    sent(&desk, SendEmail { from: "other@example.test".into(), ..with("aa") }).await;
    let renamed = SendEmail { attachments: vec![AttachedFile { name: "copy.pdf".into(), ..file("aa") }], ..with("aa") };
    duplicate(desk.ask(send(renamed)).await);
    assert_eq!(desk.world.mail.calls(), 4);
}

#[tokio::test(start_paused = true)]
async fn case_b21_digits_are_never_stripped() {
    let desk = automatic().await;
    sent(&desk, mail("a@example.test", "Invoice 104", "see attached")).await;
    sent(&desk, mail("a@example.test", "Invoice 105", "see attached")).await;
    assert_eq!(desk.world.mail.calls(), 2);
}

#[tokio::test(start_paused = true)]
async fn case_c17_a_corrected_recipient_can_be_sent_and_is_linked_to_the_old_mail() {
    let desk = automatic().await;
    desk.world.mail.then(rejected("550 no such user"));
    let old = admitted(desk.ask(send(mail("test@example.test", "Offer", "Hi"))).await);
    desk.world.pass(SECOND * 12).await;
    assert_eq!(desk.world.state(&old).await, EffectState::Rejected);
    let person = crate::guard::Person { surface: approvals::Surface::Window, who: "owner".into() };
    let verdict = crate::guard::edit(&desk.deps(), old.clone(), send(offer("Hi")), person).await.unwrap();
    let (new, approval, _) = asked(verdict);
    assert_eq!(desk.world.effect(&new).await.replaces, Some(old));
    desk.decide(approval, Decision::Approve).await;
    assert_eq!(desk.world.state(&new).await, EffectState::Accepted);
}

#[tokio::test(start_paused = true)]
async fn case_c19_c20_and_c25_are_refused_before_anything_is_queued() {
    let desk = automatic().await;
    let bad = [
        mail("a@example.test", "Hi\r\nBcc: x@evil.test", "x"),
        mail("a@example.test", "Hi\rBcc: x@evil.test", "x"),
        mail("a@example.test", "=?utf-8?Q?Hi=0D=0ABcc:_x@evil.test?=", "x"),
        mail("A\nB <a@example.test>", "Hi", "x"),
        SendEmail { in_reply_to: Some("<i@x>\r\nBcc: x@evil.test".into()), ..offer("x") },
        mail("[\"a@example.test\"]", "Hi", "x"),
        mail("a@example.test, b@example.test", "Hi", "x"),
        SendEmail { to: vec![], ..offer("x") },
        mail("test", "Hi", "x"),
    ];
    for mail in bad {
        let refused = desk.admit(desk.request(send(mail.clone()))).await;
        assert!(matches!(refused, Err(GuardError::Refused { .. })), "{mail:?}");
    }
    assert_eq!(desk.world.count("SELECT COUNT(*) FROM effects").await, 0);
    assert_eq!(desk.world.count("SELECT COUNT(*) FROM approvals").await, 0);
}

#[tokio::test(start_paused = true)]
async fn an_automatic_mail_offers_undo_and_the_button_works() {
    let desk = automatic().await;
    let effect = admitted(desk.ask(send(offer("x"))).await);
    let buttons = desk.world.texts("SELECT buttons FROM outbound WHERE buttons IS NOT NULL").await;
    let data = format!("u:{effect}");
    assert!(buttons[0].contains(&data) && data.len() <= 64);
    let rules = desk.rules();
    let answer = desk
        .world
        .write(move |tx, now| {
            approvals::decide_by_token(tx, now, &rules, &data, &approvals::Sender { id: "1001".into() })
        })
        .await
        .unwrap();
    assert!(answer.text.contains("not sent"), "{answer:?}");
    desk.world.pass(MINUTE).await;
    assert_eq!(desk.world.state(&effect).await, EffectState::Cancelled);
    assert_eq!(desk.world.mail.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_held_mail_is_queued_and_answered_at_once_with_differences() {
    let desk = automatic().await;
    let first = admitted(desk.ask(send(offer("x"))).await);
    let mut html = offer("x");
    html.html = Some("<b>something else</b>".into());
    let before = crate::domain::ports::Clock::now(&desk.world.clock).elapsed;
    let verdict = desk.ask(send(html)).await;
    assert_eq!(crate::domain::ports::Clock::now(&desk.world.clock).elapsed, before);
    match verdict {
        Verdict::InFlight { effect, state, differences } => {
            assert_eq!((effect, state, differences.len()), (first, EffectState::Ready, 1));
        }
        other => panic!("{other:?}"),
    }
}
