//! Failures of the stages and of the rest of the program as the window hears of them.

use super::wire::{Failure, FailureCode};
use crate::api;
use crate::approvals::ApprovalError;
use crate::domain::ports::CalendarError;
use crate::evidence::EvidenceError;
use crate::guard::GuardError;
use crate::guard::words::for_person;
use crate::inbox::InboxError;
use crate::runtime::redact::redact;
use crate::store::StoreError;

impl Failure {
    pub fn new(code: FailureCode, message: impl Into<String>) -> Self {
        Self { code, message: redact(&message.into()) }
    }

    pub(super) fn not_found() -> Self {
        Self::new(FailureCode::NotFound, "")
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::new(FailureCode::Storage, error.to_string())
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        StoreError::from(error).into()
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        StoreError::from(error).into()
    }
}

impl From<api::Failure> for Failure {
    fn from(failure: api::Failure) -> Self {
        let code = match failure.code {
            api::FailureCode::NotFound => FailureCode::NotFound,
            api::FailureCode::Settled => FailureCode::AlreadySettled,
            api::FailureCode::Invalid | api::FailureCode::Bad => FailureCode::Invalid,
            api::FailureCode::Unavailable => FailureCode::Unreachable,
            api::FailureCode::Internal => FailureCode::Internal,
        };
        Self { code, message: failure.message }
    }
}

impl From<InboxError> for Failure {
    fn from(error: InboxError) -> Self {
        Self::new(FailureCode::Storage, error.to_string())
    }
}

impl From<ApprovalError> for Failure {
    fn from(error: ApprovalError) -> Self {
        match error {
            ApprovalError::NotFound(_) => Self::not_found(),
            ApprovalError::AlreadyDecided { .. }
            | ApprovalError::Expired(_)
            | ApprovalError::Changed(_)
            | ApprovalError::UnderWay(_)
            | ApprovalError::NotExpired(_) => Self::new(FailureCode::AlreadySettled, error.to_string()),
            ApprovalError::Evidence(error) => error.into(),
            ApprovalError::Store(error) => error.into(),
        }
    }
}

impl From<EvidenceError> for Failure {
    fn from(error: EvidenceError) -> Self {
        match error {
            EvidenceError::NotFound(_) => Self::not_found(),
            EvidenceError::Settled { .. } => Self::new(FailureCode::AlreadySettled, error.to_string()),
            EvidenceError::NoTarget { .. } | EvidenceError::NotSendable { .. } => {
                Self::new(FailureCode::Invalid, error.to_string())
            }
            EvidenceError::Illegal(_) => Self::new(FailureCode::Internal, error.to_string()),
            EvidenceError::Store(error) => error.into(),
        }
    }
}

impl From<GuardError> for Failure {
    fn from(error: GuardError) -> Self {
        match error {
            GuardError::NoSuchDuplicate(_) => Self::not_found(),
            GuardError::Meets(verdict) => {
                Self::new(FailureCode::AlreadySettled, for_person(&verdict, crate::domain::language::Language::En))
            }
            GuardError::Refused { .. } => Self::new(FailureCode::Invalid, error.to_string()),
            GuardError::TurnSuperseded | GuardError::NotEditable(_) => {
                Self::new(FailureCode::AlreadySettled, error.to_string())
            }
            GuardError::Approval(error) => error.into(),
            GuardError::Evidence(error) => error.into(),
            GuardError::Store(error) => error.into(),
        }
    }
}

impl From<CalendarError> for Failure {
    fn from(error: CalendarError) -> Self {
        let code = match error {
            CalendarError::NotFound { .. } => FailureCode::NotFound,
            CalendarError::Refused { .. } | CalendarError::Changed { .. } | CalendarError::Exists { .. } => {
                FailureCode::Invalid
            }
            CalendarError::Unavailable { .. } | CalendarError::NoAnswer { .. } => FailureCode::Unreachable,
            CalendarError::Unauthorized { .. } => FailureCode::Unauthorized,
        };
        Self::new(code, error.to_string())
    }
}
