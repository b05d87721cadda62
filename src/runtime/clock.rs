//! The two clocks behind [`Clock`]: the machine's, and a virtual one for replays and tests.
//!
//! Elapsed time is boot time (it counts sleep and ignores jumps of the wall clock) plus what earlier boots added up to.
//! The sum is persisted by the store, so that windows and expiries survive restarts.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use async_trait::async_trait;

use crate::domain::ports::Clock;
use crate::domain::time::{Elapsed, Now, Wall};

/// No timer is armed for longer: a machine that slept is noticed within this time.
const LONGEST_ARM: Duration = Duration::from_secs(60);

/// A reading of the machine's own clocks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BootReading {
    /// Changes with every boot.
    pub boot_id: String,
    /// Milliseconds since boot, sleep included.
    pub boot_ms: i64,
    pub wall: Wall,
}

impl BootReading {
    pub fn take() -> Self {
        Self { boot_id: boot_id(), boot_ms: boot_ms(), wall: wall() }
    }
}

/// A persisted point of the elapsed clock.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct ElapsedMark {
    pub boot_id: String,
    pub boot_ms: i64,
    pub wall_ms: i64,
    pub elapsed_ms: i64,
}

/// Elapsed time at `reading`, given the last persisted mark.
///
/// Same boot: the boot clock decides. New boot: the wall gap, but never less than the new boot's own uptime
/// (that much has certainly passed) and never more than `longest_off` beyond it, so that a wall clock that
/// was years ahead at one end cannot expire everything.
pub fn elapsed_at(mark: Option<&ElapsedMark>, reading: &BootReading, longest_off: Duration) -> Elapsed {
    let Some(mark) = mark else { return Elapsed(0) };
    if mark.boot_id == reading.boot_id {
        return Elapsed(mark.elapsed_ms + (reading.boot_ms - mark.boot_ms).max(0));
    }
    let gap = reading.wall.0.saturating_sub(mark.wall_ms);
    let most = reading.boot_ms.saturating_add(i64::try_from(longest_off.as_millis()).unwrap_or(i64::MAX));
    Elapsed(mark.elapsed_ms.saturating_add(gap.clamp(reading.boot_ms, most.max(reading.boot_ms))))
}

/// The machine's clock.
#[derive(Clone, Debug)]
pub struct SystemClock {
    base_elapsed_ms: i64,
    base_boot_ms: i64,
}

impl SystemClock {
    /// A clock that shows `elapsed` at `reading`.
    pub fn starting(elapsed: Elapsed, reading: &BootReading) -> Self {
        Self { base_elapsed_ms: elapsed.0, base_boot_ms: reading.boot_ms }
    }
}

#[async_trait]
impl Clock for SystemClock {
    fn now(&self) -> Now {
        Now { wall: wall(), elapsed: Elapsed(self.base_elapsed_ms + (boot_ms() - self.base_boot_ms)) }
    }

    async fn sleep(&self, duration: Duration) {
        sleep_on(self, duration).await;
    }
}

async fn sleep_on(clock: &dyn Clock, duration: Duration) {
    let until = clock.now().elapsed.plus(duration);
    loop {
        let left = until.since(clock.now().elapsed);
        if left.is_zero() {
            return;
        }
        tokio::time::sleep(left.min(LONGEST_ARM)).await;
    }
}

/// Time of a tokio runtime, usually a paused one, with wall jumps and machine sleep on request.
#[derive(Clone)]
pub struct VirtualClock {
    start: tokio::time::Instant,
    wall_ms: Arc<AtomicI64>,
    elapsed_ms: Arc<AtomicI64>,
}

impl VirtualClock {
    /// Starts at `wall`; call it inside a tokio runtime.
    pub fn starting(wall: Wall, elapsed: Elapsed) -> Self {
        Self {
            start: tokio::time::Instant::now(),
            wall_ms: Arc::new(AtomicI64::new(wall.0)),
            elapsed_ms: Arc::new(AtomicI64::new(elapsed.0)),
        }
    }

