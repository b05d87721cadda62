//! Keeps the elapsed clock over restarts.

use std::time::Duration;

use rusqlite::Connection;

use super::error::StoreError;
use super::meta;
use crate::domain::time::Elapsed;
use crate::runtime::clock::{BootReading, ElapsedMark, elapsed_at};

const KEY: &str = "elapsed_clock";

/// A machine that was off for longer is taken to have been off this long: more than any expiry, less than a wrong year.
const LONGEST_OFF: Duration = Duration::from_secs(45 * 86_400);

pub(super) fn resume(connection: &Connection, reading: &BootReading) -> Result<Elapsed, StoreError> {
    let mark: Option<ElapsedMark> = meta::get(connection, KEY)?;
    Ok(elapsed_at(mark.as_ref(), reading, LONGEST_OFF))
}

pub(super) fn save(
    transaction: &rusqlite::Transaction<'_>,
    elapsed: Elapsed,
    reading: &BootReading,
) -> Result<(), StoreError> {
    let mark = ElapsedMark {
        boot_id: reading.boot_id.clone(),
        boot_ms: reading.boot_ms,
        wall_ms: reading.wall.0,
        elapsed_ms: elapsed.0,
    };
    meta::set(transaction, KEY, &mark)
}
