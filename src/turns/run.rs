//! Runs one turn: asks what the machine wants, does it, records it, asks again.
//!
//! Everything recorded is recorded under the turn's epoch; a transaction that finds another epoch, a stop or an end
//! gives [`TurnError::Gone`], and this run is over.

use std::time::Duration;

use super::close;
use super::ending::{Closing, Ending, Reason};
use super::error::TurnError;
use super::history;
use super::machine::{self, Command, Event, State};
use super::prompt;
use super::steps::{Input, ModelReply, Step, ToolAnswer};
use super::store::{self, Turn, Used};
use super::stream::{self, Written};
use super::summary;
use super::usage;
use super::worker::TurnsDeps;
use crate::domain::chat::{ChatReply, ChatRequest, ModelError, ToolCall};
use crate::domain::ids::TurnId;
use crate::domain::ports::ChatModel;
use crate::domain::tool::ToolKind;
use crate::runtime::{backoff, failpoint};
use crate::store::{Durability, StoreError};
use crate::tools::CallContext;

/// First and longest wait between attempts to get a reply.
const FIRST_WAIT: Duration = Duration::from_secs(2);
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Runs `turn` in `epoch` to its end, or until it is no longer ours.
pub async fn run(deps: &TurnsDeps, turn: &TurnId, epoch: i64) {
    let mut failures = 0;
    loop {
        match drive(deps, turn, epoch).await {
            Ok(()) | Err(TurnError::Gone) => return,
            Err(TurnError::Store(error)) => {
                tracing::warn!(turn_id = %turn, %error, "a turn's step could not be recorded; it goes on from its rows");
                let wait = backoff::doubling(Duration::from_millis(200), LONGEST_WAIT, failures, deps.ids.fraction());
                failures += 1;
                deps.clock.sleep(wait).await;
            }
            Err(TurnError::Illegal(error)) => {
                tracing::error!(turn_id = %turn, %error, "a turn met a fault of the program");
                let reason = Reason::Fault { detail: error.to_string() };
                let closing = Closing { ending: Ending::Failed, text: String::new(), reason: Some(reason) };
                match finish(deps, turn, epoch, closing).await {
                    Ok(()) | Err(TurnError::Gone) => return,
                    Err(error) => {
                        tracing::warn!(turn_id = %turn, %error, "a turn's end could not be recorded; tried again");
                        deps.clock.sleep(LONGEST_WAIT).await;
                    }
                }
            }
        }
    }
}

async fn drive(deps: &TurnsDeps, id: &TurnId, epoch: i64) -> Result<(), TurnError> {
    let key = id.clone();
    let (turn, mut steps) = deps
        .store
        .read(move |connection| {
            let turn = store::current(connection, &key, epoch)?;
            let steps = store::steps(connection, &key, epoch)?;
            Ok::<_, TurnError>((turn, steps))
        })
        .await?;
    let limits = deps.settings.limits();
    let (mut state, mut command) = machine::resume(&steps, limits)?;
    let until = deps.clock.now().elapsed.plus(deps.settings.turn_timeout);
    loop {
        let left = until.since(deps.clock.now().elapsed);
        let event = match command {
            Command::Nothing => return Ok(()),
            Command::Close(closing) => match super::claims::check(deps, &turn, &state, &steps, &closing).await? {
                Some(correction) => Event::ClaimUnproven(correction),
                None => return finish(deps, id, epoch, closing).await,
            },
            Command::Correct(correction) => {
                let reason = correction.reason;
                record(deps, &turn, &state, &mut steps, Step::Correction(correction), 0).await?;
                Event::Corrected(reason)
            }
            Command::Ask { attempt, wait } => {
                let asking = ask(deps, &turn, &mut steps, attempt, wait);
                match within(deps, left, asking).await {
                    Some(event) => event?,
                    None => timed_out(deps),
                }
            }
            Command::Summarise => match within(deps, left, summary::shorten(deps, &turn, &mut steps)).await {
                Some(event) => event?,
                None => timed_out(deps),
            },
            Command::Call { ordinal, call } => {
                match within(deps, left, answer(deps, &turn, &state, &mut steps, ordinal, call)).await {
                    Some(event) => event?,
                    None => timed_out(deps),
                }
            }
        };
        (state, command) = machine::next(state, event, limits)?;
    }
}

