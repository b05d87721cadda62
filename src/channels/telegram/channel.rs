//! The way out.

use async_trait::async_trait;
use serde_json::Value;
use teloxide::payloads::{
    AnswerCallbackQuery, AnswerCallbackQuerySetters, EditMessageText, EditMessageTextSetters, SendChatAction,
    SendChatActionSetters, SendMessage, SendMessageSetters,
};
use teloxide::types::{
    CallbackQueryId, ChatAction, ChatId, InlineKeyboardButton, InlineKeyboardMarkup, MessageId, ReplyParameters,
    ThreadId,
};

use super::bot::{Telegram, call};
use super::errors::send_outcome;
use super::format::{Formatted, format};
use super::split::{LIMIT, split};
use crate::domain::conversation::{Address, Capabilities, ChannelKind};
use crate::domain::ports::{Channel, OutboundPart, SendOutcome, SendRefusal};
use crate::runtime::failpoint;

/// Longest answer to a tap.
const LONGEST_ANSWER: usize = 200;

#[async_trait]
impl Channel for Telegram {
    fn kind(&self) -> ChannelKind {
        ChannelKind::Telegram
    }

    fn capabilities(&self, _to: &Address) -> Capabilities {
        Capabilities { immediate: true, typing: true, edit: true, buttons: true }
    }

    fn split(&self, markdown: &str) -> Vec<String> {
        split(markdown)
    }

    async fn send(&self, part: &OutboundPart) -> SendOutcome {
        let Some(chat) = chat_id(&part.to) else { return no_chat(&part.to) };
        let bots = match self.bots(false).await {
            Ok(bots) => bots,
            Err(error) => return SendOutcome::NotSent { reason: error.to_string(), retry_after: None },
        };
        let Formatted { text, entities } = formatted(part);
        let mut message = SendMessage::new(chat, text);
        if !entities.is_empty() {
            message = message.entities(entities);
        }
        if let Some(thread) = thread_id(&part.to) {
            message = message.message_thread_id(thread);
        }
        if let Some(reply_to) = part.reply_to.as_deref().and_then(|id| id.parse().ok()) {
            message = message.reply_parameters(ReplyParameters::new(MessageId(reply_to)).allow_sending_without_reply());
        }
        if !part.buttons.is_empty() {
            message = message.reply_markup(keyboard(&part.buttons));
        }
        if let Err(failed) = failpoint::hit("telegram.before_send") {
            return SendOutcome::NotSent { reason: failed.to_string(), retry_after: None };
        }
        let answer = call(&bots.send, message).await;
        if let Err(failed) = failpoint::hit("telegram.after_send") {
            return SendOutcome::Uncertain { reason: failed.to_string() };
        }
        match answer {
            Ok(sent) => SendOutcome::Delivered { external_id: message_id(&sent) },
            Err(error) => send_outcome(&error),
        }
    }

    async fn edit(&self, external_id: &str, part: &OutboundPart) -> SendOutcome {
        let Some(chat) = chat_id(&part.to) else { return no_chat(&part.to) };
        let Ok(message) = external_id.parse().map(MessageId) else {
            return SendOutcome::Refused {
                reason: format!("{external_id} is no message id"),
                kind: SendRefusal::Other,
            };
        };
        let bots = match self.bots(false).await {
            Ok(bots) => bots,
            Err(error) => return SendOutcome::NotSent { reason: error.to_string(), retry_after: None },
        };
        let Formatted { text, entities } = formatted(part);
        let mut edit = EditMessageText::new(chat, message, text);
        if !entities.is_empty() {
            edit = edit.entities(entities);
        }
        if !part.buttons.is_empty() {
            edit = edit.reply_markup(keyboard(&part.buttons));
        }
        match call(&bots.send, edit).await {
            Ok(_) => SendOutcome::Delivered { external_id: Some(external_id.to_owned()) },
            Err(error) => send_outcome(&error),
        }
    }

    async fn typing(&self, to: &Address) {
        let (Some(chat), Ok(bots)) = (chat_id(to), self.bots(false).await) else { return };
        let mut action = SendChatAction::new(chat, ChatAction::Typing);
        if let Some(thread) = thread_id(to) {
            action = action.message_thread_id(thread);
        }
        if let Err(error) = call(&bots.send, action).await {
            tracing::debug!(error = crate::runtime::redact::redact(&error.to_string()), "no typing signal");
        }
    }

    async fn answer_tap(&self, callback_id: &str, text: &str) {
        let Ok(bots) = self.bots(false).await else { return };
        let text: String = text.chars().take(LONGEST_ANSWER).collect();
        let answer = AnswerCallbackQuery::new(CallbackQueryId(callback_id.to_owned())).text(text);
        if let Err(error) = call(&bots.send, answer).await {
            // Too old to be answered: the decision stands, and the card shows it.
            tracing::info!(error = crate::runtime::redact::redact(&error.to_string()), "a tap was not answered");
        }
    }
}

fn formatted(part: &OutboundPart) -> Formatted {
    if part.plain {
        return Formatted { text: part.markdown.clone(), entities: Vec::new() };
    }
    let formatted = format(&part.markdown);
    // Rendering adds marks of lists in rare cases; the source always fits.
    if formatted.text.encode_utf16().count() > LIMIT {
        return Formatted { text: part.markdown.clone(), entities: Vec::new() };
    }
    formatted
}

fn chat_id(to: &Address) -> Option<ChatId> {
    to.contact.parse().ok().map(ChatId)
}

fn no_chat(to: &Address) -> SendOutcome {
    SendOutcome::Refused { reason: format!("{} is no chat id", to.contact), kind: SendRefusal::Unreachable }
}

fn thread_id(to: &Address) -> Option<ThreadId> {
    to.thread.parse().ok().map(|id| ThreadId(MessageId(id)))
}

fn keyboard(rows: &[Vec<(String, String)>]) -> InlineKeyboardMarkup {
    InlineKeyboardMarkup::new(
        rows.iter().map(|row| row.iter().map(|(label, data)| InlineKeyboardButton::callback(label, data))),
    )
}

fn message_id(sent: &Value) -> Option<String> {
    sent.get("message_id").and_then(Value::as_i64).map(|id| id.to_string())
}
