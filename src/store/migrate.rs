//! Forward-only migrations by `user_version`, one immediate transaction each, with their checksums kept.

use rusqlite::{Connection, TransactionBehavior, params};

use super::error::StoreError;
use crate::runtime::hash::sha256_hex;

pub struct Migration {
    pub name: &'static str,
    pub sql: &'static str,
}

macro_rules! migrations {
    ($($name:literal),* $(,)?) => {
        /// In order; the n-th brings the database to version n. A released file is never changed (`tests/tidy.rs`).
        pub const MIGRATIONS: &[Migration] =
            &[$(Migration { name: $name, sql: include_str!(concat!("migrations/", $name, ".sql")) }),*];
    };
}

migrations![
    "0001_foundation",
    "0002_inbox",
    "0003_debounce",
    "0004_turns",
    "0005_evidence",
    "0006_guard",
    "0007_approvals",
    "0008_outbox",
    "0009_calendar",
    "0010_schedules",
    "0011_memory",
    "0012_audit",
    "0013_outbox_edits",
    "0014_effects_provider",
    "0015_effects_restored",
];

pub(super) fn run(connection: &mut Connection) -> Result<(), StoreError> {
    let known = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    let found = version(connection)?;
    if found > known {
        return Err(StoreError::Newer { found, known });
    }
    connection.execute_batch(
        "CREATE TABLE IF NOT EXISTS migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL)",
    )?;
    for (version, migration) in (1..).zip(MIGRATIONS) {
        let checksum = sha256_hex(migration.sql);
        if version <= found {
            let applied: String =
                connection
                    .query_row("SELECT checksum FROM migrations WHERE version = ?1", [version], |row| row.get(0))?;
            if applied != checksum {
                return Err(StoreError::MigrationChanged { version });
            }
            continue;
        }
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(migration.sql)?;
        transaction.execute(
            "INSERT INTO migrations (version, name, checksum) VALUES (?1, ?2, ?3)",
            params![version, migration.name, checksum],
        )?;
        transaction.pragma_update(None, "user_version", version)?;
        transaction.commit()?;
    }
    Ok(())
}

fn version(connection: &Connection) -> Result<i64, StoreError> {
    Ok(connection.query_row("PRAGMA user_version", [], |row| row.get(0))?)
}