/// `None` when the turn's time is up first.
async fn within<T>(deps: &TurnsDeps, left: Duration, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        done = work => Some(done),
        () = deps.clock.sleep(left) => None,
    }
}

fn timed_out(deps: &TurnsDeps) -> Event {
    Event::Limited(Reason::TooLongTime { seconds: deps.settings.turn_timeout.as_secs() })
}

async fn finish(deps: &TurnsDeps, id: &TurnId, epoch: i64, closing: Closing) -> Result<(), TurnError> {
    let now = deps.clock.now();
    let id = id.clone();
    deps.store
        .write("turns.end", Durability::Normal, move |tx| {
            let turn = store::current(tx, &id, epoch)?;
            close::close(tx, now, &turn, closing).map(|_| ())
        })
        .await
}

/// Records a step of the running epoch, with the state it leaves the turn in.
async fn record(
    deps: &TurnsDeps,
    turn: &Turn,
    state: &State,
    steps: &mut Vec<Step>,
    step: Step,
    millis: i64,
) -> Result<(), TurnError> {
    tracing::trace!(turn_id = %turn.id, state = state.name(), step = step.kind(), "step");
    let now = deps.clock.now();
    let (id, epoch, stored) = (turn.id.clone(), turn.epoch, step.clone());
    let settings = deps.settings.clone();
    deps.store
        .write("turns.step", Durability::Normal, move |tx| {
            store::current(tx, &id, epoch)?;
            store::append_step(tx, now, &id, epoch, &stored, millis)?;
            match &stored {
                Step::ModelReply(reply) => {
                    let usage = reply.usage;
                    let used = Used {
                        calls: 1,
                        input_tokens: usage.input_tokens,
                        output_tokens: usage.output_tokens,
                        cost_micros: settings.cost_micros(&reply.model, usage.input_tokens, usage.output_tokens),
                    };
                    store::add_usage(tx, &id, &reply.model, used)?;
                    store::set_state(tx, &id, if reply.calls.is_empty() { "replying" } else { "acting" })?;
                }
                Step::ToolResult(_) => {
                    store::count_tool_call(tx, &id)?;
                    let steps = store::steps(tx, &id, epoch)?;
                    store::set_state(
                        tx,
                        &id,
                        if close::open_calls(&steps).is_empty() { "thinking" } else { "acting" },
                    )?;
                }
                Step::Input(_) | Step::Summary(_) | Step::Correction(_) | Step::Final(_) => {
                    store::set_state(tx, &id, "thinking")?;
                }
            }
            Ok::<_, TurnError>(())
        })
        .await?;
    steps.push(step);
    Ok(())
}

/// One attempt to get a reply.
async fn ask(
    deps: &TurnsDeps,
    turn: &Turn,
    steps: &mut Vec<Step>,
    attempt: u32,
    wait: Option<Duration>,
) -> Result<Event, TurnError> {
    if let Some(wait) = wait {
        deps.clock.sleep(wait).await;
    } else if attempt > 0 {
        let wait = backoff::doubling(FIRST_WAIT, LONGEST_WAIT, attempt - 1, deps.ids.fraction());
        deps.clock.sleep(wait).await;
    }
    if let Some(reason) = usage::over_budget(&deps.store, deps.clock.now(), &deps.settings).await? {
        return Ok(Event::Limited(reason));
    }
    summary::keep_in_budget(deps, turn, steps).await?;
    let request = request(deps, turn, steps).await?;
    let began = deps.clock.now().elapsed;
    let model = choose(deps, turn, attempt).await?;
    failpoint::hit("model.before_request").map_err(StoreError::from)?;
    let written = Written::default();
    let asked = tokio::select! {
        biased;
        reply = model.reply(&request, &written) => reply,
        shown = stream::show(deps, turn, steps, &written) => match shown? {},
        () = deps.clock.sleep(deps.settings.request_timeout) => Err(ModelError::Unavailable {
            reason: format!("no answer within {} s", deps.settings.request_timeout.as_secs()),
            retry_after: None,
        }),
    };
    failpoint::hit("model.after_reply").map_err(StoreError::from)?;
    match asked {
        Ok(reply) => {
            let millis = i64::try_from(deps.clock.now().elapsed.since(began).as_millis()).unwrap_or(i64::MAX);
            let reply = recorded(reply, &model.name(), answered_calls(steps));
            record(
                deps,
                turn,
                &State::Thinking(machine::Progress::default()),
                steps,
                Step::ModelReply(reply.clone()),
                millis,
            )
            .await?;
            Ok(Event::Replied(reply))
        }
        Err(error) => {
            tracing::warn!(turn_id = %turn.id, model = %model.name(), attempt, %error, "the model did not answer");
            Ok(Event::ModelFailed(error))
        }
    }
}

