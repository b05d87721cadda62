//! Instants. Windows and expiries use `Elapsed`; what a person reads uses `Wall`.

use serde::{Deserialize, Serialize};

macro_rules! millis {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub i64);

        impl $name {
            /// This instant plus `duration`, saturating.
            pub fn plus(self, duration: std::time::Duration) -> Self {
                Self(self.0.saturating_add(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
            }
            /// Time since `earlier`; zero if that is later.
            pub fn since(self, earlier: Self) -> std::time::Duration {
                std::time::Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
            }
        }
        impl rusqlite::ToSql for $name {
            fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
                Ok(self.0.into())
            }
        }
        impl rusqlite::types::FromSql for $name {
            fn column_result(value: rusqlite::types::ValueRef<'_>) -> rusqlite::types::FromSqlResult<Self> {
                i64::column_result(value).map(Self)
            }
        }
    )*};
}

millis! {
    /// Milliseconds since the Unix epoch by the computer's clock. It may jump; nothing is decided on it.
    Wall,
    /// Milliseconds on the persisted elapsed clock: counts sleep, ignores jumps of the wall clock, goes on over restarts.
    Elapsed,
}

impl Wall {
    pub fn timestamp(self) -> jiff::Timestamp {
        jiff::Timestamp::from_millisecond(self.0).unwrap_or(if self.0 < 0 {
            jiff::Timestamp::MIN
        } else {
            jiff::Timestamp::MAX
        })
    }

    /// RFC 3339 with the offset of `zone`, whole seconds.
    pub fn rfc3339(self, zone: &jiff::tz::TimeZone) -> String {
        self.timestamp().to_zoned_datetime(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
    }
}

impl From<jiff::Timestamp> for Wall {
    fn from(timestamp: jiff::Timestamp) -> Self {
        Self(timestamp.as_millisecond())
    }
}

/// Both clocks read at one moment; handed to pure code.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Now {
    pub wall: Wall,
    pub elapsed: Elapsed,
}
