//! `message`: speaks to the user of this conversation, now or with the end of the turn.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension, params};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments::{ArgumentError, parse};
use super::context::{CallContext, CallError, ToolResult};
use super::registry::Tool;
use super::schema;
use crate::domain::chat::ToolSpec;
use crate::domain::conversation::{Address, ChannelKind};
use crate::domain::effect::DedupeClass;
use crate::domain::ids::{ConversationId, OutboundId};
use crate::domain::ports::Clock;
use crate::domain::tool::{PolicyKey, ToolDeclaration, ToolKind, Waiting};
use crate::outbox::{self, Channels, Delivery, Kind, Mode, New, State};
use crate::store::{Durability, Store, StoreError};

/// How long a call waits for the channel.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Markdown.
    content: String,
    /// True: delivered at this moment. False: with the end of the turn, before your answer. Without it the person's
    /// setting decides. Keep to one mode for messages that belong together.
    immediate: Option<bool>,
}

struct MessageTool {
    store: Store,
    clock: Arc<dyn Clock>,
    channels: Channels,
    settings: outbox::Settings,
}

impl MessageTool {
    async fn enqueue(&self, context: &CallContext, arguments: Arguments) -> Result<(OutboundId, Mode), CallError> {
        let conversation = context.conversation;
        let address = self.store.read(move |connection| address(connection, conversation)).await?;
        let capabilities = address.map(|address| self.channels.capabilities(&address));
        let (mode, fell_back) = match capabilities {
            Some(capabilities) => outbox::choose_mode(arguments.immediate, &self.settings, capabilities),
            None => (Mode::Batched, arguments.immediate == Some(true)),
        };
        let now = self.clock.now();
        let (turn, epoch, ordinal) = (context.turn.clone(), context.epoch, context.ordinal);
        let id = self
            .store
            .write("message.enqueue", Durability::Normal, move |tx| {
                let running: bool = tx
                    .prepare_cached(
                        "SELECT EXISTS (SELECT 1 FROM turns WHERE id = ?1 AND epoch = ?2 AND stop_requested = 0
                                        AND state <> 'ended')",
                    )
                    .and_then(|mut statement| statement.query_row(params![turn, epoch], |row| row.get(0)))
                    .map_err(StoreError::from)?;
                if !running {
                    return Err(CallError::TurnGone);
                }
                let mut new = New::text(conversation, Kind::Message, arguments.content).in_turn(turn, epoch, ordinal);
                new.mode = mode;
                new.fell_back = fell_back;
                Ok(outbox::enqueue(tx, now, new)?)
            })
            .await?;
        Ok((id, mode))
    }

    fn result(&self, delivery: &Delivery, context: &CallContext) -> ToolResult {
        let zone = &context.zone;
        match delivery.state {
            State::Delivered => ToolResult::new(json!({
                "status": "delivered",
                "delivery_mode": "immediate",
                "delivered_at": delivery.delivered_at.map(|at| at.rfc3339(zone)),
                "sequence_in_turn": delivery.sequence_in_turn,
            })),
            State::Held => {
                let mut content = json!({
                    "status": "queued",
                    "delivery_mode": "batched",
                    "queued_at": delivery.queued_at.rfc3339(zone),
                });
                if delivery.fell_back {
                    content["fell_back_to_batch"] = json!(true);
                }
                ToolResult::new(content)
            }
            State::Queued | State::Sending => ToolResult::new(json!({
                "status": "sending",
                "delivery_mode": "immediate",
                "message": "it is on its way; do not send it again",
            })),
            State::Uncertain => ToolResult::new(json!({
                "status": "uncertain",
                "delivery_mode": "immediate",
                "message": "it left, and no confirmation came; it may have arrived. Do not send it again: the person can see this and decide",
            })),
            State::Failed => ToolResult::error(
                "not_delivered",
                format!("the message was not delivered: {}", delivery.error.as_deref().unwrap_or("no reason given")),
            ),
            State::Cancelled => ToolResult::error("cancelled", "the message was cancelled before it was sent"),
        }
    }
}

fn address(connection: &Connection, conversation: ConversationId) -> Result<Option<Address>, StoreError> {
    let found = connection
        .prepare_cached("SELECT channel, account, contact, thread FROM conversations WHERE id = ?1")?
        .query_row([conversation], |row| Ok((row.get::<_, String>(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
        .optional()?;
    Ok(found.and_then(|(channel, account, contact, thread)| {
        let channel = ChannelKind::ALL.into_iter().find(|kind| kind.as_str() == channel)?;
        Some(Address { channel, account, contact, thread })
    }))
}

#[async_trait]
impl Tool for MessageTool {
    fn declaration(&self) -> ToolDeclaration {
        ToolDeclaration {
            name: "message".to_owned(),
            kind: ToolKind::Message,
            identity: Vec::new(),
            window: None,
            policy: PolicyKey::Other,
            dedupe: DedupeClass::Neither,
            waiting: Waiting::Queued,
        }
    }

    fn spec(&self) -> ToolSpec {
        schema::spec::<Arguments>(
            "message",
            "Deliver to the user now. For progress in a long task or several separate messages; your final answer is \
             delivered by itself. Use one mode for related messages.",
        )
    }

    async fn call(&self, context: &CallContext, arguments: &Value) -> Result<ToolResult, CallError> {
        let arguments: Arguments = match parse(arguments) {
            Ok(arguments) => arguments,
            Err(error) => return Ok(error.result()),
        };
        if arguments.content.trim().is_empty() {
            return Ok(ArgumentError::new("content", "the content is empty", "the text to deliver").result());
        }
        let (id, mode) = self.enqueue(context, arguments).await?;
        let patience = match mode {
            Mode::Immediate => PATIENCE,
            Mode::Batched => Duration::ZERO,
        };
        match outbox::wait_settled(&self.store, self.clock.as_ref(), id, patience).await? {
            Some(delivery) => Ok(self.result(&delivery, context)),
            None => Err(CallError::TurnGone),
        }
    }
}

/// The tool, ready for the registry.
pub(super) fn tool(
    store: Store,
    clock: Arc<dyn Clock>,
    channels: Channels,
    settings: outbox::Settings,
) -> Arc<dyn Tool> {
    Arc::new(MessageTool { store, clock, channels, settings })
}
