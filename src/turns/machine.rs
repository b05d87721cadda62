//! The turn as a pure state machine: recorded events in, one command out.
//!
//! A turn that was interrupted by a crash is its recorded steps fed through [`next`] again: the last command is what
//! to do now, and no step that was answered is asked for twice.

use serde_json::Value;

use super::ending::{Closing, Ending, Reason};
use super::steps::{Correction, CorrectionReason, ModelReply, Step, ToolAnswer};
use crate::domain::chat::{ModelError, ToolCall};

/// Identical calls with identical results in a row that make a loop.
const LOOP: u32 = 4;
/// Failed attempts in a row to get one reply; with backoff they span about two minutes.
const ATTEMPTS: u32 = 6;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    pub model_calls: u32,
    pub tokens: i64,
}

/// What the steps so far add up to.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Progress {
    pub model_calls: u32,
    pub tool_calls: i64,
    pub tokens: i64,
    /// Failed attempts since the last reply; not recorded.
    failures: u32,
    corrected_empty: bool,
    corrected_claim: bool,
    summarised: bool,
    /// The message tool spoke to the user.
    spoke: bool,
    last_round: Vec<(ToolCall, Value)>,
    same_rounds: u32,
}

impl Progress {
    /// The model was asked once already to take back a claim.
    pub fn claim_corrected(&self) -> bool {
        self.corrected_claim
    }
}

#[derive(Clone, PartialEq, Debug)]
pub enum State {
    /// Waits for a reply of the model.
    Thinking(Progress),
    /// Works through the calls of the last reply, in order.
    Acting {
        progress: Progress,
        calls: Vec<ToolCall>,
        results: Vec<Value>,
    },
    /// The answer stands; it is to be handed over.
    Replying {
        progress: Progress,
        closing: Closing,
    },
    Ended(Ending),
}

