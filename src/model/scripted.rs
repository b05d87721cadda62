//! A model that says what a script tells it: for replays and tests.
//!
//! Lines are taken in order; a line with `when` waits for a request whose newest message contains that text. A request
//! that is dropped (superseded, stopped) leaves its line for the next one.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::domain::chat::{ChatMessage, ChatReply, ChatRequest, ModelError, ToolCall, Usage};
use crate::domain::ports::{ChatModel, Clock, StreamSink};

/// One reply of the script.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Line {
    /// Only for a request whose newest message (of the person or a tool) contains this, whatever the case.
    pub when: Option<String>,
    /// Thinking time in milliseconds.
    pub after_ms: u64,
    pub text: String,
    /// Milliseconds over which the text is written, after the thinking.
    pub stream_ms: u64,
    pub calls: Vec<ScriptedCall>,
    /// Fails instead of answering.
    pub error: Option<ScriptedError>,
    /// May be used any number of times.
    pub again: bool,
}

/// A tool call of the script. Without an id it gets `call_N`, counted over the script.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedCall {
    pub tool: String,
    #[serde(default)]
    pub arguments: serde_json::Value,
    #[serde(default)]
    pub id: Option<String>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ScriptedError {
    /// 429 or 5xx; with the seconds the provider asks to wait.
    Unavailable {
        retry_after_s: Option<u64>,
    },
    Cut,
    ContextOverflow,
    Unauthorized,
    Refused,
}

impl Line {
    pub fn say(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    pub fn call(tool: &str, arguments: serde_json::Value) -> Self {
        Self::default().and_call(tool, arguments)
    }

    pub fn fail(error: ScriptedError) -> Self {
        Self { error: Some(error), ..Self::default() }
    }

    pub fn and_call(mut self, tool: &str, arguments: serde_json::Value) -> Self {
        self.calls.push(ScriptedCall { tool: tool.to_owned(), arguments, id: None });
        self
    }

    pub fn when(mut self, text: impl Into<String>) -> Self {
        self.when = Some(text.into());
        self
    }

    pub fn after(mut self, time: Duration) -> Self {
        self.after_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self
    }

    /// Written word by word over so long.
    pub fn over(mut self, time: Duration) -> Self {
        self.stream_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self
    }

    pub fn again(mut self) -> Self {
        self.again = true;
        self
    }
}

/// Plays a script. Cloned handles share it.
#[derive(Clone)]
pub struct ScriptedModel {
    clock: Arc<dyn Clock>,
    shared: Arc<Mutex<Script>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Free,
    /// A request is thinking about it.
    Taken,
    Spent,
}

/// Gives a line back when its request is dropped before the end.
struct Taken<'a> {
    model: &'a ScriptedModel,
    index: usize,
    finished: bool,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if !self.finished
            && let Some(entry) = self.model.script().lines.get_mut(self.index)
        {
            entry.1 = Use::Free;
        }
    }
}

#[derive(Default)]
struct Script {
    lines: Vec<(Line, Use)>,
    requests: Vec<ChatRequest>,
    calls: usize,
}

impl ScriptedModel {
    pub fn new(clock: Arc<dyn Clock>, lines: impl IntoIterator<Item = Line>) -> Self {
        let lines = lines.into_iter().map(|line| (line, Use::Free)).collect();
        Self { clock, shared: Arc::new(Mutex::new(Script { lines, ..Script::default() })) }
    }

    fn script(&self) -> std::sync::MutexGuard<'_, Script> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds lines to the end.
    pub fn extend(&self, lines: impl IntoIterator<Item = Line>) {
        self.script().lines.extend(lines.into_iter().map(|line| (line, Use::Free)));
    }

    /// Every request so far, dropped ones too.
    pub fn requests(&self) -> Vec<ChatRequest> {
        self.script().requests.clone()
    }

    /// Lines not used yet, those that may be used again left out.
    pub fn unused(&self) -> usize {
        self.script().lines.iter().filter(|(line, used)| *used != Use::Spent && !line.again).count()
    }

