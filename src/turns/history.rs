//! What the model sees of the conversation: earlier turns, what the user was told in between, and this turn's steps.

use rusqlite::{Connection, params};

use super::settings::Settings;
use super::steps::{Step, Summary};
use super::store::{self, Turn};
use super::words;
use crate::domain::chat::{ChatMessage, ToolCall};
use crate::domain::ids::{ConversationId, TurnId};
use crate::domain::time::Wall;
use crate::store::StoreError;

/// Turns read back at most; a summary covers what is older.
const MOST_TURNS: i64 = 200;

/// Earlier turns of a conversation, oldest first, and what of them does not fit.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct History {
    /// Covers the turns before the first of `turns`.
    pub summary: Option<Summary>,
    pub turns: Vec<Past>,
}

/// An earlier turn as messages.
#[derive(Clone, PartialEq, Debug)]
pub struct Past {
    pub number: i64,
    pub messages: Vec<ChatMessage>,
}

impl History {
    pub fn characters(&self) -> usize {
        let summary = self.summary.as_ref().map_or(0, |summary| summary.text.len());
        summary + self.turns.iter().map(|turn| characters(&turn.messages)).sum::<usize>()
    }

    /// The oldest turns that have to go so that the rest takes at most `budget` characters; at least one turn if
    /// there is any, because the caller has found the history too long.
    pub fn excess(&self, budget: usize) -> usize {
        let mut left = self.characters();
        let mut count = 0;
        for turn in &self.turns {
            if left <= budget && count > 0 {
                break;
            }
            left -= characters(&turn.messages);
            count += 1;
        }
        count
    }
}

/// Characters of the texts in `messages`; four are about one token.
pub fn characters(messages: &[ChatMessage]) -> usize {
    messages
        .iter()
        .map(|message| match message {
            ChatMessage::User { text, .. } => text.len(),
            ChatMessage::Assistant { text, calls } => {
                text.len() + calls.iter().map(|call| call.name.len() + call.arguments.to_string().len()).sum::<usize>()
            }
            ChatMessage::ToolResult { content, .. } => content.len(),
        })
        .sum()
}

/// Reads what came before turn `before` and since the last reset.
pub fn load(
    connection: &Connection,
    conversation: ConversationId,
    before: i64,
    settings: &Settings,
) -> Result<History, StoreError> {
    let reset_at: Wall =
        connection.query_row("SELECT reset_at FROM conversations WHERE id = ?1", [conversation], |row| row.get(0))?;
    let mut statement = connection.prepare_cached(
        "SELECT id, number, epoch, started_at FROM turns
         WHERE conversation_id = ?1 AND number < ?2 AND state = 'ended' AND started_at >= ?3
         ORDER BY number DESC LIMIT ?4",
    )?;
    let rows = statement
        .query_map(params![conversation, before, reset_at, MOST_TURNS], |row| {
            Ok((TurnId(row.get(0)?), row.get::<_, i64>(1)?, row.get::<_, i64>(2)?, row.get::<_, Wall>(3)?))
        })?
        .collect::<Result<Vec<_>, _>>()?;
    let mut history = History::default();
    let mut next_start = Wall(i64::MAX);
    for (id, number, epoch, started_at) in rows {
        let steps = store::steps(connection, &id, epoch)?;
        let mut messages = messages(&steps, settings);
        let told = notices(connection, conversation, started_at, next_start)?;
        if !told.is_empty() {
            messages.push(ChatMessage::Assistant { text: told.join("\n"), calls: Vec::new() });
        }
        next_start = started_at;
        history.turns.push(Past { number, messages });
        history.summary = steps.into_iter().rev().find_map(|step| match step {
            Step::Summary(summary) => Some(summary),
            Step::Input(_) | Step::ModelReply(_) | Step::ToolResult(_) | Step::Correction(_) | Step::Final(_) => None,
        });
        if history.summary.is_some() {
            break;
        }
    }
    history.turns.reverse();
    if let Some(summary) = &history.summary {
        history.turns.retain(|turn| turn.number > summary.through);
    }
    Ok(history)
}

