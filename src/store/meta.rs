//! Facts about this installation as key and value.

use rusqlite::{Connection, OptionalExtension, Transaction, params};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::StoreError;

pub fn get<T: DeserializeOwned>(connection: &Connection, key: &str) -> Result<Option<T>, StoreError> {
    let text: Option<String> = connection
        .prepare_cached("SELECT value FROM meta WHERE key = ?1")?
        .query_row([key], |row| row.get(0))
        .optional()?;
    text.map(|text| serde_json::from_str(&text).map_err(StoreError::from)).transpose()
}

pub fn set(transaction: &Transaction<'_>, key: &str, value: &impl Serialize) -> Result<(), StoreError> {
    transaction
        .prepare_cached(
            "INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        )?
        .execute(params![key, serde_json::to_string(value)?])?;
    Ok(())
}

pub fn remove(transaction: &Transaction<'_>, key: &str) -> Result<(), StoreError> {
    transaction.execute("DELETE FROM meta WHERE key = ?1", [key])?;
    Ok(())
}
