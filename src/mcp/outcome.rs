//! What an answer, or its absence, says about the call: the one place that decides between "no" and "nobody knows".

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents, ServerResult};
use rmcp::service::ServiceError;
use rmcp::transport::streamable_http_client::StreamableHttpError;

use crate::domain::tool_server::CallOutcome;
use crate::runtime::redact::redact;

/// Characters of a result that are kept.
const LONGEST_RESULT: usize = 40_000;
const LONGEST_REASON: usize = 500;

/// The answer that came, or why none did after the request was handed to the transport.
pub(super) fn of(answer: Result<ServerResult, ServiceError>) -> CallOutcome {
    match answer {
        Ok(ServerResult::CallToolResult(result)) => of_result(&result),
        Ok(ServerResult::EmptyResult(_)) => CallOutcome::Answered { text: String::new() },
        Ok(ServerResult::InputRequiredResult(_)) => CallOutcome::Refused {
            reason: "the tool asks for more input while it runs, which is not supported".to_owned(),
        },
        Ok(ServerResult::CreateTaskResult(_)) => lost("the server goes on with it in the background"),
        Ok(_) => lost("the server's answer is no tool result"),
        Err(ServiceError::McpError(error)) => CallOutcome::Refused { reason: short(&error.message) },
        Err(ServiceError::TransportSend(error)) => {
            let reason = short(&error.error.to_string());
            if stayed_here(&*error.error) { CallOutcome::NotSent { reason } } else { CallOutcome::Lost { reason } }
        }
        Err(ServiceError::TransportClosed) => lost("the server went away before it answered"),
        Err(ServiceError::Timeout { timeout }) => lost(&format!("no answer in {} s", timeout.as_secs())),
        Err(error) => lost(&error.to_string()),
    }
}

pub(super) fn lost(reason: &str) -> CallOutcome {
    CallOutcome::Lost { reason: short(reason) }
}

/// No connection stood, or the server said before anything else that it does not take the request.
fn stayed_here(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if error.downcast_ref::<reqwest::Error>().is_some_and(reqwest::Error::is_connect) {
            return true;
        }
        match error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
            Some(StreamableHttpError::Client(error)) if error.is_connect() => return true,
            Some(
                StreamableHttpError::SessionExpired
                | StreamableHttpError::AuthRequired(_)
                | StreamableHttpError::InsufficientScope(_),
            ) => return true,
            Some(_) | None => {}
        }
        next = error.source();
    }
    false
}

fn of_result(result: &CallToolResult) -> CallOutcome {
    let text = text(result);
    if result.is_error == Some(true) {
        return CallOutcome::Refused { reason: short(&text) };
    }
    CallOutcome::Answered { text }
}

/// Its texts; what is no text is named. Structured content stands in where there is no other.
fn text(result: &CallToolResult) -> String {
    let parts: Vec<String> = result
        .content
        .iter()
        .map(|part| match part {
            ContentBlock::Text(text) => text.text.clone(),
            ContentBlock::Image(image) => format!("[an image, {}]", image.mime_type),
            ContentBlock::Audio(audio) => format!("[a sound, {}]", audio.mime_type),
            ContentBlock::Resource(resource) => match &resource.resource {
                ResourceContents::TextResourceContents { uri, text, .. } => format!("[{uri}]\n{text}"),
                ResourceContents::BlobResourceContents { uri, .. } => format!("[{uri}: not a text]"),
                _ => "[not a text]".to_owned(),
            },
            ContentBlock::ResourceLink(link) => format!("[{}: {}]", link.name, link.uri),
            _ => "[not a text]".to_owned(),
        })
        .collect();
    let text = match (&result.structured_content, parts.is_empty()) {
        (Some(value), true) => value.to_string(),
        _ => parts.join("\n"),
    };
    cut(&text, LONGEST_RESULT)
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}\n[cut: {} bytes in all]", &text[..at], text.len()),
        None => text.to_owned(),
    }
}

fn short(reason: &str) -> String {
    let text = cut(reason.trim(), LONGEST_REASON);
    redact(if text.is_empty() { "no reason given" } else { &text })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::*;

    fn result(value: Value) -> CallOutcome {
        of(Ok(ServerResult::CallToolResult(serde_json::from_value(value).unwrap())))
    }

    #[test]
    fn a_server_that_answers_has_the_word() {
        let text = result(json!({ "content": [{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }] }));
        assert_eq!(text, CallOutcome::Answered { text: "a\nb".to_owned() });
        let structured = result(json!({ "content": [], "structuredContent": { "n": 1 } }));
        assert_eq!(structured, CallOutcome::Answered { text: "{\"n\":1}".to_owned() });
        let no = result(json!({ "content": [{ "type": "text", "text": "no such file" }], "isError": true }));
        assert_eq!(no, CallOutcome::Refused { reason: "no such file".to_owned() });
        let error = rmcp::ErrorData::invalid_params("title is missing", None);
        assert_eq!(
            of(Err(ServiceError::McpError(error))),
            CallOutcome::Refused { reason: "title is missing".to_owned() }
        );
    }

    #[test]
    fn after_the_request_left_silence_is_no_answer() {
        for error in [
            ServiceError::TransportClosed,
            ServiceError::Timeout { timeout: Duration::from_secs(60) },
            ServiceError::UnexpectedResponse,
            ServiceError::Cancelled { reason: None },
        ] {
            assert!(matches!(of(Err(error)), CallOutcome::Lost { .. }));
        }
    }

    #[test]
    fn a_flood_is_cut() {
        let CallOutcome::Answered { text } =
            result(json!({ "content": [{ "type": "text", "text": "ñ".repeat(LONGEST_RESULT * 2) }] }))
        else {
            panic!("not answered")
        };
        assert!(text.chars().count() < LONGEST_RESULT + 100 && text.contains("[cut: "), "{}", text.len());
    }
}
