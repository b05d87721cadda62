//! Pairing: a code shown in the window, sent to the bot once, makes its sender an owner.

use std::time::Duration;

use rusqlite::{Transaction, params};
use serde::{Deserialize, Serialize};

use super::error::InboxError;
use super::settings::Settings;
use crate::audit::{self, Actor, Entry};
use crate::domain::conversation::ChannelKind;
use crate::domain::ids::ConversationId;
use crate::domain::message::NewInput;
use crate::domain::ports::IdSource;
use crate::domain::time::{Elapsed, Now};
use crate::outbox;
use crate::store::meta;

/// How long a code is good.
pub const PAIRING_TIME: Duration = Duration::from_secs(600);
/// Wrong codes after which a code is void: guessing is not a way in.
const MOST_TRIES: u32 = 10;
/// Letters and digits that are not mistaken for one another.
const ALPHABET: &[u8] = b"ABCDEFGHJKMNPQRSTUVWXYZ23456789";
const LENGTH: usize = 8;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PairingCode {
    pub code: String,
    pub expires: Elapsed,
}

#[derive(Serialize, Deserialize)]
struct Open {
    code: String,
    expires: Elapsed,
    tries: u32,
}

fn key(channel: ChannelKind) -> String {
    format!("pairing:{}", channel.as_str())
}

/// Opens pairing on `channel` with a new code; an earlier one is void.
pub fn begin_pairing(
    tx: &Transaction<'_>,
    now: Now,
    ids: &dyn IdSource,
    channel: ChannelKind,
) -> Result<PairingCode, InboxError> {
    let code: String = ids
        .token()
        .bytes()
        .chain(ids.token().bytes())
        .take(LENGTH)
        .map(|byte| char::from(ALPHABET[usize::from(byte) % ALPHABET.len()]))
        .collect();
    let expires = now.elapsed.plus(PAIRING_TIME);
    meta::set(tx, &key(channel), &Open { code: code.clone(), expires, tries: 0 })?;
    Ok(PairingCode { code, expires })
}

/// The code that is open now, to show it again.
pub fn open_pairing(tx: &Transaction<'_>, now: Now, channel: ChannelKind) -> Result<Option<PairingCode>, InboxError> {
    let open = meta::get::<Open>(tx, &key(channel))?.filter(|open| open.expires > now.elapsed);
    Ok(open.map(|open| PairingCode { code: open.code, expires: open.expires }))
}

/// Closes pairing.
pub fn end_pairing(tx: &Transaction<'_>, channel: ChannelKind) -> Result<(), InboxError> {
    Ok(meta::remove(tx, &key(channel))?)
}

/// The message is the open code, alone or after `/start`.
pub(super) fn matches(
    tx: &Transaction<'_>,
    now: Now,
    channel: ChannelKind,
    input: &NewInput,
) -> Result<bool, InboxError> {
    let Some(mut open) = meta::get::<Open>(tx, &key(channel))? else { return Ok(false) };
    if open.expires < now.elapsed {
        end_pairing(tx, channel)?;
        return Ok(false);
    }
    let said = input.parts.command.as_ref().map_or(input.text.as_str(), |command| command.argument.as_str());
    let said = said.strip_prefix("/start").unwrap_or(said);
    let said: String = said.chars().filter(|c| c.is_ascii_alphanumeric()).collect();
    if said.eq_ignore_ascii_case(&open.code) {
        return Ok(true);
    }
    if said.len() == LENGTH {
        open.tries += 1;
        if open.tries >= MOST_TRIES {
            end_pairing(tx, channel)?;
        } else {
            meta::set(tx, &key(channel), &open)?;
        }
    }
    Ok(false)
}

pub(super) fn complete(
    tx: &Transaction<'_>,
    now: Now,
    settings: &Settings,
    channel: ChannelKind,
    input: &NewInput,
    conversation: ConversationId,
) -> Result<(), InboxError> {
    end_pairing(tx, channel)?;
    tx.execute(
        "INSERT INTO owners (channel, sender_id, name, paired_at) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (channel, sender_id) DO NOTHING",
        params![channel.as_str(), input.sender_id, input.sender_name, now.wall],
    )?;
    audit::append(
        tx,
        now,
        Entry::new(audit::Kind::SettingChanged, Actor::Person(format!("{}:{}", channel.as_str(), input.sender_id)))
            .in_conversation(conversation)
            .detail("setting", "owners")
            .detail("channel", channel.as_str())
            .personal("owner", input.sender_id.as_str())
            .personal("name", input.sender_name.as_str()),
    )?;
    let line = settings.language.pick(
        "Paired: from now on I answer you here. /help says what I can do.",
        "Emparejado: desde ahora te respondo aquí. /help dice qué puedo hacer.",
    );
    outbox::enqueue_control(tx, now, conversation, line)?;
    Ok(())
}
