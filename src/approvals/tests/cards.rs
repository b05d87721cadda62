//! Cards: to owners only, closed everywhere, with data that fits.

use super::*;
use crate::domain::effect::EffectState;
use crate::store::StoreError;

async fn edits(desk: &Desk) -> Vec<String> {
    desk.world.texts("SELECT content || '|' || COALESCE(buttons, '') FROM outbound_edits ORDER BY outbound_id").await
}

#[tokio::test(start_paused = true)]
async fn cards_go_to_private_chats_of_owners_and_nowhere_else() {
    let desk = Desk::new().await;
    desk.world.conversation("telegram", "2002").await;
    let group = desk.world.conversation("telegram", "-2001").await;
    desk.world
        .write(move |tx, _| {
            tx.execute("UPDATE conversations SET kind = 'group' WHERE id = ?1", [group])?;
            Ok::<_, StoreError>(())
        })
        .await
        .unwrap();
    desk.world.conversation("window", "main").await;
    desk.ask("Offer").await;
    let sent = desk.world.texts("SELECT conversation_id || ':' || kind FROM outbound").await;
    assert_eq!(sent, [format!("{}:card", desk.owner)]);
    let later = desk.world.owner("3003").await;
    desk.world.pass(SECOND).await;
    let sent = desk.world.texts("SELECT conversation_id || ':' || kind FROM outbound ORDER BY id").await;
    assert_eq!(sent, [format!("{}:card", desk.owner), format!("{later}:card")], "an owner who came later sees it too");
}

#[tokio::test(start_paused = true)]
async fn case_d14_callback_data_is_a_short_opaque_token() {
    let desk = Desk::new().await;
    let (effect, _) = desk.ask("Предложение с длинным заголовком, который ничего не меняет").await;
    let buttons = desk.world.texts("SELECT buttons FROM outbound").await;
    let rows: Vec<Vec<(String, String)>> = serde_json::from_str(&buttons[0]).unwrap();
    for (label, data) in rows.concat() {
        assert!(data.len() <= 64 && !data.contains(effect.as_str()), "{label} {data}");
    }
}

#[tokio::test(start_paused = true)]
async fn case_f06_a_decision_in_the_window_closes_the_telegram_card() {
    let desk = Desk::new().await;
    let (effect, id) = desk.ask("Offer").await;
    desk.decide(id, Decision::Approve, Surface::Window).await.unwrap();
    let closing = edits(&desk).await;
    assert!(closing[0].contains("Approved") && closing[0].contains(&format!("u:{effect}")), "{closing:?}");
    desk.world.pass(MINUTE).await;
    let closing = edits(&desk).await;
    assert!(closing[0].contains("Approved") && closing[0].ends_with('|'), "no button is left: {closing:?}");
    let (_, denied) = desk.ask("Other").await;
    desk.decide(denied, Decision::Deny, Surface::Window).await.unwrap();
    assert!(edits(&desk).await[1].contains("Denied"));
}

#[tokio::test(start_paused = true)]
async fn undo_on_the_card_works_until_the_mail_has_left() {
    let desk = Desk::new().await;
    let (effect, id) = desk.ask("Offer").await;
    desk.decide(id, Decision::Approve, Surface::Telegram).await.unwrap();
    assert!(desk.tap(&format!("u:{effect}"), "2002").await.text.contains("Only the owner"));
    desk.world.pass(SECOND * 5).await;
    assert!(desk.tap(&format!("u:{effect}"), "1001").await.text.contains("not sent"));
    desk.world.pass(MINUTE).await;
    assert_eq!(desk.world.state(&effect).await, EffectState::Cancelled);
    assert!(desk.tap(&format!("u:{effect}"), "1001").await.text.contains("Too late"));
    assert_eq!(desk.world.mail.calls(), 0);
    desk.healthy().await;
}

#[tokio::test(start_paused = true)]
async fn case_e10_and_f05_nothing_waits_on_a_surface_that_is_gone() {
    let mut desk = Desk::new().await;
    let (effect, id) = desk.ask("Offer").await;
    // No window, no notification, a machine that slept, and a restart.
    desk.world.clock.slept(HOUR * 5);
    desk.restart();
    desk.world.pass(HOUR).await;
    assert_eq!(desk.world.state(&effect).await, EffectState::AwaitingApproval);
    desk.decide(id, Decision::Approve, Surface::Notification).await.unwrap();
    desk.world.pass(MINUTE).await;
    assert_eq!(desk.world.state(&effect).await, EffectState::Accepted);
}
