//! Older history in few words, when it no longer fits. The summary is a step: it is asked for once.

use super::error::TurnError;
use super::history::{self, History};
use super::machine::Event;
use super::steps::{Step, Summary};
use super::store::{self, Turn, Used};
use super::worker::TurnsDeps;
use crate::domain::chat::{ChatMessage, ChatRequest};
use crate::domain::ports::NoSink;
use crate::store::Durability;

const PROMPT: &str = include_str!("../model/prompts/summary.md");
/// Longest piece of one message that goes into a summary.
const LONGEST_MESSAGE: usize = 4_000;

/// Summarises before a request when the history is over its budget, down to half of it.
pub async fn keep_in_budget(deps: &TurnsDeps, turn: &Turn, steps: &mut Vec<Step>) -> Result<(), TurnError> {
    if steps.iter().any(|step| matches!(step, Step::Summary(_))) {
        return Ok(());
    }
    let history = load(deps, turn).await?;
    if history.characters() > deps.settings.history_characters {
        shorten_history(deps, turn, steps, history, deps.settings.history_characters / 2).await?;
    }
    Ok(())
}

/// The model said that it cannot read this much: everything before this turn becomes a summary.
pub async fn shorten(deps: &TurnsDeps, turn: &Turn, steps: &mut Vec<Step>) -> Result<Event, TurnError> {
    let history = load(deps, turn).await?;
    shorten_history(deps, turn, steps, history, 0).await?;
    Ok(Event::Summarised)
}

async fn load(deps: &TurnsDeps, turn: &Turn) -> Result<History, TurnError> {
    let settings = deps.settings.clone();
    let (conversation, number) = (turn.conversation, turn.number);
    deps.store.read(move |connection| Ok(history::load(connection, conversation, number, &settings)?)).await
}

async fn shorten_history(
    deps: &TurnsDeps,
    turn: &Turn,
    steps: &mut Vec<Step>,
    history: History,
    budget: usize,
) -> Result<(), TurnError> {
    let old = &history.turns[..history.excess(budget)];
    let through = old.last().map_or_else(|| history.summary.as_ref().map_or(0, |old| old.through), |past| past.number);
    let mut text = String::new();
    if let Some(earlier) = &history.summary {
        text.push_str(&format!("Earlier summary:\n{}\n\n", earlier.text));
    }
    for past in old {
        past.messages.iter().for_each(|message| line(&mut text, message));
    }
    let request = ChatRequest {
        system: PROMPT.to_owned(),
        messages: vec![ChatMessage::User { text, images: Vec::new() }],
        tools: Vec::new(),
    };
    let (summary, used) = match deps.model.reply(&request, &NoSink).await {
        Ok(reply) => {
            let usage = reply.usage;
            let cost_micros = deps.settings.cost_micros(&reply.model, usage.input_tokens, usage.output_tokens);
            let used =
                Used { calls: 1, input_tokens: usage.input_tokens, output_tokens: usage.output_tokens, cost_micros };
            (reply.text, Some((reply.model, used)))
        }
        Err(error) => {
            tracing::warn!(turn_id = %turn.id, %error, "older history could not be summarised and is left out");
            let kept = history.summary.as_ref().map(|old| old.text.clone()).unwrap_or_default();
            (format!("{kept}\n(Some earlier messages are left out here.)").trim().to_owned(), None)
        }
    };
    let step = Step::Summary(Summary { text: summary, through });
    let (now, id, epoch, stored) = (deps.clock.now(), turn.id.clone(), turn.epoch, step.clone());
    deps.store
        .write("turns.summary", Durability::Normal, move |tx| {
            store::current(tx, &id, epoch)?;
            store::append_step(tx, now, &id, epoch, &stored, 0)?;
            if let Some((model, used)) = used {
                store::add_usage(tx, &id, &model, used)?;
            }
            Ok::<_, TurnError>(())
        })
        .await?;
    steps.push(step);
    Ok(())
}

fn line(out: &mut String, message: &ChatMessage) {
    let (who, text) = match message {
        ChatMessage::User { text, .. } => ("Person", text.clone()),
        ChatMessage::Assistant { text, calls } => {
            let calls = calls.iter().map(|call| format!(" [{} {}]", call.name, call.arguments));
            ("Assistant", format!("{text}{}", calls.collect::<String>()))
        }
        ChatMessage::ToolResult { name, content, .. } => ("Result", format!("{name}: {content}")),
    };
    let text: String = text.chars().take(LONGEST_MESSAGE).collect();
    out.push_str(&format!("{who}: {text}\n"));
}