/// Lines the program itself told the user: outcomes of what had been queued.
fn notices(
    connection: &Connection,
    conversation: ConversationId,
    from: Wall,
    to: Wall,
) -> Result<Vec<String>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT content FROM outbound
         WHERE conversation_id = ?1 AND kind = 'notice' AND queued_at >= ?2 AND queued_at < ?3
           AND state NOT IN ('failed', 'cancelled') ORDER BY id",
    )?;
    let rows = statement.query_map(params![conversation, from, to], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The steps of one epoch as messages. Calls without a result get one: every provider refuses a transcript with a hole.
pub fn messages(steps: &[Step], settings: &Settings) -> Vec<ChatMessage> {
    let mut messages = Vec::new();
    let mut open: Vec<ToolCall> = Vec::new();
    let mut said = String::new();
    for step in steps {
        match step {
            Step::ToolResult(answer) => {
                open.retain(|call| call.id != answer.call_id);
                messages.push(ChatMessage::ToolResult {
                    call_id: answer.call_id.clone(),
                    name: answer.name.clone(),
                    content: answer.content.to_string(),
                });
            }
            Step::Input(input) => {
                fill(&mut messages, &mut open);
                messages.push(ChatMessage::User { text: input.text.clone(), images: input.images.clone() });
            }
            Step::ModelReply(reply) => {
                fill(&mut messages, &mut open);
                // An empty message is refused by some providers; the correction after it says what it was.
                if !reply.text.is_empty() || !reply.calls.is_empty() {
                    messages.push(ChatMessage::Assistant { text: reply.text.clone(), calls: reply.calls.clone() });
                }
                open.clone_from(&reply.calls);
                said.clone_from(&reply.text);
            }
            Step::Correction(correction) => {
                fill(&mut messages, &mut open);
                messages.push(ChatMessage::User {
                    text: format!("(From the program, not from the person: {})", correction.text),
                    images: Vec::new(),
                });
            }
            Step::Final(closing) => {
                fill(&mut messages, &mut open);
                if !closing.text.is_empty() && closing.text.trim() != said.trim() {
                    messages.push(ChatMessage::Assistant { text: closing.text.clone(), calls: Vec::new() });
                } else if let (true, Some(reason)) = (closing.text.is_empty(), &closing.reason) {
                    let text = words::reason(reason, settings.fallback_language);
                    messages.push(ChatMessage::Assistant { text: format!("({text})"), calls: Vec::new() });
                }
            }
            Step::Summary(_) => {}
        }
    }
    fill(&mut messages, &mut open);
    messages
}

fn fill(messages: &mut Vec<ChatMessage>, open: &mut Vec<ToolCall>) {
    for call in open.drain(..) {
        messages.push(ChatMessage::ToolResult {
            call_id: call.id,
            name: call.name,
            content: r#"{"status":"not_done","message":"the turn ended before this call was made"}"#.to_owned(),
        });
    }
}

/// Everything for the next request of a running turn: summary, earlier turns, its own steps.
pub fn request(history: &History, turn: &Turn, steps: &[Step], settings: &Settings) -> Vec<ChatMessage> {
    tracing::trace!(turn_id = %turn.id, turns = history.turns.len(), "history built");
    let summary = steps
        .iter()
        .rev()
        .find_map(|step| match step {
            Step::Summary(summary) => Some(summary),
            Step::Input(_) | Step::ModelReply(_) | Step::ToolResult(_) | Step::Correction(_) | Step::Final(_) => None,
        })
        .or(history.summary.as_ref());
    let mut all = Vec::new();
    if let Some(summary) = summary {
        all.push(ChatMessage::User {
            text: format!(
                "(From the program: what was said earlier in this conversation, in short.)\n{}",
                summary.text
            ),
            images: Vec::new(),
        });
        all.push(ChatMessage::Assistant { text: "OK.".to_owned(), calls: Vec::new() });
    }
    let covered = summary.map_or(0, |summary| summary.through);
    for past in history.turns.iter().filter(|past| past.number > covered) {
        all.extend(past.messages.iter().cloned());
    }
    // The pictures of this turn only: earlier ones cost as much again with every request.
    for message in &mut all {
        if let ChatMessage::User { images, .. } = message {
            images.clear();
        }
    }
    all.extend(messages(steps, settings));
    all
}
