//! What a new burst does to the turn that runs: pure.

use std::time::Duration;

use super::settings::DoubleTexting;

/// Supersessions of one turn before later bursts wait.
pub const MOST_SUPERSESSIONS: i64 = 3;
/// Time from a turn's first supersession until later bursts wait.
pub const LONGEST_SUPERSEDING: Duration = Duration::from_secs(30);

/// The running turn as far as it matters here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Running {
    /// It has an effect row or an outbound row in `sending`: nothing it did may be taken back.
    pub fenced: bool,
    pub same_sender: bool,
    pub supersessions: i64,
    pub since_first_supersession: Option<Duration>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decision {
    Reject,
    Enqueue,
    Interrupt,
    /// Same turn, next epoch, both bursts.
    Merge,
}

/// Another sender's burst never touches the turn, and neither does any after the fence.
pub fn decide(strategy: DoubleTexting, running: Running) -> Decision {
    let untouchable = running.fenced || !running.same_sender;
    let exhausted = running.supersessions >= MOST_SUPERSESSIONS
        || running.since_first_supersession.is_some_and(|time| time >= LONGEST_SUPERSEDING);
    match strategy {
        DoubleTexting::Reject => Decision::Reject,
        DoubleTexting::Enqueue => Decision::Enqueue,
        DoubleTexting::Interrupt if untouchable => Decision::Enqueue,
        DoubleTexting::Interrupt => Decision::Interrupt,
        DoubleTexting::Supersede | DoubleTexting::Rollback if untouchable || exhausted => Decision::Enqueue,
        DoubleTexting::Supersede | DoubleTexting::Rollback => Decision::Merge,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_strategy_meets_the_fence_the_sender_and_the_cap() {
        let free = Running { fenced: false, same_sender: true, supersessions: 0, since_first_supersession: None };
        let fenced = Running { fenced: true, ..free };
        let stranger = Running { same_sender: false, ..free };
        let third = Running { supersessions: 2, since_first_supersession: Some(Duration::from_secs(29)), ..free };
        let fourth = Running { supersessions: 3, ..third };
        let late = Running { supersessions: 1, since_first_supersession: Some(Duration::from_secs(30)), ..free };
        use Decision::{Enqueue, Interrupt, Merge, Reject};
        for (strategy, expected) in [
            (DoubleTexting::Reject, [Reject, Reject, Reject, Reject, Reject, Reject]),
            (DoubleTexting::Enqueue, [Enqueue, Enqueue, Enqueue, Enqueue, Enqueue, Enqueue]),
            (DoubleTexting::Interrupt, [Interrupt, Enqueue, Enqueue, Interrupt, Interrupt, Interrupt]),
            (DoubleTexting::Rollback, [Merge, Enqueue, Enqueue, Merge, Enqueue, Enqueue]),
            (DoubleTexting::Supersede, [Merge, Enqueue, Enqueue, Merge, Enqueue, Enqueue]),
        ] {
            let decided = [free, fenced, stranger, third, fourth, late].map(|running| decide(strategy, running));
            assert_eq!(decided, expected, "{strategy:?}");
        }
    }
}