/// The model for this attempt: the second one only while nothing was admitted, because it would word an action anew.
async fn choose<'a>(deps: &'a TurnsDeps, turn: &Turn, attempt: u32) -> Result<&'a dyn ChatModel, TurnError> {
    let Some(fallback) = deps.fallback.as_deref().filter(|_| attempt >= 2) else { return Ok(deps.model.as_ref()) };
    let (id, epoch) = (turn.id.clone(), turn.epoch);
    let fenced = deps.store.read(move |connection| Ok::<_, TurnError>(store::current(connection, &id, epoch)?.fenced));
    Ok(if fenced.await? { deps.model.as_ref() } else { fallback })
}

fn recorded(reply: ChatReply, asked: &str, first_ordinal: i64) -> ModelReply {
    ModelReply {
        text: reply.text,
        calls: machine::with_unique_ids(reply.calls, first_ordinal),
        model: if reply.model.is_empty() { asked.to_owned() } else { reply.model },
        usage: reply.usage,
        truncated: reply.truncated,
    }
}

fn answered_calls(steps: &[Step]) -> i64 {
    i64::try_from(steps.iter().filter(|step| matches!(step, Step::ToolResult(_))).count()).unwrap_or(i64::MAX)
}

/// The whole request as it leaves: system prompt, history, this turn.
pub(super) async fn request(deps: &TurnsDeps, turn: &Turn, steps: &[Step]) -> Result<ChatRequest, TurnError> {
    let now = deps.clock.now();
    let settings = deps.settings.clone();
    let (turn, steps, tools) = (turn.clone(), steps.to_vec(), deps.tools.specs());
    deps.store
        .read(move |connection| {
            let history = history::load(connection, turn.conversation, turn.number, &settings)?;
            Ok(ChatRequest {
                system: prompt::system(connection, now, &settings)?,
                messages: history::request(&history, &turn, &steps, &settings),
                tools,
            })
        })
        .await
}

/// Answers one call and records the result.
async fn answer(
    deps: &TurnsDeps,
    turn: &Turn,
    state: &State,
    steps: &mut Vec<Step>,
    ordinal: i64,
    call: ToolCall,
) -> Result<Event, TurnError> {
    let began = deps.clock.now().elapsed;
    let input = input(steps);
    let context = CallContext {
        conversation: turn.conversation,
        turn: turn.id.clone(),
        epoch: turn.epoch,
        ordinal,
        call_id: call.id.clone(),
        stale_seconds: input.and_then(|input| input.stale_seconds),
        request: input.map(|input| input.request.clone()).unwrap_or_default(),
        language: input.map(|input| input.language).unwrap_or_default(),
        zone: deps.settings.zone.clone(),
        zone_name: deps.settings.zone_name.clone(),
    };
    failpoint::hit("tool.before_call").map_err(StoreError::from)?;
    let result = deps.tools.call(&context, &call.name, &call.arguments).await?;
    failpoint::hit("tool.after_call").map_err(StoreError::from)?;
    let spoke = !result.is_error()
        && deps.tools.declaration(&call.name).is_some_and(|declaration| declaration.kind == ToolKind::Message);
    let answer = ToolAnswer { call_id: call.id, name: call.name, content: result.content, spoke };
    let millis = i64::try_from(deps.clock.now().elapsed.since(began).as_millis()).unwrap_or(i64::MAX);
    record(deps, turn, state, steps, Step::ToolResult(answer.clone()), millis).await?;
    tracing::debug!(turn_id = %turn.id, tool = %answer.name, ordinal, millis, "tool answered");
    Ok(Event::Answered(answer))
}

fn input(steps: &[Step]) -> Option<&Input> {
    steps.iter().rev().find_map(|step| match step {
        Step::Input(input) => Some(input),
        Step::ModelReply(_) | Step::ToolResult(_) | Step::Summary(_) | Step::Correction(_) | Step::Final(_) => None,
    })
}