    /// Sets the computer's clock forward or back; elapsed time does not notice.
    pub fn jump_wall(&self, milliseconds: i64) {
        self.wall_ms.fetch_add(milliseconds, Ordering::SeqCst);
    }

    /// The machine slept: both clocks move on, no timer ran meanwhile.
    pub fn slept(&self, duration: Duration) {
        let milliseconds = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        self.wall_ms.fetch_add(milliseconds, Ordering::SeqCst);
        self.elapsed_ms.fetch_add(milliseconds, Ordering::SeqCst);
    }
}

#[async_trait]
impl Clock for VirtualClock {
    fn now(&self) -> Now {
        let run = i64::try_from(self.start.elapsed().as_millis()).unwrap_or(i64::MAX);
        Now {
            wall: Wall(self.wall_ms.load(Ordering::SeqCst) + run),
            elapsed: Elapsed(self.elapsed_ms.load(Ordering::SeqCst) + run),
        }
    }

    async fn sleep(&self, duration: Duration) {
        sleep_on(self, duration).await;
    }
}

fn wall() -> Wall {
    Wall::from(jiff::Timestamp::now())
}

/// `CLOCK_BOOTTIME` counts suspend (clock_gettime(2)).
#[cfg(target_os = "linux")]
fn boot_ms() -> i64 {
    timespec_ms(rustix::time::clock_gettime(rustix::time::ClockId::Boottime))
}

/// Darwin's `CLOCK_MONOTONIC` goes on while the system sleeps (clock_gettime(3) of macOS).
#[cfg(all(unix, not(target_os = "linux")))]
fn boot_ms() -> i64 {
    timespec_ms(rustix::time::clock_gettime(rustix::time::ClockId::Monotonic))
}

#[cfg(unix)]
fn timespec_ms(time: rustix::time::Timespec) -> i64 {
    time.tv_sec * 1000 + time.tv_nsec / 1_000_000
}

/// Whole seconds: `GetTickCount64`, which counts sleep.
#[cfg(windows)]
fn boot_ms() -> i64 {
    i64::try_from(sysinfo::System::uptime()).unwrap_or(0) * 1000
}

#[cfg(target_os = "linux")]
fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|text| text.trim().to_owned()).unwrap_or_default()
}

/// The boot's start in minutes; differs between boots, stays within one.
#[cfg(not(target_os = "linux"))]
fn boot_id() -> String {
    (sysinfo::System::boot_time() / 60).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MONTH: Duration = Duration::from_secs(31 * 86_400);

    fn mark() -> ElapsedMark {
        ElapsedMark { boot_id: "a".into(), boot_ms: 5_000, wall_ms: 1_000_000, elapsed_ms: 700 }
    }

    #[test]
    fn same_boot_ignores_the_wall_clock() {
        for wall in [0, 1_000_000, 9_999_999_999] {
            let reading = BootReading { boot_id: "a".into(), boot_ms: 6_500, wall: Wall(wall) };
            assert_eq!(elapsed_at(Some(&mark()), &reading, MONTH), Elapsed(2_200));
        }
    }

    #[test]
    fn new_boot_adds_the_wall_gap_within_bounds() {
        let at = |wall, boot_ms| {
            elapsed_at(Some(&mark()), &BootReading { boot_id: "b".into(), boot_ms, wall: Wall(wall) }, MONTH)
        };
        assert_eq!(at(1_090_000, 10_000), Elapsed(90_700), "the gap");
        assert_eq!(at(500_000, 10_000), Elapsed(10_700), "a wall clock set back: the uptime at least");
        assert_eq!(at(200_000_000_000, 0), Elapsed(700 + 31 * 86_400_000), "a wall clock years ahead: bounded");
    }

    #[test]
    fn first_start_is_zero() {
        assert_eq!(elapsed_at(None, &BootReading::take(), MONTH), Elapsed(0));
    }
}
