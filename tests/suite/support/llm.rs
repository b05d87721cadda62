//! A model provider on loopback that plays a script in the wire format it is asked in: OpenAI-compatible chat
//! completions, Anthropic messages, Gemini and Ollama, all streaming. It keeps every request it got.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use super::exchange::{self, Asked, Reply};

/// Whose format a request was in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dialect {
    OpenAi,
    Anthropic,
    Gemini,
    Ollama,
}

impl Dialect {
    pub const ALL: [Self; 4] = [Self::OpenAi, Self::Anthropic, Self::Gemini, Self::Ollama];

    fn of(path: &str) -> Option<Self> {
        if path.ends_with("/chat/completions") {
            Some(Self::OpenAi)
        } else if path.ends_with("/messages") {
            Some(Self::Anthropic)
        } else if path.contains(":streamGenerateContent") {
            Some(Self::Gemini)
        } else if path.ends_with("/api/chat") {
            Some(Self::Ollama)
        } else {
            None
        }
    }
}

/// A tool call as the model writes it.
#[derive(Clone, Debug)]
pub struct Call {
    pub id: String,
    pub name: String,
    /// Raw JSON text, broken or not.
    pub arguments: String,
}

#[derive(Clone, Debug)]
enum Act {
    Answer {
        text: String,
        calls: Vec<Call>,
        cut: bool,
    },
    /// Part of an answer, then the stream's own error event.
    Overloaded,
    Status {
        status: u16,
        retry_after: Option<u64>,
        message: String,
    },
    Hangup,
    Silence,
}

/// One reply of the script.
#[derive(Clone, Debug)]
pub struct Line {
    act: Act,
    when: Option<String>,
    after: Duration,
    again: bool,
}

impl Line {
    fn new(act: Act) -> Self {
        Self { act, when: None, after: Duration::ZERO, again: false }
    }

    pub fn say(text: &str) -> Self {
        Self::new(Act::Answer { text: text.to_owned(), calls: Vec::new(), cut: false })
    }

    pub fn call(name: &str, arguments: Value) -> Self {
        Self::say("").and_call(name, &arguments.to_string())
    }

    /// Another call in the same reply; the arguments as raw text.
    pub fn and_call(mut self, name: &str, arguments: &str) -> Self {
        if let Act::Answer { calls, .. } = &mut self.act {
            let id = format!("call_{name}_{}", calls.len() + 1);
            calls.push(Call { id, name: name.to_owned(), arguments: arguments.to_owned() });
        }
        self
    }

    /// The stream ends before its end.
    pub fn cut(mut self) -> Self {
        if let Act::Answer { cut, .. } = &mut self.act {
            *cut = true;
        }
        self
    }

    pub fn overloaded() -> Self {
        Self::new(Act::Overloaded)
    }

    pub fn status(status: u16, message: &str) -> Self {
        Self::new(Act::Status { status, retry_after: None, message: message.to_owned() })
    }

    pub fn busy(retry_after: u64) -> Self {
        Self::new(Act::Status { status: 429, retry_after: Some(retry_after), message: "slow down".to_owned() })
    }

    /// The connection is closed without a byte.
    pub fn hangup() -> Self {
        Self::new(Act::Hangup)
    }

    pub fn silence() -> Self {
        Self::new(Act::Silence)
    }

    /// Only for a request whose newest message contains this.
    pub fn when(mut self, text: &str) -> Self {
        self.when = Some(text.to_lowercase());
        self
    }

    pub fn after(mut self, time: Duration) -> Self {
        self.after = time;
        self
    }

    /// May be played any number of times.
    pub fn again(mut self) -> Self {
        self.again = true;
        self
    }
}

/// A running provider.
#[derive(Clone)]
pub struct Llm {
    /// `http://127.0.0.1:PORT`
    pub address: String,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    script: Vec<Line>,
    journal: Vec<Asked>,
}

impl Llm {
    pub async fn start(script: impl IntoIterator<Item = Line>) -> Self {
        let state = Arc::new(Mutex::new(State { script: script.into_iter().collect(), journal: Vec::new() }));
        let shared = state.clone();
        let address = exchange::serve(move |asked| {
            let shared = shared.clone();
            async move { answer(&shared, asked).await }
        })
        .await;
        Self { address, state }
    }

    /// Where an adapter of this dialect is pointed.
    pub fn base_url(&self, dialect: Dialect) -> String {
        match dialect {
            Dialect::OpenAi | Dialect::Anthropic => format!("{}/v1/", self.address),
            Dialect::Gemini => format!("{}/v1beta/", self.address),
            Dialect::Ollama => format!("{}/", self.address),
        }
    }

