//! Every state with every event, against the table of the specification written out by hand.

use crate::domain::effect::EffectState as S;
use crate::evidence::machine::{Event as E, IllegalTransition, next};

/// All legal transitions; whatever is not here must be refused.
const LEGAL: [(S, E, S); 29] = [
    (S::AwaitingApproval, E::Approve, S::Ready),
    (S::AwaitingApproval, E::Deny, S::Denied),
    (S::AwaitingApproval, E::Expire, S::Expired),
    (S::AwaitingApproval, E::Cancel { someone_accepted: false }, S::Cancelled),
    (S::Ready, E::Claim, S::Dispatching),
    (S::Ready, E::Cancel { someone_accepted: false }, S::Cancelled),
    (S::Ready, E::Cancel { someone_accepted: true }, S::Accepted),
    (S::Ready, E::FindAccepted, S::Accepted),
    (S::Ready, E::Restore, S::Unknown),
    (S::Dispatching, E::Accept, S::Accepted),
    (S::Dispatching, E::Reject, S::Rejected),
    (S::Dispatching, E::Retry, S::Retryable),
    (S::Dispatching, E::Lose, S::Unknown),
    (S::Dispatching, E::Restore, S::Unknown),
    (S::Retryable, E::Claim, S::Dispatching),
    (S::Retryable, E::Cancel { someone_accepted: false }, S::Cancelled),
    (S::Retryable, E::Cancel { someone_accepted: true }, S::Accepted),
    (S::Retryable, E::GiveUp { someone_accepted: false }, S::Rejected),
    (S::Retryable, E::GiveUp { someone_accepted: true }, S::Accepted),
    (S::Retryable, E::FindAccepted, S::Accepted),
    (S::Retryable, E::Restore, S::Unknown),
    (S::Unknown, E::FindAccepted, S::Accepted),
    (S::Unknown, E::PersonSaysSent, S::Accepted),
    (S::Unknown, E::ProveAbsent, S::Retryable),
    (S::Unknown, E::Reject, S::Rejected),
    (S::Unknown, E::PersonSaysNotSent, S::Ready),
    (S::Unknown, E::PersonDrops { someone_accepted: false }, S::Cancelled),
    (S::Unknown, E::PersonDrops { someone_accepted: true }, S::Accepted),
    (S::Accepted, E::Revert, S::Reverted),
];

#[test]
fn every_pair_is_the_table_or_a_typed_error() {
    let mut pairs = 0;
    for state in S::ALL {
        for event in E::ALL {
            let expected = LEGAL.iter().find(|(from, by, _)| (*from, *by) == (state, event)).map(|(_, _, to)| *to);
            assert_eq!(next(state, event), expected.ok_or(IllegalTransition { state, event }), "{state:?} {event:?}");
            pairs += 1;
        }
    }
    assert_eq!(pairs, 11 * 20);
}

#[test]
fn a_new_attempt_comes_only_from_ready_or_retryable() {
    let claimable: Vec<S> = S::ALL.into_iter().filter(|state| next(*state, E::Claim).is_ok()).collect();
    assert_eq!(claimable, [S::Ready, S::Retryable]);
}

#[test]
fn what_has_ended_stays_ended() {
    for state in [S::Rejected, S::Denied, S::Expired, S::Cancelled, S::Reverted] {
        for event in E::ALL {
            assert!(next(state, event).is_err(), "{state:?} {event:?}");
        }
    }
}
