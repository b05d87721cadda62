//! Why an admission gave no verdict, by what the caller does about it.

use crate::approvals::ApprovalError;
use crate::domain::effect::Verdict;
use crate::domain::ids::{EffectId, PreventedId};
use crate::evidence::EvidenceError;
use crate::store::StoreError;

#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// The turn was stopped, superseded or has ended: nothing was admitted, the turn ends.
    #[error("the turn is no longer the one that may act")]
    TurnSuperseded,
    /// The action itself is wrong: the model (or person) can correct it and ask again.
    #[error("{argument}: {problem}")]
    Refused { argument: String, problem: String },
    #[error("no prevented duplicate with id {0}")]
    NoSuchDuplicate(PreventedId),
    /// A person's act met an action that is under way or done: nothing was changed.
    #[error("the same action is there already")]
    Meets(Box<Verdict>),
    /// Only what waits, failed or is unresolved can be edited.
    #[error("effect {0} can no longer be edited")]
    NotEditable(EffectId),
    #[error(transparent)]
    Approval(ApprovalError),
    #[error(transparent)]
    Evidence(EvidenceError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl GuardError {
    pub(super) fn refused(argument: impl Into<String>, problem: impl std::fmt::Display) -> Self {
        Self::Refused { argument: argument.into(), problem: problem.to_string() }
    }
}

impl From<EvidenceError> for GuardError {
    fn from(error: EvidenceError) -> Self {
        match error {
            EvidenceError::Store(error) => Self::Store(error),
            EvidenceError::NotSendable { reason } => Self::refused("the action", reason),
            other @ (EvidenceError::NotFound(_)
            | EvidenceError::Illegal(_)
            | EvidenceError::Settled { .. }
            | EvidenceError::NoTarget { .. }) => Self::Evidence(other),
        }
    }
}

impl From<ApprovalError> for GuardError {
    fn from(error: ApprovalError) -> Self {
        match error {
            ApprovalError::Store(error) => Self::Store(error),
            ApprovalError::Evidence(error) => error.into(),
            other => Self::Approval(other),
        }
    }
}

impl From<rusqlite::Error> for GuardError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

impl From<serde_json::Error> for GuardError {
    fn from(error: serde_json::Error) -> Self {
        Self::Store(error.into())
    }
}
