//! How often each layer fired per day: local telemetry of the guard.

use rusqlite::{Connection, Transaction, params};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::store::StoreError;

/// What prevented, merged or held something.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// Messages merged into one request.
    Burst,
    /// The semantic window.
    Guard,
    /// The same call again.
    Exact,
    /// Stood in the calendar already.
    Calendar,
    /// A near duplicate was held for a person.
    Near,
}

impl Layer {
    pub const ALL: [Self; 5] = [Self::Burst, Self::Guard, Self::Exact, Self::Calendar, Self::Near];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Burst => "burst",
            Self::Guard => "guard",
            Self::Exact => "exact",
            Self::Calendar => "calendar",
            Self::Near => "near",
        }
    }
}

/// Counts one. `day` is the local date.
pub fn count_layer(transaction: &Transaction<'_>, day: jiff::civil::Date, layer: Layer) -> Result<(), StoreError> {
    transaction
        .prepare_cached(
            "INSERT INTO layer_counts (day, layer, count) VALUES (?1, ?2, 1)
             ON CONFLICT (day, layer) DO UPDATE SET count = count + 1",
        )?
        .execute(params![day.to_string(), layer.as_str()])?;
    Ok(())
}

/// (day, layer, count) from `since` on, oldest first. Days without anything are absent.
pub fn layer_counts(
    connection: &Connection,
    since: jiff::civil::Date,
) -> Result<Vec<(String, Layer, i64)>, StoreError> {
    let mut statement =
        connection.prepare_cached("SELECT day, layer, count FROM layer_counts WHERE day >= ?1 ORDER BY day, layer")?;
    let rows: Vec<(String, String, i64)> = statement
        .query_map([since.to_string()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_, _>>()?;
    let known = |name: &str| Layer::ALL.into_iter().find(|layer| layer.as_str() == name);
    Ok(rows.into_iter().filter_map(|(day, name, count)| known(&name).map(|layer| (day, layer, count))).collect())
}
