//! Closed sets of the table `outbound`, under the names they have there.

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

macro_rules! stored_enum {
    ($($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal),* $(,)? })*) => {$(
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, TS)]
        $(#[$doc])*
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($(#[$variant_doc])* $variant),* }

        impl $name {
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),* }
            }
        }
        impl ToSql for $name {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(self.as_str().into())
            }
        }
        impl FromSql for $name {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                let text = value.as_str()?;
                [$(Self::$variant),*].into_iter().find(|v| v.as_str() == text).ok_or(FromSqlError::InvalidType)
            }
        }
    )*};
}

stored_enum! {
    /// What a row is to the conversation.
    #[ts(rename = "OutboundKind")]
    Kind {
        /// By the message tool.
        Message = "message",
        /// The final answer of a turn.
        Reply = "reply",
        /// An approval card.
        Card = "card",
        /// A deterministic line of the program, part of the history the model sees.
        Notice = "notice",
        /// Answer to a command; no part of the history.
        Control = "control",
    }
    #[ts(rename = "DeliveryMode")]
    Mode {
        Immediate = "immediate",
        Batched = "batched",
    }
    #[ts(rename = "OutboundState")]
    State {
        /// Batched: waits for the end of its turn.
        Held = "held",
        Queued = "queued",
        /// A request may have left.
        Sending = "sending",
        Delivered = "delivered",
        /// A request left and no answer came.
        Uncertain = "uncertain",
        Failed = "failed",
        Cancelled = "cancelled",
    }
}

impl State {
    /// Nothing more will happen to the row by itself.
    pub fn is_settled(self) -> bool {
        match self {
            Self::Delivered | Self::Uncertain | Self::Failed | Self::Cancelled => true,
            Self::Held | Self::Queued | Self::Sending => false,
        }
    }
}
