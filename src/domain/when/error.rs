//! What can be wrong with a written time.

/// Handed to whoever wrote the time, so each message says what would be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WhenError {
    #[error(
        "{text:?} is not a time; write it as 2026-03-10T09:00 (local), 2026-03-10T09:00:00+01:00, or 2026-03-10 (all day)"
    )]
    Unreadable { text: String },
    #[error("{zone:?} is not a time zone; use an IANA name such as Europe/Madrid")]
    UnknownZone { zone: String },
    #[error("{text:?} is outside the years that a calendar can hold")]
    OutOfRange { text: String },
    #[error("the end {end} is before the start {start}")]
    EndBeforeStart { start: String, end: String },
    #[error("start and end must both be dates (all day) or both have a time")]
    MixedForms,
    #[error("{text:?} is not a duration; write it as 1h 30m or PT1H30M")]
    BadDuration { text: String },
    #[error("{rule:?} is not a recurrence rule: {reason}")]
    BadRule { rule: String, reason: String },
}
