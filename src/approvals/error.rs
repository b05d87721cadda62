//! Why a decision was not taken, by what the person can do about it.

use crate::domain::ids::{ApprovalId, EffectId};
use crate::domain::time::Wall;
use crate::evidence::EvidenceError;
use crate::store::StoreError;

use super::row::ApprovalState;

#[derive(Debug, thiserror::Error)]
pub enum ApprovalError {
    #[error("no approval with id {0}")]
    NotFound(ApprovalId),
    /// The first decision won.
    #[error("approval {id} was {} already, by {by} on {surface}", state.as_str())]
    AlreadyDecided { id: ApprovalId, state: ApprovalState, by: String, surface: String, at: Option<Wall> },
    /// Nothing ran and nothing is forbidden: it can be asked again.
    #[error("approval {0} has expired: nothing was done, ask again")]
    Expired(ApprovalId),
    /// The action in the database is not the one that was shown.
    #[error("approval {0} was given for something else than what would be done now: nothing was done, ask again")]
    Changed(ApprovalId),
    /// Asked again while the same action waits or is under way.
    #[error("the same action is under way already as effect {0}")]
    UnderWay(EffectId),
    /// Only what expired can be asked again.
    #[error("approval {0} has not expired")]
    NotExpired(ApprovalId),
    #[error(transparent)]
    Evidence(EvidenceError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<EvidenceError> for ApprovalError {
    fn from(error: EvidenceError) -> Self {
        match error {
            EvidenceError::Store(error) => Self::Store(error),
            other => Self::Evidence(other),
        }
    }
}

impl From<rusqlite::Error> for ApprovalError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

impl From<serde_json::Error> for ApprovalError {
    fn from(error: serde_json::Error) -> Self {
        Self::Store(error.into())
    }
}
