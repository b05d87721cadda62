//! Ids as newtypes. Row ids are integers given by the database; turn and effect ids are UUIDs (version 7),
//! because provider-side ids are derived from them and must never repeat, even after a restore.

/// A row id: an SQLite integer inside, a string in JSON.
macro_rules! row_id {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, ts_rs::TS)]
        #[ts(as = "String")]
        pub struct $name(pub i64);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
        impl std::str::FromStr for $name {
            type Err = std::num::ParseIntError;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                text.trim_start_matches('#').parse().map(Self)
            }
        }
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(&self.0)
            }
        }
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
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

/// A text newtype.
macro_rules! text_id {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize, ts_rs::TS)]
        #[serde(transparent)]
        #[ts(as = "String")]
        pub struct $name(pub String);

        impl $name {
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }
        impl rusqlite::ToSql for $name {
            fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
                Ok(self.0.as_str().into())
            }
        }
        impl rusqlite::types::FromSql for $name {
            fn column_result(value: rusqlite::types::ValueRef<'_>) -> rusqlite::types::FromSqlResult<Self> {
                String::column_result(value).map(Self)
            }
        }
    )*};
}

row_id! {
    ConversationId,
    /// One accepted input.
    InboundId,
    BurstId,
    StepId,
    ApprovalId,
    /// One message of the agent to a person.
    OutboundId,
    /// One prevented or held duplicate.
    PreventedId,
    ScheduleId,
    FactId,
    AttachmentId,
}

text_id! {
    TurnId,
    EffectId,
    /// The account acted on: a mail address, a calendar account, a tool server.
    AccountId,
    /// Hash of (origin, ordinal of the call, tool, account); never expires.
    ExactKey,
    /// SHA-256 in hex of the canonical form that makes two actions the same business action.
    Identity,
    /// SHA-256 in hex of the whole normalised action.
    Digest,
    /// SHA-256 in hex of the action exactly as shown and as it will leave.
    LiteralHash,
}
