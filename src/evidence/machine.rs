//! The states of an effect, as one pure function. No IO, no clock: times and counters are the caller's.
//!
//! ```text
//! awaiting_approval -> ready | denied | expired | cancelled
//! ready       -> dispatching | cancelled | accepted (late evidence) | unknown (restored from a backup)
//! dispatching -> accepted | rejected | retryable | unknown
//! retryable   -> dispatching | cancelled | rejected | accepted | unknown (restored from a backup)
//! unknown     -> accepted | retryable (proven absent) | rejected | ready | cancelled
//! accepted    -> reverted
//! ```

use crate::domain::effect::EffectState;

/// What happened to an effect.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Event {
    /// A person approved exactly this action.
    Approve,
    Deny,
    Expire,
    /// A person stopped or undid it. With part of the recipients served it counts as done for those.
    Cancel {
        someone_accepted: bool,
    },
    /// A worker takes it; committed durably before the first byte leaves.
    Claim,
    /// The provider took it.
    Accept,
    /// The provider will never take it.
    Reject,
    /// Nothing happened outside.
    Retry,
    /// It may have happened: no answer, or the worker died.
    Lose,
    /// Attempts or time are used up.
    GiveUp {
        someone_accepted: bool,
    },
    /// Reading back found it, or a late reply said so.
    FindAccepted,
    /// An authoritative reading shows that it did not happen.
    ProveAbsent,
    /// A person's word on an unknown one.
    PersonSaysSent,
    /// Not sent: send it now.
    PersonSaysNotSent,
    /// Not sent: drop it.
    PersonDrops {
        someone_accepted: bool,
    },
    /// The database is from a backup: what was under way may have happened since.
    Restore,
    /// It was done, and then deleted or undone.
    Revert,
}

impl Event {
    /// Every event, with both values of every flag.
    pub const ALL: [Self; 20] = [
        Self::Approve,
        Self::Deny,
        Self::Expire,
        Self::Cancel { someone_accepted: false },
        Self::Cancel { someone_accepted: true },
        Self::Claim,
        Self::Accept,
        Self::Reject,
        Self::Retry,
        Self::Lose,
        Self::GiveUp { someone_accepted: false },
        Self::GiveUp { someone_accepted: true },
        Self::FindAccepted,
        Self::ProveAbsent,
        Self::PersonSaysSent,
        Self::PersonSaysNotSent,
        Self::PersonDrops { someone_accepted: false },
        Self::PersonDrops { someone_accepted: true },
        Self::Restore,
        Self::Revert,
    ];

    /// Name for the audit.
    pub fn name(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Deny => "deny",
            Self::Expire => "expire",
            Self::Cancel { .. } => "cancel",
            Self::Claim => "claim",
            Self::Accept => "accept",
            Self::Reject => "reject",
            Self::Retry => "retry",
            Self::Lose => "lose",
            Self::GiveUp { .. } => "give_up",
            Self::FindAccepted => "find_accepted",
            Self::ProveAbsent => "prove_absent",
            Self::PersonSaysSent => "person_says_sent",
            Self::PersonSaysNotSent => "person_says_not_sent",
            Self::PersonDrops { .. } => "person_drops",
            Self::Restore => "restore",
            Self::Revert => "revert",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("an effect that is {} cannot {}", state.as_str(), event.name())]
pub struct IllegalTransition {
    pub state: EffectState,
    pub event: Event,
}

/// The state after `event`, or why there is none.
pub fn next(state: EffectState, event: Event) -> Result<EffectState, IllegalTransition> {
    use EffectState as S;
    use Event as E;
    match (state, event) {
        (S::AwaitingApproval, E::Approve) => Ok(S::Ready),
        (S::AwaitingApproval, E::Deny) => Ok(S::Denied),
        (S::AwaitingApproval, E::Expire) => Ok(S::Expired),
        (S::AwaitingApproval, E::Cancel { someone_accepted: false }) => Ok(S::Cancelled),

        (S::Ready, E::Claim) => Ok(S::Dispatching),
        (S::Ready, E::Cancel { someone_accepted }) => Ok(ended(someone_accepted, S::Cancelled)),
        (S::Ready, E::FindAccepted) => Ok(S::Accepted),
        (S::Ready, E::Restore) => Ok(S::Unknown),

        (S::Dispatching, E::Accept) => Ok(S::Accepted),
        (S::Dispatching, E::Reject) => Ok(S::Rejected),
        (S::Dispatching, E::Retry) => Ok(S::Retryable),
        (S::Dispatching, E::Lose | E::Restore) => Ok(S::Unknown),

        (S::Retryable, E::Claim) => Ok(S::Dispatching),
        (S::Retryable, E::Cancel { someone_accepted }) => Ok(ended(someone_accepted, S::Cancelled)),
        (S::Retryable, E::GiveUp { someone_accepted }) => Ok(ended(someone_accepted, S::Rejected)),
        (S::Retryable, E::FindAccepted) => Ok(S::Accepted),
        (S::Retryable, E::Restore) => Ok(S::Unknown),

        (S::Unknown, E::FindAccepted | E::PersonSaysSent) => Ok(S::Accepted),
        (S::Unknown, E::ProveAbsent) => Ok(S::Retryable),
        (S::Unknown, E::Reject) => Ok(S::Rejected),
        (S::Unknown, E::PersonSaysNotSent) => Ok(S::Ready),
        (S::Unknown, E::PersonDrops { someone_accepted }) => Ok(ended(someone_accepted, S::Cancelled)),

        (S::Accepted, E::Revert) => Ok(S::Reverted),

        (state, event) => Err(IllegalTransition { state, event }),
    }
}

/// A mail that somebody received is done, partially, however it ends for the others.
fn ended(someone_accepted: bool, otherwise: EffectState) -> EffectState {
    if someone_accepted { EffectState::Accepted } else { otherwise }
}