    pub fn extend(&self, script: impl IntoIterator<Item = Line>) {
        self.state.lock().unwrap().script.extend(script);
    }

    /// Every chat request so far.
    pub fn requests(&self) -> Vec<Asked> {
        let state = self.state.lock().unwrap();
        state.journal.iter().filter(|asked| Dialect::of(path(asked)).is_some()).cloned().collect()
    }

    /// Their bodies.
    pub fn bodies(&self) -> Vec<Value> {
        self.requests().iter().map(|asked| serde_json::from_str(&asked.body).unwrap()).collect()
    }

    /// Lines not played yet.
    pub fn unused(&self) -> usize {
        self.state.lock().unwrap().script.iter().filter(|line| !line.again).count()
    }
}

fn path(asked: &Asked) -> &str {
    asked.path.split('?').next().unwrap_or_default()
}

async fn answer(state: &Mutex<State>, asked: Asked) -> Reply {
    state.lock().unwrap().journal.push(asked.clone());
    let Some(dialect) = Dialect::of(path(&asked)) else { return other(&asked) };
    let newest = newest(&asked.body).to_lowercase();
    let line = {
        let mut state = state.lock().unwrap();
        let fits = |line: &Line| line.when.as_ref().is_none_or(|text| newest.contains(text));
        match state.script.iter().position(fits) {
            Some(index) if state.script[index].again => state.script[index].clone(),
            Some(index) => state.script.remove(index),
            None => Line::status(400, "the script has no line for this request"),
        }
    };
    tokio::time::sleep(line.after).await;
    match line.act {
        Act::Hangup => Reply::Cut,
        Act::Silence => Reply::Silence,
        Act::Status { status, retry_after, message } => {
            let reply =
                Reply::status(status).body("application/json", json!({"error": {"message": message}}).to_string());
            match retry_after {
                Some(seconds) => reply.with("retry-after", seconds.to_string()),
                None => reply,
            }
        }
        Act::Overloaded => stream(dialect, overloaded(dialect)),
        Act::Answer { text, calls, cut } => {
            let mut events = events(dialect, &text, &calls);
            if cut {
                events.truncate(events.len() - end_events(dialect));
            }
            stream(dialect, events)
        }
    }
}

/// The newest message as text, whatever the dialect.
fn newest(body: &str) -> String {
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    let list = body.get("messages").or_else(|| body.get("contents")).and_then(Value::as_array);
    list.and_then(|list| list.last()).map(unescaped).unwrap_or_default()
}

/// All texts in a value, one per line.
fn unescaped(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(unescaped).collect::<Vec<_>>().join("\n"),
        Value::Object(fields) => fields.values().map(unescaped).collect::<Vec<_>>().join("\n"),
        other => other.to_string(),
    }
}

fn other(asked: &Asked) -> Reply {
    match path(asked) {
        "/v1/models" => Reply::status(200).body(
            "application/json",
            json!({"object": "list", "data": [{"id": "small-model", "object": "model"}]}).to_string(),
        ),
        "/api/tags" => {
            Reply::status(200).body("application/json", json!({"models": [{"name": "small-model:latest"}]}).to_string())
        }
        _ => Reply::status(404),
    }
}

fn stream(dialect: Dialect, events: Vec<String>) -> Reply {
    match dialect {
        Dialect::Ollama => Reply::status(200).body("application/x-ndjson", events.concat()),
        Dialect::OpenAi | Dialect::Anthropic | Dialect::Gemini => {
            Reply::status(200).body("text/event-stream", events.concat())
        }
    }
}

fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

fn named(event: &str, mut value: Value) -> String {
    value["type"] = json!(event);
    format!("event: {event}\ndata: {value}\n\n")
}

/// Events at the end whose loss makes the reply a cut one.
fn end_events(dialect: Dialect) -> usize {
    match dialect {
        Dialect::OpenAi => 3,
        Dialect::Anthropic => 2,
        Dialect::Gemini | Dialect::Ollama => 1,
    }
}

