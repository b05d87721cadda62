//! What can go wrong with an effect row, by what a caller does about it.

use crate::domain::effect::EffectState;
use crate::domain::ids::EffectId;
use crate::store::StoreError;

use super::machine::IllegalTransition;

#[derive(Debug, thiserror::Error)]
pub enum EvidenceError {
    #[error("no effect with id {0}")]
    NotFound(EffectId),
    /// The row is no longer where the caller thought; `state` says where it is.
    #[error(transparent)]
    Illegal(#[from] IllegalTransition),
    /// A person was too late: it left, or is settled.
    #[error("effect {effect} is {} already", state.as_str())]
    Settled { effect: EffectId, state: EffectState },
    #[error("nothing here can perform effects of {target}")]
    NoTarget { target: String },
    /// What would leave could not be fixed (a missing attachment, an address that became invalid).
    #[error("it cannot leave as it is: {reason}")]
    NotSendable { reason: String },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<rusqlite::Error> for EvidenceError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

impl From<serde_json::Error> for EvidenceError {
    fn from(error: serde_json::Error) -> Self {
        Self::Store(error.into())
    }
}