    fn choose(&self, request: &ChatRequest) -> Option<(usize, Line)> {
        let newest = match request.messages.last() {
            Some(ChatMessage::User { text, .. } | ChatMessage::Assistant { text, .. }) => text.to_lowercase(),
            Some(ChatMessage::ToolResult { content, .. }) => content.to_lowercase(),
            None => String::new(),
        };
        let mut script = self.script();
        script.requests.push(request.clone());
        script.lines.iter_mut().enumerate().find_map(|(index, (line, used))| {
            let fits = line.when.as_ref().is_none_or(|text| newest.contains(&text.to_lowercase()));
            if *used != Use::Free || !fits {
                return None;
            }
            *used = if line.again { Use::Free } else { Use::Taken };
            Some((index, line.clone()))
        })
    }

    fn finish(&self, index: usize, line: &Line) -> Vec<ToolCall> {
        let mut script = self.script();
        if let Some(entry) = script.lines.get_mut(index) {
            entry.1 = if line.again { Use::Free } else { Use::Spent };
        }
        line.calls
            .iter()
            .map(|call| {
                script.calls += 1;
                let id = call.id.clone().unwrap_or_else(|| format!("call_{}", script.calls));
                ToolCall { id, name: call.tool.clone(), arguments: call.arguments.clone() }
            })
            .collect()
    }
}

#[async_trait]
impl ChatModel for ScriptedModel {
    fn name(&self) -> String {
        "scripted".to_owned()
    }

    async fn reply(&self, request: &ChatRequest, sink: &dyn StreamSink) -> Result<ChatReply, ModelError> {
        let Some((index, line)) = self.choose(request) else {
            return Err(ModelError::Refused { reason: "the script has no line for this request".to_owned() });
        };
        let mut taken = Taken { model: self, index, finished: false };
        if line.after_ms > 0 {
            self.clock.sleep(Duration::from_millis(line.after_ms)).await;
        }
        if line.stream_ms > 0 {
            let words: Vec<&str> = line.text.split_inclusive(' ').collect();
            let pause = Duration::from_millis(line.stream_ms) / u32::try_from(words.len().max(1)).unwrap_or(u32::MAX);
            for word in words {
                sink.text(word);
                self.clock.sleep(pause).await;
            }
        }
        taken.finished = true;
        let calls = self.finish(index, &line);
        match line.error {
            None => {
                if line.stream_ms == 0 {
                    sink.text(&line.text);
                }
                // About four characters a token, so that budgets and displays have something to count.
                let read = request.system.len() + request.messages.iter().map(size).sum::<usize>();
                let usage = Usage {
                    input_tokens: i64::try_from(read / 4).unwrap_or(i64::MAX),
                    output_tokens: i64::try_from(line.text.len() / 4 + 1).unwrap_or(i64::MAX),
                };
                Ok(ChatReply { text: line.text, calls, model: self.name(), usage, truncated: false })
            }
            Some(ScriptedError::Unavailable { retry_after_s }) => Err(ModelError::Unavailable {
                reason: "the script says so".to_owned(),
                retry_after: retry_after_s.map(Duration::from_secs),
            }),
            Some(ScriptedError::Cut) => Err(ModelError::Cut),
            Some(ScriptedError::ContextOverflow) => Err(ModelError::ContextOverflow),
            Some(ScriptedError::Unauthorized) => {
                Err(ModelError::Unauthorized { reason: "the script says so".to_owned() })
            }
            Some(ScriptedError::Refused) => Err(ModelError::Refused { reason: "the script says so".to_owned() }),
        }
    }
}

fn size(message: &ChatMessage) -> usize {
    match message {
        ChatMessage::User { text, .. } => text.len(),
        ChatMessage::Assistant { text, calls } => {
            text.len() + calls.iter().map(|call| call.arguments.to_string().len()).sum::<usize>()
        }
        ChatMessage::ToolResult { content, .. } => content.len(),
    }
}
