//! Model providers by their wire formats: the same questions to all four dialects.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use unavez::domain::chat::{ChatMessage, ChatReply, ChatRequest, ModelError, ToolCall, ToolSpec};
use unavez::domain::ports::{ChatModel, NoSink};
use unavez::model::discovery::{self, ToolCheck};
use unavez::model::genai::{GenaiModel, Provider, ProviderSettings};

use crate::support::exchange::{self, Reply};
use crate::support::llm::{Dialect, Line, Llm};

fn provider(dialect: Dialect) -> Provider {
    match dialect {
        Dialect::OpenAi => Provider::OpenAi,
        Dialect::Anthropic => Provider::Anthropic,
        Dialect::Gemini => Provider::Gemini,
        Dialect::Ollama => Provider::Ollama,
    }
}

fn model(llm: &Llm, dialect: Dialect, timeout: Duration) -> GenaiModel {
    GenaiModel::new(ProviderSettings {
        provider: provider(dialect),
        model: "small-model".to_owned(),
        base_url: llm.base_url(dialect),
        api_key: Some("sk-very-secret-key".into()),
        request_timeout: timeout,
        files: std::env::temp_dir(),
    })
    .unwrap()
}

/// A conversation with a past: a call, its result, and a new message.
fn request() -> ChatRequest {
    ChatRequest {
        system: "You are brief.".to_owned(),
        messages: vec![
            ChatMessage::User { text: "What is on Monday?".to_owned(), images: Vec::new() },
            ChatMessage::Assistant {
                text: "Let me look.".to_owned(),
                calls: vec![ToolCall {
                    id: "call_7".to_owned(),
                    name: "list_events".to_owned(),
                    arguments: json!({"from": "2026-12-07", "to": "2026-12-07"}),
                }],
            },
            ChatMessage::ToolResult {
                call_id: "call_7".to_owned(),
                name: "list_events".to_owned(),
                content: r#"{"events":[]}"#.to_owned(),
            },
            ChatMessage::Assistant { text: "Nothing.".to_owned(), calls: Vec::new() },
            ChatMessage::User { text: "Dentist at nine, please.".to_owned(), images: Vec::new() },
        ],
        tools: vec![ToolSpec {
            name: "create_event".to_owned(),
            description: "Creates one event.".to_owned(),
            schema: json!({"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}),
        }],
    }
}

async fn ask(dialect: Dialect, line: Line) -> (Llm, Result<ChatReply, ModelError>) {
    let llm = Llm::start([line]).await;
    let reply = model(&llm, dialect, Duration::from_secs(2)).reply(&request(), &NoSink).await;
    (llm, reply)
}

#[tokio::test]
async fn every_dialect_reads_text_and_usage() {
    for dialect in Dialect::ALL {
        let (_, reply) = ask(dialect, Line::say("Mañana a las 9: dentista ✅")).await;
        let reply = reply.unwrap_or_else(|error| panic!("{dialect:?}: {error}"));
        assert_eq!(reply.text, "Mañana a las 9: dentista ✅", "{dialect:?}");
        assert_eq!(reply.calls, [], "{dialect:?}");
        assert_eq!((reply.usage.input_tokens, reply.usage.output_tokens), (100, 20), "{dialect:?}");
        assert_eq!(reply.model, "small-model");
    }
}

#[tokio::test]
async fn every_dialect_reads_parallel_tool_calls() {
    for dialect in Dialect::ALL {
        let line = Line::call("create_event", json!({"title": "Dentist", "start_datetime": "2026-12-07T09:00"}))
            .and_call("create_event", r#"{"title":"Gym"}"#);
        let (_, reply) = ask(dialect, line).await;
        let reply = reply.unwrap_or_else(|error| panic!("{dialect:?}: {error}"));
        let calls: Vec<(&str, &Value)> = reply.calls.iter().map(|call| (call.name.as_str(), &call.arguments)).collect();
        assert_eq!(
            calls,
            [
                ("create_event", &json!({"title": "Dentist", "start_datetime": "2026-12-07T09:00"})),
                ("create_event", &json!({"title": "Gym"}))
            ],
            "{dialect:?}"
        );
        // Gemini names no calls; the turn gives each its own id.
        assert!(dialect == Dialect::Gemini || reply.calls[0].id != reply.calls[1].id, "{dialect:?}");
    }
}

#[tokio::test]
async fn the_request_has_system_history_results_and_tools() {
    for dialect in Dialect::ALL {
        let (llm, reply) = ask(dialect, Line::say("ok")).await;
        reply.unwrap();
        let asked = &llm.requests()[0];
        let body = asked.body.as_str();
        for part in [
            "You are brief.",
            "What is on Monday?",
            "list_events",
            "2026-12-07",
            "Nothing.",
            "Dentist at nine",
            "create_event",
            "Creates one event.",
        ] {
            assert!(body.contains(part), "{dialect:?}: {part} is missing in {body}");
        }
        let json: Value = serde_json::from_str(body).unwrap();
        match dialect {
            Dialect::OpenAi => {
                assert_eq!(json["messages"][2]["tool_calls"][0]["id"], "call_7");
                assert_eq!(json["messages"][3]["tool_call_id"], "call_7");
                assert_eq!(json["stream_options"]["include_usage"], true);
                assert_eq!(asked.header("authorization"), Some("Bearer sk-very-secret-key"));
            }
            Dialect::Anthropic => {
                assert_eq!(json["messages"][1]["content"][1]["id"], "call_7");
                assert_eq!(json["messages"][2]["content"][0]["tool_use_id"], "call_7");
                assert_eq!(asked.header("x-api-key"), Some("sk-very-secret-key"));
            }
            Dialect::Gemini => assert!(body.contains("functionResponse"), "{body}"),
            Dialect::Ollama => assert_eq!(json["messages"][3]["role"], "tool"),
        }
    }
}

#[tokio::test]
async fn a_stream_without_its_end_is_cut() {
    for dialect in Dialect::ALL {
        for line in
            [Line::say("Half of an answer").cut(), Line::call("create_event", json!({"title": "Dentist"})).cut()]
        {
            let (_, reply) = ask(dialect, line).await;
            assert_eq!(reply.unwrap_err(), ModelError::Cut, "{dialect:?}");
        }
    }
}

#[tokio::test]
async fn failures_are_named_by_what_can_be_done() {
    let unavailable = |error: &ModelError| matches!(error, ModelError::Unavailable { .. });
    for dialect in Dialect::ALL {
        let (_, busy) = ask(dialect, Line::busy(7)).await;
        match busy.unwrap_err() {
            ModelError::Unavailable { retry_after, .. } => {
                assert_eq!(retry_after, Some(Duration::from_secs(7)), "{dialect:?}");
            }
            other => panic!("{dialect:?}: {other}"),
        }
        for status in [500, 502, 503, 529] {
            let (_, down) = ask(dialect, Line::status(status, "down")).await;
            assert!(unavailable(&down.unwrap_err()), "{dialect:?} {status}");
        }
        let (_, gone) = ask(dialect, Line::hangup()).await;
        assert!(unavailable(&gone.unwrap_err()), "{dialect:?}: hangup");
        let (_, key) = ask(dialect, Line::status(401, "bad key sk-very-secret-key")).await;
        match key.unwrap_err() {
            ModelError::Unauthorized { reason } => assert!(!reason.contains("sk-very-secret-key"), "{reason}"),
            other => panic!("{dialect:?}: {other}"),
        }
        let (_, long) = ask(dialect, Line::status(400, "This model's maximum context length is 8192 tokens")).await;
        assert_eq!(long.unwrap_err(), ModelError::ContextOverflow, "{dialect:?}");
        let (_, bad) = ask(dialect, Line::status(400, "tools are not supported")).await;
        match bad.unwrap_err() {
            ModelError::Refused { reason } => {
                assert!(reason.contains("tools are not supported"), "{dialect:?}: {reason}");
                assert!(!reason.contains("Monday"), "the prompt is in the error: {reason}");
            }
            other => panic!("{dialect:?}: {other}"),
        }
    }
}

#[tokio::test]
async fn an_error_in_the_middle_of_a_stream_is_no_answer() {
    for dialect in Dialect::ALL {
        let (_, reply) = ask(dialect, Line::overloaded()).await;
        let error = reply.expect_err(&format!("{dialect:?} took half an answer for a whole one"));
        assert!(matches!(error, ModelError::Unavailable { .. } | ModelError::Cut), "{dialect:?}: {error}");
    }
}

#[tokio::test]
async fn a_silent_provider_is_given_up() {
    let llm = Llm::start([Line::silence()]).await;
    let began = std::time::Instant::now();
    let reply = model(&llm, Dialect::OpenAi, Duration::from_millis(300)).reply(&request(), &NoSink).await;
    assert!(matches!(reply, Err(ModelError::Unavailable { .. })), "{reply:?}");
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn broken_arguments_do_not_lose_the_reply() {
    for dialect in [Dialect::OpenAi, Dialect::Anthropic] {
        let line = Line::say("Here:")
            .and_call("create_event", r#"{"title": "Den"#)
            .and_call("list_events", r#"{"from":"2026-12-07"}"#);
        let (_, reply) = ask(dialect, line).await;
        let reply = reply.unwrap_or_else(|error| panic!("{dialect:?}: {error}"));
        assert_eq!(reply.text, "Here:", "{dialect:?}");
        assert!(reply.calls[0].arguments.is_string(), "{dialect:?}: {:?}", reply.calls);
        assert_eq!(reply.calls[1].arguments, json!({"from": "2026-12-07"}));
    }
}

#[tokio::test]
async fn nothing_is_tried_twice_in_here() {
    for line in [Line::busy(0), Line::status(503, "down"), Line::hangup()] {
        let (llm, reply) = ask(Dialect::OpenAi, line).await;
        assert!(reply.is_err());
        assert_eq!(llm.requests().len(), 1);
    }
}

#[tokio::test]
async fn local_servers_are_found_with_their_models() {
    let llm = Llm::start([]).await;
    let (ollama, openai) = (llm.base_url(Dialect::Ollama), llm.base_url(Dialect::OpenAi));
    // A port that nobody listens on, and a server that is no model server.
    let closed = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}/v1/", listener.local_addr().unwrap())
    };
    let other = format!("{}/nothing/", llm.address);
    let found = discovery::find(&[
        ("Ollama", "ollama", &ollama),
        ("LM Studio", "openai", &openai),
        ("llama.cpp", "openai", &closed),
        ("vLLM", "openai", &other),
    ])
    .await;
    let names: Vec<(&str, &[String])> = found.iter().map(|server| (server.name.as_str(), &server.models[..])).collect();
    assert_eq!(
        names,
        [("Ollama", &["small-model:latest".to_owned()][..]), ("LM Studio", &["small-model".to_owned()][..])]
    );
}

#[tokio::test]
async fn the_live_test_says_whether_a_model_can_call_tools() {
    for dialect in Dialect::ALL {
        let llm = Llm::start([
            Line::call("note", json!({"text": "ready"})),
            Line::say("note(text=\"ready\")"),
            Line::status(400, "this model does not support tools"),
        ])
        .await;
        let model = model(&llm, dialect, Duration::from_secs(2));
        assert_eq!(discovery::check_tools(&model).await, ToolCheck::Works, "{dialect:?}");
        assert_eq!(
            discovery::check_tools(&model).await,
            ToolCheck::NoToolCalls { said: "note(text=\"ready\")".to_owned() },
            "{dialect:?}"
        );
        assert!(matches!(discovery::check_tools(&model).await, ToolCheck::Failed(ModelError::Refused { .. })));
    }
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_asked_for_whole_answers_from_then_on() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let journal = asked.clone();
    let address = exchange::serve(move |request| {
        let body: Value = serde_json::from_str(&request.body).unwrap();
        journal.lock().unwrap().push(body["stream"] == true);
        let answer = json!({
            "id": "x", "object": "chat.completion", "model": "m",
            "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
                "role": "assistant", "content": "One moment.",
                "tool_calls": [{"id": "c1", "type": "function",
                    "function": {"name": "create_event", "arguments": r#"{"title":"Dentist"}"#}}],
            }}],
            "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
        });
        async move { Reply::status(200).body("application/json", answer.to_string()) }
    })
    .await;
    let model = GenaiModel::new(ProviderSettings {
        provider: Provider::OpenAi,
        model: "small-model".to_owned(),
        base_url: format!("{address}/v1/"),
        api_key: None,
        request_timeout: Duration::from_secs(2),
        files: std::env::temp_dir(),
    })
    .unwrap();
    for _ in 0..2 {
        let reply = model.reply(&request(), &NoSink).await.unwrap();
        assert_eq!(reply.text, "One moment.");
        assert_eq!((reply.calls[0].id.as_str(), &reply.calls[0].arguments), ("c1", &json!({"title": "Dentist"})));
        assert_eq!((reply.usage.input_tokens, reply.usage.output_tokens), (7, 3));
    }
    assert_eq!(*asked.lock().unwrap(), [true, false, false]);
}
