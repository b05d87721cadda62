//! The methods, with the refusals of the real server.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Fault, Shared, State, unix};

pub(super) struct Answer {
    pub code: u16,
    pub body: Value,
    pub done: bool,
}

fn ok(result: Value) -> Answer {
    Answer { code: 200, body: json!({ "ok": true, "result": result }), done: true }
}

fn refused(code: u16, description: &str) -> Answer {
    Answer { code, body: json!({ "ok": false, "error_code": code, "description": description }), done: false }
}

pub(super) async fn handle(shared: &Arc<Shared>, method: &str, body: &Value) -> Answer {
    match method {
        "getme" => {
            let bot = shared.state().bot;
            // Lean on purpose: nothing but what everybody has.
            ok(json!({ "id": bot, "is_bot": true, "first_name": "Una", "username": "una_test_bot" }))
        }
        "getupdates" => updates(shared, body).await,
        "sendmessage" => send(&mut shared.state(), body),
        "editmessagetext" => edit(&mut shared.state(), body),
        "sendchataction" | "answercallbackquery" => ok(json!(true)),
        "setmycommands" => {
            shared.state().commands.push(body.clone());
            ok(json!(true))
        }
        "getfile" => {
            let id = body["file_id"].as_str().unwrap_or_default().to_owned();
            if shared.state().files.contains_key(&id) {
                ok(json!({ "file_id": id, "file_unique_id": id, "file_path": id }))
            } else {
                refused(400, "Bad Request: wrong file_id or the file is temporarily unavailable")
            }
        }
        _ => refused(404, "Not Found"),
    }
}

async fn updates(shared: &Arc<Shared>, body: &Value) -> Answer {
    let timeout = Duration::from_secs(body["timeout"].as_u64().unwrap_or(0));
    let limit = body["limit"].as_u64().unwrap_or(100) as usize;
    let until = tokio::time::Instant::now() + timeout;
    let mine = {
        let mut state = shared.state();
        if let Some(offset) = body["offset"].as_i64() {
            state.updates.retain(|(id, _)| *id >= offset);
        }
        state.polls += 1;
        state.polls
    };
    shared.changed.notify_waiters();
    loop {
        let changed = shared.changed.notified();
        {
            let state = shared.state();
            if state.polls != mine {
                let (code, body) = Fault::Conflict.answer().unwrap();
                return Answer { code, body, done: false };
            }
            if !state.updates.is_empty() || tokio::time::Instant::now() >= until {
                return ok(state.updates.iter().take(limit).map(|(_, update)| update.clone()).collect());
            }
        }
        let _ = tokio::time::timeout_at(until, changed).await;
    }
}

fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// Why the text is refused, if it is.
fn refusal(state: &State, body: &Value) -> Option<Answer> {
    let chat = body["chat_id"].as_i64().unwrap_or_default();
    let text = body["text"].as_str().unwrap_or_default();
    let entities = body["entities"].as_array().cloned().unwrap_or_default();
    if state.blocked.contains(&chat) {
        return Some(refused(403, "Forbidden: bot was blocked by the user"));
    }
    if let Some(to) = state.migrated.get(&chat) {
        let mut answer = refused(400, "Bad Request: group chat was upgraded to a supergroup chat");
        answer.body["parameters"] = json!({ "migrate_to_chat_id": to });
        return Some(answer);
    }
    if body["message_thread_id"].as_i64().is_some_and(|thread| state.threads_gone.contains(&thread) || thread == 1) {
        return Some(refused(400, "Bad Request: message thread not found"));
    }
    if text.trim().is_empty() {
        return Some(refused(400, "Bad Request: message text is empty"));
    }
    if units(text) > 4096 {
        return Some(refused(400, "Bad Request: message is too long"));
    }
    let marked = state.bad_entities.as_ref().is_some_and(|bad| text.contains(bad.as_str()));
    let outside = entities.iter().any(|entity| {
        let end = entity["offset"].as_u64().unwrap_or(0) + entity["length"].as_u64().unwrap_or(0);
        entity["length"].as_u64() == Some(0) || end as usize > units(text)
    });
    if outside || (marked && !entities.is_empty()) {
        return Some(refused(400, "Bad Request: can't parse entities: unexpected end at byte offset 812"));
    }
    for row in body["reply_markup"]["inline_keyboard"].as_array().into_iter().flatten() {
        for button in row.as_array().into_iter().flatten() {
            if !(1..=64).contains(&button["callback_data"].as_str().unwrap_or_default().len()) {
                return Some(refused(400, "Bad Request: BUTTON_DATA_INVALID"));
            }
        }
    }
    None
}

fn send(state: &mut State, body: &Value) -> Answer {
    if let Some(answer) = refusal(state, body) {
        return answer;
    }
    state.next_message += 1;
    let (id, chat) = (state.next_message, body["chat_id"].as_i64().unwrap_or_default());
    show(state, chat, id, body);
    ok(json!({ "message_id": id, "date": unix(), "chat": { "id": chat, "type": "private" }, "text": body["text"] }))
}

fn show(state: &mut State, chat: i64, message: i64, body: &Value) {
    let text = body["text"].as_str().unwrap_or_default().to_owned();
    state.shown.insert((chat, message), (text, body["reply_markup"].clone()));
}

fn edit(state: &mut State, body: &Value) -> Answer {
    if let Some(answer) = refusal(state, body) {
        return answer;
    }
    let chat = body["chat_id"].as_i64().unwrap_or_default();
    let message = body["message_id"].as_i64().unwrap_or_default();
    let text = body["text"].as_str().unwrap_or_default();
    match state.shown.get(&(chat, message)) {
        None => refused(400, "Bad Request: message to edit not found"),
        Some((old, keyboard)) if old == text && *keyboard == body["reply_markup"] => refused(
            400,
            "Bad Request: message is not modified: specified new message content and reply markup are exactly the same as \
             a current content and reply markup of the message",
        ),
        Some(_) => {
            show(state, chat, message, body);
            ok(
                json!({ "message_id": message, "date": unix(), "edit_date": unix(), "chat": { "id": chat, "type": "private" } }),
            )
        }
    }
}
