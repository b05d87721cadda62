//! Answers and failures as [`CalendarError`]s: by what may be done next.

use std::time::Duration;

use http::StatusCode;
use http::response::Parts;
use libdav::dav::RequestError;

use super::transport::TransportError;
use crate::domain::ports::CalendarError;

/// Whether a request may have changed something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Intent {
    Read,
    Write,
}

/// A request without an answer. A read changed nothing, so it may simply be asked again.
pub fn no_answer(error: &RequestError<TransportError>, intent: Intent) -> CalendarError {
    let reason = error.to_string();
    let left = match error {
        RequestError::Client(TransportError::NotSent(_)) => false,
        RequestError::Client(TransportError::NoAnswer(_)) | RequestError::Http(_) => true,
    };
    match intent {
        Intent::Write if left => CalendarError::NoAnswer { reason },
        Intent::Write | Intent::Read => CalendarError::Unavailable { reason, retry_after: None },
    }
}

/// An answer other than success; 412 and 409 are the callers' to read.
pub fn refusal(parts: &Parts, body: &[u8], intent: Intent, id: &str) -> CalendarError {
    let status = parts.status;
    let reason = || match snippet(body) {
        Some(text) => format!("the server answered {status}: {text}"),
        None => format!("the server answered {status}"),
    };
    match status {
        StatusCode::UNAUTHORIZED => CalendarError::Unauthorized { reason: reason() },
        StatusCode::NOT_FOUND | StatusCode::GONE => CalendarError::NotFound { id: id.to_owned() },
        // The server says that it did not take the request.
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE | StatusCode::LOCKED => {
            CalendarError::Unavailable { reason: reason(), retry_after: retry_after(parts) }
        }
        // A server or a gateway that failed may have stored it all the same.
        status if status.is_server_error() && status != StatusCode::INSUFFICIENT_STORAGE => match intent {
            Intent::Write => CalendarError::NoAnswer { reason: reason() },
            Intent::Read => CalendarError::Unavailable { reason: reason(), retry_after: retry_after(parts) },
        },
        _refused => CalendarError::Refused { reason: reason() },
    }
}

/// `Retry-After` in seconds or as an HTTP date (RFC 9110, section 10.2.3).
pub fn retry_after(parts: &Parts) -> Option<Duration> {
    let value = parts.headers.get(http::header::RETRY_AFTER)?.to_str().ok()?;
    if let Ok(seconds) = value.trim().parse() {
        return Some(Duration::from_secs(seconds));
    }
    let until = jiff::fmt::rfc2822::parse(value.trim()).ok()?.timestamp();
    let sent = parts.headers.get(http::header::DATE)?.to_str().ok()?;
    let sent = jiff::fmt::rfc2822::parse(sent.trim()).ok()?.timestamp();
    Duration::try_from(sent.duration_until(until)).ok()
}

/// The first words of an answer, without markup.
fn snippet(body: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(body);
    let mut words = String::new();
    let mut inside = false;
    for character in text.chars() {
        match character {
            '<' => inside = true,
            '>' => {
                inside = false;
                words.push(' ');
            }
            other if !inside => words.push(other),
            _markup => {}
        }
    }
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = words.chars().take(120).collect();
    Some(short).filter(|text| !text.is_empty())
}
