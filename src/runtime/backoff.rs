//! Waiting times between attempts.

use std::time::Duration;

/// The `n`-th wait (from 0) of `schedule`, its last one repeated, with up to 10 % added by `fraction` (0..1).
/// Jitter only adds, so that no wait is shorter than stated.
pub fn scheduled(schedule: &[Duration], n: usize, fraction: f64) -> Duration {
    let Some(base) = schedule.get(n).or_else(|| schedule.last()) else { return Duration::from_secs(60) };
    base.mul_f64(1.0 + 0.1 * fraction.clamp(0.0, 1.0))
}

/// Doubles from `first` to at most `most`, with up to 25 % added by `fraction`.
pub fn doubling(first: Duration, most: Duration, n: u32, fraction: f64) -> Duration {
    first.saturating_mul(2_u32.saturating_pow(n.min(20))).min(most).mul_f64(1.0 + 0.25 * fraction.clamp(0.0, 1.0))
}
