//! Cards in the owners' private Telegram chats: sent with the request, edited when it is decided.

use rusqlite::{Transaction, params};

use super::error::ApprovalError;
use super::row::{Approval, ApprovalState};
use super::settings::Rules;
use super::words;
use crate::domain::effect::EffectState;
use crate::domain::ids::{ConversationId, OutboundId};
use crate::domain::time::Now;
use crate::evidence;
use crate::outbox::{self, New};
use crate::store::StoreError;

/// Values of `approval_cards.closed`.
const SHOWS_UNDO: i64 = 1;
const FINAL: i64 = 2;

/// One card in each owner's private chat that has none for this approval yet.
pub(super) fn send(tx: &Transaction<'_>, now: Now, rules: &Rules, approval: &Approval) -> Result<usize, ApprovalError> {
    let mut sent = 0;
    for conversation in private_chats(tx, rules)? {
        let has_one: bool = tx
            .prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM approval_cards JOIN outbound ON outbound.id = outbound_id
                                WHERE approval_id = ?1 AND conversation_id = ?2)",
            )?
            .query_row(params![approval.id, conversation], |row| row.get(0))?;
        if !has_one {
            show(tx, now, rules, approval, conversation, false)?;
            sent += 1;
        }
    }
    Ok(sent)
}

/// The same question once more, before it expires.
pub(super) fn remind(tx: &Transaction<'_>, now: Now, rules: &Rules, approval: &Approval) -> Result<(), ApprovalError> {
    for conversation in private_chats(tx, rules)? {
        show(tx, now, rules, approval, conversation, true)?;
    }
    Ok(())
}

fn show(
    tx: &Transaction<'_>,
    now: Now,
    rules: &Rules,
    approval: &Approval,
    conversation: ConversationId,
    reminder: bool,
) -> Result<(), ApprovalError> {
    let effect = evidence::load(tx, &approval.effect)?;
    let (language, zone) = (rules.evidence.language, &rules.evidence.zone);
    let mut card = New::text(
        conversation,
        outbox::Kind::Card,
        words::card_text(approval, &effect.action, effect.account.as_str(), reminder, language, zone),
    );
    card.buttons = vec![vec![
        (words::approve_label(&approval.notes, language).to_owned(), format!("a:{}", approval.token)),
        (language.pick("❌ Deny", "❌ Denegar").to_owned(), format!("d:{}", approval.token)),
    ]];
    let outbound = outbox::enqueue(tx, now, card)?;
    tx.prepare_cached("INSERT INTO approval_cards (approval_id, outbound_id) VALUES (?1, ?2)")?
        .execute(params![approval.id, outbound])?;
    Ok(())
}

/// Every card of a decided approval shows the same end. A mail in its hold keeps one button: Undo.
pub(super) fn close(tx: &Transaction<'_>, now: Now, rules: &Rules, approval: &Approval) -> Result<(), ApprovalError> {
    let effect = evidence::load(tx, &approval.effect)?;
    let (language, zone) = (rules.evidence.language, &rules.evidence.zone);
    let text = words::closed_text(approval, &effect, language, zone);
    let may_undo = effect.state == EffectState::Ready && effect.next_attempt.is_some_and(|due| due > now.elapsed);
    let buttons = if may_undo {
        vec![vec![(language.pick("↩️ Undo", "↩️ Deshacer").to_owned(), format!("u:{}", effect.id))]]
    } else if approval.state == ApprovalState::Expired {
        vec![vec![(language.pick("🔁 Ask again", "🔁 Preguntar otra vez").to_owned(), format!("r:{}", approval.token))]]
    } else {
        Vec::new()
    };
    let closed = if may_undo { SHOWS_UNDO } else { FINAL };
    for outbound in open_cards(tx, approval)? {
        outbox::edit(tx, now, outbound, &text, &buttons)?;
        tx.prepare_cached("UPDATE approval_cards SET closed = ?3 WHERE approval_id = ?1 AND outbound_id = ?2")?
            .execute(params![approval.id, outbound, closed])?;
    }
    Ok(())
}

/// Approvals whose cards still offer Undo although the effect has left its hold.
pub(super) fn with_stale_undo(tx: &Transaction<'_>) -> Result<Vec<crate::domain::ids::ApprovalId>, StoreError> {
    let mut statement = tx.prepare_cached(
        "SELECT DISTINCT approval_id FROM approval_cards
         JOIN approvals ON approvals.id = approval_id JOIN effects ON effects.id = approvals.effect_id
         WHERE closed = 1 AND effects.state <> 'ready'",
    )?;
    Ok(statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
}

fn open_cards(tx: &Transaction<'_>, approval: &Approval) -> Result<Vec<OutboundId>, StoreError> {
    let mut statement =
        tx.prepare_cached("SELECT outbound_id FROM approval_cards WHERE approval_id = ?1 AND closed <> ?2")?;
    Ok(statement.query_map(params![approval.id, FINAL], |row| row.get(0))?.collect::<Result<_, _>>()?)
}

/// Private Telegram chats of owners: there the chat id is the user's id.
fn private_chats(tx: &Transaction<'_>, rules: &Rules) -> Result<Vec<ConversationId>, StoreError> {
    let configured = serde_json::to_string(&rules.settings.telegram_owners)?;
    let mut statement = tx.prepare_cached(
        "SELECT id FROM conversations
         WHERE channel = 'telegram' AND kind = 'private' AND thread = '' AND unreachable IS NULL AND erased_at IS NULL
           AND (contact IN (SELECT sender_id FROM owners WHERE channel = 'telegram')
                OR contact IN (SELECT value FROM json_each(?1)))
         ORDER BY id",
    )?;
    Ok(statement.query_map([configured], |row| row.get(0))?.collect::<Result<_, _>>()?)
}