impl State {
    /// Name in `turns.state`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Thinking(_) => "thinking",
            Self::Acting { .. } => "acting",
            Self::Replying { .. } => "replying",
            Self::Ended(_) => "ended",
        }
    }

    pub fn progress(&self) -> Option<&Progress> {
        match self {
            Self::Thinking(progress) | Self::Acting { progress, .. } | Self::Replying { progress, .. } => {
                Some(progress)
            }
            Self::Ended(_) => None,
        }
    }

    /// Calls that have no result yet.
    pub fn open_calls(&self) -> &[ToolCall] {
        match self {
            Self::Acting { calls, results, .. } => calls.get(results.len()..).unwrap_or_default(),
            Self::Thinking(_) | Self::Replying { .. } | Self::Ended(_) => &[],
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    Replied(ModelReply),
    ModelFailed(ModelError),
    /// The older history was summarised.
    Summarised,
    Answered(ToolAnswer),
    Corrected(CorrectionReason),
    /// The answer claims what no row shows.
    ClaimUnproven(Correction),
    /// A limit outside the machine was met: time, budget, a fault.
    Limited(Reason),
    /// The closing was recorded and handed to the outbox.
    Closed,
}

/// What to do now.
#[derive(Clone, PartialEq, Debug)]
pub enum Command {
    /// `attempt` counts the failures before it: 0 is asked at once, later ones after a backoff or `wait`.
    Ask {
        attempt: u32,
        wait: Option<std::time::Duration>,
    },
    /// The history is too long: have it summarised, then ask again.
    Summarise,
    Call {
        ordinal: i64,
        call: ToolCall,
    },
    Correct(Correction),
    Close(Closing),
    Nothing,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a turn that is {state} cannot take {event}")]
pub struct IllegalTransition {
    pub state: &'static str,
    pub event: &'static str,
}

/// The state of a turn whose input is recorded.
pub fn begin() -> (State, Command) {
    (State::Thinking(Progress::default()), Command::Ask { attempt: 0, wait: None })
}

/// Feeds recorded steps (after the input) through the machine.
pub fn resume(steps: &[Step], limits: Limits) -> Result<(State, Command), IllegalTransition> {
    let mut at = begin();
    for step in steps {
        let event = match step {
            Step::Input(_) => continue,
            Step::ModelReply(reply) => Event::Replied(reply.clone()),
            Step::ToolResult(answer) => Event::Answered(answer.clone()),
            Step::Summary(_) => Event::Summarised,
            Step::Correction(correction) => Event::Corrected(correction.reason),
            Step::Final(closing) => {
                at = (State::Ended(closing.ending), Command::Nothing);
                continue;
            }
        };
        at = next(at.0, event, limits)?;
    }
    Ok(at)
}

/// One step of the machine.
pub fn next(state: State, event: Event, limits: Limits) -> Result<(State, Command), IllegalTransition> {
    match (state, event) {
        (State::Thinking(progress), Event::Replied(reply)) => Ok(replied(progress, reply, limits)),
        (State::Thinking(progress), Event::ModelFailed(error)) => Ok(failed(progress, error)),
        (State::Thinking(mut progress), Event::Summarised) => {
            progress.summarised = true;
            Ok((State::Thinking(progress), Command::Ask { attempt: 0, wait: None }))
        }
        (State::Acting { progress, calls, results }, Event::Answered(answer)) => {
            answered(progress, calls, results, answer, limits)
        }
        (State::Replying { mut progress, closing }, Event::ClaimUnproven(correction)) => {
            if progress.corrected_claim {
                return Ok(close(progress, closing));
            }
            progress.corrected_claim = true;
            Ok((State::Thinking(progress), Command::Correct(correction)))
        }
        (State::Thinking(mut progress) | State::Replying { mut progress, .. }, Event::Corrected(reason)) => {
            match reason {
                CorrectionReason::EmptyReply => progress.corrected_empty = true,
                CorrectionReason::UnprovenClaim => progress.corrected_claim = true,
            }
            Ok(ask(progress, limits))
        }
        (
            State::Thinking(progress) | State::Acting { progress, .. } | State::Replying { progress, .. },
            Event::Limited(reason),
        ) => Ok(close(progress, closing(reason))),
        (State::Replying { closing, .. }, Event::Closed) => Ok((State::Ended(closing.ending), Command::Nothing)),
        (state @ State::Thinking(_), event @ (Event::Answered(_) | Event::ClaimUnproven(_) | Event::Closed))
        | (
            state @ State::Acting { .. },
            event @ (Event::Replied(_)
            | Event::ModelFailed(_)
            | Event::Summarised
            | Event::Corrected(_)
            | Event::ClaimUnproven(_)
            | Event::Closed),
        )
        | (
            state @ State::Replying { .. },
            event @ (Event::Replied(_) | Event::ModelFailed(_) | Event::Summarised | Event::Answered(_)),
        )
        | (
            state @ State::Ended(_),
            event @ (Event::Replied(_)
            | Event::ModelFailed(_)
            | Event::Summarised
            | Event::Answered(_)
            | Event::Corrected(_)
            | Event::ClaimUnproven(_)
            | Event::Limited(_)
            | Event::Closed),
        ) => Err(IllegalTransition { state: state.name(), event: event.name() }),
    }
}

fn replied(mut progress: Progress, reply: ModelReply, limits: Limits) -> (State, Command) {
    progress.model_calls += 1;
    progress.failures = 0;
    progress.tokens += reply.usage.input_tokens + reply.usage.output_tokens;
    if let Some(first) = reply.calls.first().cloned() {
        // A last reply that still wants to act would act without being able to say so.
        if let Some(reason) = spent(&progress, limits) {
            return close(progress, closing(reason));
        }
        let command = Command::Call { ordinal: progress.tool_calls, call: first };
        return (State::Acting { progress, calls: reply.calls, results: Vec::new() }, command);
    }
    if !reply.text.trim().is_empty() || progress.spoke {
        return close(progress, Closing { ending: Ending::Answered, text: reply.text.trim().to_owned(), reason: None });
    }
    if progress.corrected_empty {
        return close(progress, closing(Reason::NoAnswer));
    }
    progress.corrected_empty = true;
    let correction = Correction {
        reason: CorrectionReason::EmptyReply,
        text: "Your last reply was empty. Answer the person's message now, or call a tool.".to_owned(),
    };
    (State::Thinking(progress), Command::Correct(correction))
}

fn failed(mut progress: Progress, error: ModelError) -> (State, Command) {
    progress.failures += 1;
    let again = progress.failures < ATTEMPTS;
    let reason = match error {
        ModelError::Unavailable { retry_after, .. } if again => {
            let attempt = progress.failures;
            return (State::Thinking(progress), Command::Ask { attempt, wait: retry_after });
        }
        ModelError::Cut if again => {
            let attempt = progress.failures;
            return (State::Thinking(progress), Command::Ask { attempt, wait: None });
        }
        ModelError::ContextOverflow if !progress.summarised => {
            progress.failures = 0;
            return (State::Thinking(progress), Command::Summarise);
        }
        ModelError::Unavailable { reason, .. } => Reason::ModelUnavailable { detail: reason },
        ModelError::Cut => Reason::ModelCut,
        ModelError::ContextOverflow => Reason::TooLong,
        ModelError::Unauthorized { reason } => Reason::ModelUnauthorized { detail: reason },
        ModelError::Refused { reason } => Reason::ModelRefused { detail: reason },
    };
    close(progress, closing(reason))
}

fn answered(
    mut progress: Progress,
    calls: Vec<ToolCall>,
    mut results: Vec<Value>,
    answer: ToolAnswer,
    limits: Limits,
) -> Result<(State, Command), IllegalTransition> {
    let expected = calls.get(results.len()).map(|call| call.id.as_str());
    if expected != Some(answer.call_id.as_str()) {
        return Err(IllegalTransition { state: "acting", event: "the result of another call" });
    }
    progress.tool_calls += 1;
    progress.spoke |= answer.spoke;
    results.push(answer.content);
    if let Some(call) = calls.get(results.len()).cloned() {
        let command = Command::Call { ordinal: progress.tool_calls, call };
        return Ok((State::Acting { progress, calls, results }, command));
    }
    let round: Vec<(ToolCall, Value)> = calls.into_iter().zip(results).collect();
    if same_round(&round, &progress.last_round) {
        progress.same_rounds += 1;
    } else {
        progress.same_rounds = 1;
    }
    let tool = round.first().map(|(call, _)| call.name.clone()).unwrap_or_default();
    progress.last_round = round;
    if progress.same_rounds >= LOOP {
        return Ok(close(progress, closing(Reason::Loop { tool })));
    }
    Ok(ask(progress, limits))
}

/// Same names, arguments and results; ids differ from reply to reply.
fn same_round(one: &[(ToolCall, Value)], other: &[(ToolCall, Value)]) -> bool {
    one.len() == other.len()
        && one.iter().zip(other).all(|((a, a_result), (b, b_result))| {
            a.name == b.name && a.arguments == b.arguments && a_result == b_result
        })
}

fn ask(progress: Progress, limits: Limits) -> (State, Command) {
    match spent(&progress, limits) {
        Some(reason) => close(progress, closing(reason)),
        None => (State::Thinking(progress), Command::Ask { attempt: 0, wait: None }),
    }
}

fn spent(progress: &Progress, limits: Limits) -> Option<Reason> {
    if progress.model_calls >= limits.model_calls {
        return Some(Reason::TooManyCalls { limit: limits.model_calls });
    }
    (progress.tokens >= limits.tokens).then_some(Reason::TooManyTokens { limit: limits.tokens })
}

fn closing(reason: Reason) -> Closing {
    Closing { ending: reason.ending(), text: String::new(), reason: Some(reason) }
}

fn close(progress: Progress, closing: Closing) -> (State, Command) {
    (State::Replying { progress, closing: closing.clone() }, Command::Close(closing))
}

impl Event {
    fn name(&self) -> &'static str {
        match self {
            Self::Replied(_) => "a model reply",
            Self::ModelFailed(_) => "a model failure",
            Self::Summarised => "a summary",
            Self::Answered(_) => "a tool result",
            Self::Corrected(_) => "a correction",
            Self::ClaimUnproven(_) => "an unproven claim",
            Self::Limited(_) => "a limit",
            Self::Closed => "its closing",
        }
    }
}

/// Gives every call of a reply its own id: a repeated call is dropped, a reused id on another call is renamed,
/// a missing one is made from the ordinal.
pub fn with_unique_ids(calls: Vec<ToolCall>, first_ordinal: i64) -> Vec<ToolCall> {
    let mut unique: Vec<ToolCall> = Vec::with_capacity(calls.len());
    for mut call in calls {
        if call.id.is_empty() {
            call.id = format!("call_{}", first_ordinal + unique.len() as i64);
        }
        if unique.contains(&call) {
            continue;
        }
        let base = call.id.clone();
        let mut n = 2;
        while unique.iter().any(|seen| seen.id == call.id) {
            call.id = format!("{base}_{n}");
            n += 1;
        }
        unique.push(call);
    }
    unique
}
