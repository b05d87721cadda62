//! Google's refusals by reason
//! (<https://developers.google.com/workspace/calendar/api/guides/errors>).

use std::time::Duration;

use serde::Deserialize;

use crate::domain::ports::CalendarError;

/// An answer other than success.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Refusal {
    pub status: u16,
    /// Of the first error, e.g. `rateLimitExceeded`.
    pub reason: String,
    pub message: String,
    pub retry_after: Option<Duration>,
}

#[derive(Deserialize)]
struct Body {
    error: Details,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Details {
    message: String,
    errors: Vec<Item>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Item {
    reason: String,
}

/// Per-minute quotas refill within this time.
const QUOTA_PAUSE: Duration = Duration::from_secs(60);

impl Refusal {
    pub fn read(status: u16, retry_after: Option<&str>, body: &str) -> Self {
        let details = serde_json::from_str::<Body>(body).map(|body| body.error).unwrap_or_default();
        let reason = details.errors.into_iter().next().map(|item| item.reason).unwrap_or_default();
        let retry_after = retry_after.and_then(|text| text.trim().parse().ok()).map(Duration::from_secs);
        Self { status, reason, message: details.message, retry_after }
    }

    pub fn is_duplicate(&self) -> bool {
        self.status == 409
    }

    pub fn is_stale(&self) -> bool {
        self.status == 412
    }

    /// The token of an incremental sync is too old.
    pub fn wants_full_sync(&self) -> bool {
        self.status == 410
    }

    /// For a call that changes something when `writes`.
    pub fn error(self, writes: bool, id: &str) -> CalendarError {
        let words = match (self.reason.as_str(), self.message.as_str()) {
            ("", "") => format!("Google answered {}", self.status),
            ("", message) => format!("Google answered {}: {message}", self.status),
            (reason, message) => format!("Google answered {} ({reason}): {message}", self.status),
        };
        match (self.status, self.reason.as_str()) {
            (401, _) | (403, "insufficientPermissions" | "ACCESS_TOKEN_SCOPE_INSUFFICIENT") => {
                CalendarError::Unauthorized { reason: words }
            }
            (429, _) | (403, "rateLimitExceeded" | "userRateLimitExceeded") => {
                CalendarError::Unavailable { reason: words, retry_after: self.retry_after.or(Some(QUOTA_PAUSE)) }
            }
            // Daily and usage limits open again on their own, but not soon.
            (403, "quotaExceeded" | "dailyLimitExceeded" | "calendarUsageLimitsExceeded") => {
                CalendarError::Unavailable { reason: words, retry_after: self.retry_after.or(Some(QUOTA_PAUSE * 60)) }
            }
            (403, "accessNotConfigured") => CalendarError::Refused {
                reason: format!("{words}. Enable the Google Calendar API in the project of your client id"),
            },
            (404 | 410, _) => CalendarError::NotFound { id: id.to_owned() },
            // A front end that failed may have passed the request on.
            (500.., _) if writes => CalendarError::NoAnswer { reason: words },
            (500.., _) => CalendarError::Unavailable { reason: words, retry_after: self.retry_after },
            (_, _) => CalendarError::Refused { reason: words },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(status: u16, reason: &str, writes: bool) -> &'static str {
        let body = format!(r#"{{"error":{{"code":{status},"message":"m","errors":[{{"reason":"{reason}"}}]}}}}"#);
        match Refusal::read(status, None, &body).error(writes, "e1") {
            CalendarError::Unavailable { retry_after: Some(_), .. } => "wait",
            CalendarError::Unavailable { .. } => "retry",
            CalendarError::NoAnswer { .. } => "unknown",
            CalendarError::Refused { .. } => "refused",
            CalendarError::NotFound { .. } => "gone",
            CalendarError::Unauthorized { .. } => "sign-in",
            CalendarError::Changed { .. } | CalendarError::Exists { .. } => "event",
        }
    }

    #[test]
    fn reasons_decide_what_may_be_done_next() {
        for (status, reason, write, read) in [
            (401, "authError", "sign-in", "sign-in"),
            (403, "insufficientPermissions", "sign-in", "sign-in"),
            (403, "rateLimitExceeded", "wait", "wait"),
            (403, "userRateLimitExceeded", "wait", "wait"),
            (403, "quotaExceeded", "wait", "wait"),
            (429, "rateLimitExceeded", "wait", "wait"),
            (403, "forbiddenForNonOrganizer", "refused", "refused"),
            (403, "accessNotConfigured", "refused", "refused"),
            (400, "invalid", "refused", "refused"),
            (404, "notFound", "gone", "gone"),
            (410, "deleted", "gone", "gone"),
            (500, "backendError", "unknown", "retry"),
            (503, "backendError", "unknown", "retry"),
            (504, "", "unknown", "retry"),
        ] {
            assert_eq!((told(status, reason, true), told(status, reason, false)), (write, read), "{status} {reason}");
        }
        let html = Refusal::read(429, Some("12"), "<html>slow down</html>").error(true, "e1");
        assert!(
            matches!(html, CalendarError::Unavailable { retry_after, .. } if retry_after == Some(Duration::from_secs(12)))
        );
    }
}
