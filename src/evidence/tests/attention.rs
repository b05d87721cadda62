//! Nothing unsettled stays invisible.

use super::{HOUR, put};
use crate::domain::action::Action;
use crate::domain::ports::Clock;
use crate::evidence::testing::*;
use crate::evidence::{AttentionReason, Birth, attention};

#[tokio::test(start_paused = true)]
async fn whatever_is_older_than_a_day_is_listed() {
    let world = World::new();
    let id = put(&world, Action::SendEmail(mail("a@example.test", "x", "y")), Birth::AwaitingApproval, None).await;
    let list = || {
        let now = world.clock.now();
        world.store.read(move |connection| attention(connection, now))
    };
    world.clock.slept(HOUR * 23);
    assert!(list().await.unwrap().is_empty());
    world.clock.jump_wall(40 * 86_400_000);
    assert!(list().await.unwrap().is_empty(), "a jump of the wall clock makes nothing old");
    world.clock.slept(HOUR);
    let items = list().await.unwrap();
    assert_eq!((items.len(), &items[0].effect, items[0].reason), (1, &id, AttentionReason::Old));
}
