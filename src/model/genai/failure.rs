//! Provider errors by what may be done about them. Nothing of the request gets into their words.

use std::time::Duration;

use genai::Error;
use reqwest::header::HeaderMap;

use crate::domain::chat::ModelError;
use crate::runtime::redact::redact;

/// Longest piece of a provider's own words that is kept.
const LONGEST_REASON: usize = 300;
/// How providers say that a prompt is too long; the status is a plain 400 everywhere.
const OVERFLOW: &[&str] = &[
    "context_length_exceeded",
    "maximum context length",
    "prompt is too long",
    "context window",
    "exceeds the maximum number of tokens",
    "input token count",
    "exceed_context_size",
    "exceeds the available context size",
];

/// `begun`: part of the answer had arrived.
pub(super) fn classify(error: &Error, begun: bool) -> ModelError {
    if let Some((status, body, headers)) = answered(error) {
        return by_status(status, &body, headers);
    }
    match error {
        // The stream's own error event: overloaded servers send it in the middle of an answer.
        Error::ChatResponse { body, .. } => by_body(&body.to_string()),
        Error::WebStream { error, .. } => {
            let connect = error.downcast_ref::<reqwest::Error>().is_some_and(reqwest::Error::is_connect);
            if begun && !connect {
                ModelError::Cut
            } else {
                ModelError::Unavailable { reason: network_words(error.as_ref()), retry_after: None }
            }
        }
        Error::StreamParse { .. } => ModelError::Cut,
        Error::WebModelCall { webc_error, .. } | Error::WebAdapterCall { webc_error, .. } => match webc_error {
            genai::webc::Error::Reqwest(error) => {
                ModelError::Unavailable { reason: network_words(error), retry_after: None }
            }
            _ => ModelError::Refused { reason: "the provider's answer could not be read".to_owned() },
        },
        Error::RequiresApiKey { .. } | Error::NoAuthData { .. } | Error::NoAuthResolver { .. } => {
            ModelError::Unauthorized { reason: "no key is set".to_owned() }
        }
        // The Display of the rest may hold the request: only their kind is told.
        _ => ModelError::Refused { reason: "the request does not fit this provider".to_owned() },
    }
}

fn answered(error: &Error) -> Option<(u16, String, Option<&HeaderMap>)> {
    match error {
        Error::HttpError { status, body, headers, .. } => Some((status.as_u16(), body.clone(), Some(headers))),
        Error::WebStream { error, .. } => error.downcast_ref::<Error>().and_then(answered),
        Error::WebModelCall { webc_error, .. } | Error::WebAdapterCall { webc_error, .. } => match webc_error {
            genai::webc::Error::ResponseFailedStatus { status, body, headers } => {
                Some((status.as_u16(), body.clone(), Some(headers)))
            }
            _ => None,
        },
        _ => None,
    }
}

fn by_status(status: u16, body: &str, headers: Option<&HeaderMap>) -> ModelError {
    let reason = words(body, status);
    match status {
        401 | 403 => ModelError::Unauthorized { reason },
        // 529 is Anthropic's "overloaded".
        408 | 409 | 425 | 429 | 500..=599 => {
            ModelError::Unavailable { reason, retry_after: headers.and_then(retry_after) }
        }
        _ if is_overflow(body) => ModelError::ContextOverflow,
        _ => ModelError::Refused { reason },
    }
}

fn by_body(body: &str) -> ModelError {
    let lower = body.to_lowercase();
    if is_overflow(&lower) {
        ModelError::ContextOverflow
    } else if ["overloaded", "rate_limit", "rate limit", "server_error", "internal", "unavailable", "timeout"]
        .iter()
        .any(|sign| lower.contains(sign))
    {
        ModelError::Unavailable { reason: words(body, 0), retry_after: None }
    } else {
        ModelError::Refused { reason: words(body, 0) }
    }
}

fn is_overflow(body: &str) -> bool {
    let body = body.to_lowercase();
    OVERFLOW.iter().any(|sign| body.contains(sign))
}

/// Seconds, or milliseconds in the header some providers add. A date (RFC 9110 allows it) is not read: no provider here
/// sends one.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number =
        |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok().filter(|n| (0.0..1e7).contains(n));
    number("retry-after-ms")
        .map(|milliseconds| Duration::from_secs_f64(milliseconds / 1000.0))
        .or_else(|| number("retry-after").map(Duration::from_secs_f64))
}

/// The provider's message, if its body has one, shortened and without secrets.
fn words(body: &str, status: u16) -> String {
    let parsed: Option<serde_json::Value> = serde_json::from_str(body).ok();
    let message = parsed.as_ref().and_then(|json| {
        // OpenAI, Anthropic and Gemini: error.message; Ollama: error.
        let error = json.get("error").or_else(|| json.get(0)?.get("error")).unwrap_or(json);
        error.get("message").and_then(|message| message.as_str()).or_else(|| error.as_str())
    });
    let text: String = message.unwrap_or("").chars().take(LONGEST_REASON).collect();
    match (text.trim(), status) {
        ("", 0) => "the provider reported an error".to_owned(),
        ("", status) => format!("status {status}"),
        (text, 0) => redact(text),
        (text, status) => format!("{} (status {status})", redact(text)),
    }
}

fn network_words(error: &(dyn std::error::Error + 'static)) -> String {
    let mut deepest = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    let text: String = redact(&deepest.to_string()).chars().take(LONGEST_REASON).collect();
    if text.is_empty() { "no connection".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_and_bodies_name_what_to_do() {
        let overflow = r#"{"error":{"message":"This model's maximum context length is 8192 tokens"}}"#;
        assert_eq!(by_status(400, overflow, None), ModelError::ContextOverflow);
        assert!(matches!(by_status(401, "{}", None), ModelError::Unauthorized { .. }));
        assert_eq!(
            by_status(400, r#"{"error":{"message":"bad tool"}}"#, None),
            ModelError::Refused { reason: "bad tool (status 400)".to_owned() }
        );
        let mut headers = HeaderMap::new();
        headers.insert("retry-after", "7".parse().unwrap_or_else(|_| unreachable!()));
        assert_eq!(
            by_status(429, "", Some(&headers)),
            ModelError::Unavailable { reason: "status 429".to_owned(), retry_after: Some(Duration::from_secs(7)) }
        );
        assert!(matches!(by_body(r#"{"type":"overloaded_error"}"#), ModelError::Unavailable { .. }));
    }
}