/// Two pieces of text, so that joining them is tested too.
fn halves(text: &str) -> Vec<String> {
    let middle = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
    [&text[..middle], &text[middle..]].into_iter().filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

fn events(dialect: Dialect, text: &str, calls: &[Call]) -> Vec<String> {
    let mut events = Vec::new();
    match dialect {
        Dialect::OpenAi => {
            let chunk = |delta: Value, finish: Value| {
                data(&json!({"id": "c", "object": "chat.completion.chunk", "model": "small-model",
                             "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}))
            };
            events.push(chunk(json!({"role": "assistant", "content": ""}), Value::Null));
            events.extend(halves(text).iter().map(|part| chunk(json!({"content": part}), Value::Null)));
            for (index, call) in calls.iter().enumerate() {
                for (n, part) in halves(&call.arguments).iter().enumerate() {
                    let mut piece = json!({"index": index, "function": {"arguments": part}});
                    if n == 0 {
                        piece["id"] = json!(call.id);
                        piece["type"] = json!("function");
                        piece["function"]["name"] = json!(call.name);
                    }
                    events.push(chunk(json!({"tool_calls": [piece]}), Value::Null));
                }
            }
            let finish = if calls.is_empty() { "stop" } else { "tool_calls" };
            events.push(chunk(json!({}), json!(finish)));
            events.push(data(&json!({"id": "c", "choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}})));
            events.push("data: [DONE]\n\n".to_owned());
        }
        Dialect::Anthropic => {
            events.push(named(
                "message_start",
                json!({"message": {"id": "m", "role": "assistant", "content": [],
                "model": "small-model", "usage": {"input_tokens": 100, "output_tokens": 1}}}),
            ));
            let mut index = 0;
            if !text.is_empty() {
                events.push(named(
                    "content_block_start",
                    json!({"index": 0, "content_block": {"type": "text", "text": ""}}),
                ));
                for part in halves(text) {
                    events.push(named(
                        "content_block_delta",
                        json!({"index": 0, "delta": {"type": "text_delta", "text": part}}),
                    ));
                }
                events.push(named("content_block_stop", json!({"index": 0})));
                index = 1;
            }
            for call in calls {
                events.push(named(
                    "content_block_start",
                    json!({"index": index,
                    "content_block": {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}}),
                ));
                for part in halves(&call.arguments) {
                    events.push(named(
                        "content_block_delta",
                        json!({"index": index,
                        "delta": {"type": "input_json_delta", "partial_json": part}}),
                    ));
                }
                events.push(named("content_block_stop", json!({"index": index})));
                index += 1;
            }
            let stop = if calls.is_empty() { "end_turn" } else { "tool_use" };
            events
                .push(named("message_delta", json!({"delta": {"stop_reason": stop}, "usage": {"output_tokens": 20}})));
            events.push(named("message_stop", json!({})));
        }
        Dialect::Gemini => {
            let chunk = |parts: Vec<Value>, finish: Value| {
                data(
                    &json!({"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": finish, "index": 0}],
                    "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120}}),
                )
            };
            for part in halves(text) {
                events.push(chunk(vec![json!({"text": part})], Value::Null));
            }
            for call in calls {
                let args: Value = serde_json::from_str(&call.arguments).unwrap_or(json!({}));
                events.push(chunk(vec![json!({"functionCall": {"name": call.name, "args": args}})], Value::Null));
            }
            events.push(chunk(vec![json!({"text": ""})], json!("STOP")));
        }
        Dialect::Ollama => {
            let line = |message: Value, done: bool| {
                let mut value = json!({"model": "small-model", "created_at": "2026-12-07T09:00:00Z", "message": message, "done": done});
                if done {
                    value["done_reason"] = json!("stop");
                    value["prompt_eval_count"] = json!(100);
                    value["eval_count"] = json!(20);
                }
                format!("{value}\n")
            };
            for part in halves(text) {
                events.push(line(json!({"role": "assistant", "content": part}), false));
            }
            if !calls.is_empty() {
                let calls: Vec<Value> = calls
                    .iter()
                    .map(|call| {
                        let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or(json!({}));
                        json!({"id": call.id, "function": {"name": call.name, "arguments": arguments}})
                    })
                    .collect();
                events.push(line(json!({"role": "assistant", "content": "", "tool_calls": calls}), false));
            }
            events.push(line(json!({"role": "assistant", "content": ""}), true));
        }
    }
    events
}

fn overloaded(dialect: Dialect) -> Vec<String> {
    let mut events = events(dialect, "This will not be", &[]);
    events.truncate(events.len() - end_events(dialect));
    events.push(match dialect {
        Dialect::OpenAi => data(&json!({"error": {"message": "The server is overloaded", "type": "server_error"}})),
        Dialect::Anthropic => named("error", json!({"error": {"type": "overloaded_error", "message": "Overloaded"}})),
        Dialect::Gemini => {
            data(&json!({"error": {"code": 503, "message": "The model is overloaded", "status": "UNAVAILABLE"}}))
        }
        Dialect::Ollama => format!("{}\n", json!({"error": "server overloaded"})),
    });
    events
}
