//! Who may speak to the assistant: owners by configuration or pairing. Others are stored as refused and told so once.

use rusqlite::{Connection, Transaction, params};

use super::error::InboxError;
use super::pairing;
use super::settings::Settings;
use super::store::{self, Birth, InboundState};
use crate::audit::{self, Actor, Entry};
use crate::domain::conversation::{ChannelKind, ConversationKind};
use crate::domain::ids::{ConversationId, InboundId};
use crate::domain::message::NewInput;
use crate::domain::time::Now;
use crate::outbox;

/// By the sender's user id, never by the chat.
pub fn is_owner(
    connection: &Connection,
    settings: &Settings,
    channel: ChannelKind,
    sender_id: &str,
) -> Result<bool, InboxError> {
    if settings.owners.contains(&(channel, sender_id.to_owned())) {
        return Ok(true);
    }
    Ok(connection
        .prepare_cached("SELECT 1 FROM owners WHERE channel = ?1 AND sender_id = ?2")?
        .exists(params![channel.as_str(), sender_id])?)
}

/// Private conversations of the owners on one account, for lines that are for them alone.
pub(super) fn private_conversations(
    connection: &Connection,
    settings: &Settings,
    channel: ChannelKind,
    account: &str,
) -> Result<Vec<ConversationId>, InboxError> {
    let found: Vec<(ConversationId, String)> = connection
        .prepare_cached(
            "SELECT id, contact FROM conversations
             WHERE channel = ?1 AND account = ?2 AND kind = 'private' AND thread = '' ORDER BY id",
        )?
        .query_map(params![channel.as_str(), account], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    let mut own = Vec::new();
    for (id, contact) in found {
        if is_owner(connection, settings, channel, &contact)? {
            own.push(id);
        }
    }
    Ok(own)
}

/// What a message of somebody who is no owner comes to.
pub(super) enum Stranger {
    Refused(InboundId),
    /// They sent the code that the window shows.
    Paired(InboundId),
}

pub(super) fn stranger(
    tx: &Transaction<'_>,
    now: Now,
    settings: &Settings,
    conversation: ConversationId,
    channel: ChannelKind,
    input: &NewInput,
) -> Result<Stranger, InboxError> {
    let private = input.conversation_kind == ConversationKind::Private;
    if private && pairing::matches(tx, now, channel, input)? {
        let birth = Birth {
            conversation: Some(conversation),
            state: InboundState::Control,
            reason: Some("paired"),
            owner: true,
            stale: false,
            edit_of: None,
        };
        let mut said = input.clone();
        // The code is worth nothing any more, and is not kept.
        said.text = String::new();
        said.parts.command = None;
        let id = store::insert(tx, now, &said, &birth)?;
        pairing::complete(tx, now, settings, channel, input, conversation)?;
        return Ok(Stranger::Paired(id));
    }
    let told_before = tx
        .prepare_cached("SELECT 1 FROM inbound WHERE channel = ?1 AND sender_id = ?2 AND reason = 'not_paired'")?
        .exists(params![channel.as_str(), input.sender_id])?;
    let birth = Birth {
        conversation: Some(conversation),
        state: InboundState::Discarded,
        reason: Some("not_paired"),
        owner: false,
        stale: false,
        edit_of: None,
    };
    let id = store::insert(tx, now, input, &birth)?;
    audit::append(
        tx,
        now,
        Entry::new(audit::Kind::SenderRefused, Actor::System)
            .in_conversation(conversation)
            .detail("inbound_id", id.0)
            .detail("channel", channel.as_str())
            .personal("sender_id", input.sender_id.as_str())
            .personal("sender_name", input.sender_name.as_str()),
    )?;
    if private && !told_before {
        let line = settings.language.pick(
            "I am a private assistant and only answer my owner.",
            "Soy un asistente privado y solo respondo a mi dueño.",
        );
        outbox::enqueue_control(tx, now, conversation, line)?;
    }
    Ok(Stranger::Refused(id))
}
