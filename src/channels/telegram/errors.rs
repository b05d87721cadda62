//! What Telegram's errors mean: for a send, whether it left; for a poll, what to wait for.

use std::time::Duration;

use teloxide::{ApiError, RequestError};

use crate::domain::ports::{PollError, SendOutcome, SendRefusal};
use crate::runtime::redact::redact;

/// Of a flood error without its `retry_after`.
const FLOOD_WAIT: Duration = Duration::from_secs(5);

/// The outcome of a send or edit that failed.
pub(super) fn send_outcome(error: &RequestError) -> SendOutcome {
    let reason = redact(&error.to_string());
    match error {
        RequestError::Api(error) => refusal(error, reason),
        RequestError::MigrateToChatId(to) => {
            SendOutcome::Refused { reason, kind: SendRefusal::Migrated { to: to.0.to_string() } }
        }
        RequestError::RetryAfter(wait) => {
            SendOutcome::NotSent { reason, retry_after: Some(Duration::from_secs(u64::from(wait.seconds()))) }
        }
        // The connection was never made: nothing left.
        RequestError::Network(error) if error.is_connect() || error.is_builder() => {
            SendOutcome::NotSent { reason, retry_after: None }
        }
        // A body that is not the API's comes from something between us and it (a 5xx page).
        RequestError::Network(_) | RequestError::InvalidJson { .. } | RequestError::Io(_) => {
            SendOutcome::Uncertain { reason: short(&reason) }
        }
    }
}

fn refusal(error: &ApiError, reason: String) -> SendOutcome {
    let kind = match error {
        ApiError::MessageNotModified => SendRefusal::NotModified,
        ApiError::CantParseEntities(_) => SendRefusal::Entities,
        ApiError::BotBlocked
        | ApiError::ChatNotFound
        | ApiError::UserDeactivated
        | ApiError::BotKicked
        | ApiError::BotKickedFromSupergroup
        | ApiError::BotKickedFromChannel
        | ApiError::CantInitiateConversation
        | ApiError::CantTalkWithBots
        | ApiError::GroupDeactivated => SendRefusal::Unreachable,
        // Nothing is sent with this token; with a new one it will be.
        ApiError::InvalidToken => return SendOutcome::NotSent { reason, retry_after: Some(Duration::from_secs(60)) },
        ApiError::Unknown(text) => return unknown(text, reason),
        // The list of named errors is open; all of them are refusals of the request itself.
        _ => SendRefusal::Other,
    };
    SendOutcome::Refused { reason, kind }
}

/// Errors that the library does not name, by their text.
fn unknown(text: &str, reason: String) -> SendOutcome {
    let low = text.to_lowercase();
    let has = |what: &str| low.contains(what);
    let kind = if has("can't parse entities") || has("entity_") || has("entities_") {
        SendRefusal::Entities
    } else if has("message is not modified") {
        SendRefusal::NotModified
    } else if has("thread not found") || has("topic_deleted") || has("topic_closed") {
        SendRefusal::ThreadGone
    } else if low.starts_with("forbidden") || has("chat not found") || has("was kicked") || has("deactivated") {
        SendRefusal::Unreachable
    } else if low.starts_with("too many requests") {
        return SendOutcome::NotSent { reason, retry_after: Some(FLOOD_WAIT) };
    } else if low.starts_with("conflict") || low.starts_with("unauthorized") {
        return SendOutcome::NotSent { reason, retry_after: Some(Duration::from_secs(60)) };
    } else if low.starts_with("bad request") {
        SendRefusal::Other
    } else {
        // "Internal Server Error", "Bad Gateway" and the like: it may have been done.
        return SendOutcome::Uncertain { reason };
    };
    SendOutcome::Refused { reason, kind }
}

/// What a failed poll is told as.
pub(super) fn poll_error(error: &RequestError) -> PollError {
    let reason = short(&redact(&error.to_string()));
    match error {
        RequestError::Api(ApiError::TerminatedByOtherGetUpdates | ApiError::CantGetUpdates) => PollError::Conflict,
        RequestError::Api(ApiError::InvalidToken) => PollError::Unauthorized,
        RequestError::Api(ApiError::Unknown(text)) if text.starts_with("Conflict") => PollError::Conflict,
        RequestError::Api(ApiError::Unknown(text)) if text.starts_with("Unauthorized") => PollError::Unauthorized,
        RequestError::RetryAfter(wait) => PollError::RetryAfter(Duration::from_secs(u64::from(wait.seconds()))),
        // Some servers answer an unknown token in plain text.
        RequestError::InvalidJson { raw, .. } if matches!(raw.trim(), "Not Found" | "Unauthorized") => {
            PollError::Unauthorized
        }
        RequestError::Api(_)
        | RequestError::MigrateToChatId(_)
        | RequestError::Network(_)
        | RequestError::InvalidJson { .. }
        | RequestError::Io(_) => PollError::Offline { reason },
    }
}

/// An error page is not worth keeping whole.
fn short(reason: &str) -> String {
    reason.chars().take(300).collect()
}
