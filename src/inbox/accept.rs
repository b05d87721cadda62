//! Accepting one input, inside the caller's durable transaction.

use rusqlite::Transaction;

use super::acts::Acts;
use super::answers;
use super::control::Control;
use super::edits;
use super::error::InboxError;
use super::owners::{self, Stranger};
use super::settings::{Groups, Settings};
use super::store::{self, Birth, InboundState};
use crate::audit::{self, Actor, Entry};
use crate::domain::conversation::{Address, ConversationKind};
use crate::domain::ids::{ConversationId, InboundId};
use crate::domain::message::{InputKind, NewInput, Transcript};
use crate::domain::time::Now;
use crate::outbox;

/// What became of an input.
#[derive(Clone, PartialEq, Debug)]
pub struct Accepted {
    pub id: Option<InboundId>,
    pub conversation: Option<ConversationId>,
    /// False when it had been accepted before.
    pub fresh: bool,
    /// `None` when it had been accepted before.
    pub state: Option<InboundState>,
    /// To be done after the commit.
    pub after: Option<After>,
}

/// What follows a commit; losing it changes nothing that was decided.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum After {
    /// Tell the person what their press of a button did.
    AnswerTap { callback_id: String, text: String },
}

/// Stores `input` and handles it if it is control input.
pub fn accept(
    tx: &Transaction<'_>,
    now: Now,
    settings: &Settings,
    acts: &dyn Acts,
    mut input: NewInput,
) -> Result<Accepted, InboxError> {
    if settings.hear_voice {
        let voices = input.parts.media.iter_mut().filter(|media| media.kind == "voice" && media.transcript.is_none());
        voices.for_each(|media| media.transcript = Some(Transcript::Pending));
    }
    if let Some((id, conversation)) = store::known(tx, &input.dedupe_key)? {
        return Ok(Accepted { id: Some(id), conversation, fresh: false, state: None, after: None });
    }
    let Some(address) = input.address.clone().filter(|_| input.kind != InputKind::Poison) else {
        return poison(tx, now, &input);
    };
    let conversation = store::conversation(tx, now, &address, input.conversation_kind, &input.conversation_title)?;
    let case = Case { tx, now, settings, acts, address, conversation };
    let owner = input.owner || owners::is_owner(tx, settings, case.address.channel, &input.sender_id)?;
    match input.kind {
        InputKind::Service => case.service(&input, owner),
        InputKind::Tap => case.tap(&input, owner),
        InputKind::Message | InputKind::Command | InputKind::Schedule | InputKind::Edit => {
            if input.conversation_kind == ConversationKind::Group
                && settings.groups == Groups::Off
                && input.kind != InputKind::Schedule
            {
                return case.discard(&input, owner, "groups_off");
            }
            if !owner {
                return case.stranger(&input);
            }
            if input.kind == InputKind::Edit {
                return edits::edit(&case, input);
            }
            case.message(&input, None)
        }
        // Poison left above.
        InputKind::Poison => poison(tx, now, &input),
    }
}

fn poison(tx: &Transaction<'_>, now: Now, input: &NewInput) -> Result<Accepted, InboxError> {
    let birth = Birth {
        conversation: None,
        state: InboundState::Failed,
        reason: Some("could not be read"),
        owner: false,
        stale: false,
        edit_of: None,
    };
    let mut kept = input.clone();
    kept.kind = InputKind::Poison;
    let id = store::insert(tx, now, &kept, &birth)?;
    audit::append(
        tx,
        now,
        Entry::new(audit::Kind::MessageDiscarded, Actor::System)
            .detail("inbound_id", id.0)
            .detail("reason", "could not be read"),
    )?;
    Ok(Accepted { id: Some(id), conversation: None, fresh: true, state: Some(InboundState::Failed), after: None })
}

/// One input on its way in.
pub(super) struct Case<'a> {
    pub tx: &'a Transaction<'a>,
    pub now: Now,
    pub settings: &'a Settings,
    pub acts: &'a dyn Acts,
    pub address: Address,
    pub conversation: ConversationId,
}

impl Case<'_> {
    pub fn stale(&self, input: &NewInput) -> bool {
        self.now.wall.since(input.sent_at) > self.settings.stale_after
    }

    fn who(&self, input: &NewInput) -> String {
        match input.sender_id.as_str() {
            "" => self.address.channel.as_str().to_owned(),
            sender => format!("{}:{sender}", self.address.channel.as_str()),
        }
    }

    /// An owner's message: control input is handled, anything else is buffered.
    pub fn message(&self, input: &NewInput, edit_of: Option<InboundId>) -> Result<Accepted, InboxError> {
        if let Some(control) = Control::of(input) {
            return self.control(input, &control, edit_of);
        }
        let addressed = input.conversation_kind == ConversationKind::Private
            || input.kind == InputKind::Schedule
            || input.parts.mentions_assistant
            || store::is_buffering(self.tx, self.conversation, &input.sender_id)?;
        if !addressed {
            return self.discard(input, true, "not_addressed");
        }
        self.store(input, InboundState::Buffered, None, edit_of)
    }

    pub fn store(
        &self,
        input: &NewInput,
        state: InboundState,
        reason: Option<&str>,
        edit_of: Option<InboundId>,
    ) -> Result<Accepted, InboxError> {
        let birth = Birth {
            conversation: Some(self.conversation),
            state,
            reason,
            owner: true,
            stale: self.stale(input),
            edit_of,
        };
        let id = store::insert(self.tx, self.now, input, &birth)?;
        let mut entry = Entry::new(audit::Kind::MessageReceived, Actor::Person(self.who(input)))
            .in_conversation(self.conversation)
            .detail("inbound_id", id.0)
            .detail("kind", store::kind_name(input.kind))
            .detail("state", state.as_str())
            .detail("stale", birth.stale);
        if let Some(reason) = reason {
            entry = entry.detail("reason", reason);
        }
        audit::append(self.tx, self.now, entry)?;
        Ok(self.accepted(id, state))
    }

    pub fn discard(&self, input: &NewInput, owner: bool, reason: &str) -> Result<Accepted, InboxError> {
        let birth = Birth {
            conversation: Some(self.conversation),
            state: InboundState::Discarded,
            reason: Some(reason),
            owner,
            stale: false,
            edit_of: None,
        };
        let id = store::insert(self.tx, self.now, input, &birth)?;
        audit::append(
            self.tx,
            self.now,
            Entry::new(audit::Kind::MessageDiscarded, Actor::System)
                .in_conversation(self.conversation)
                .detail("inbound_id", id.0)
                .detail("reason", reason),
        )?;
        Ok(self.accepted(id, InboundState::Discarded))
    }

    fn accepted(&self, id: InboundId, state: InboundState) -> Accepted {
        Accepted { id: Some(id), conversation: Some(self.conversation), fresh: true, state: Some(state), after: None }
    }

    fn stranger(&self, input: &NewInput) -> Result<Accepted, InboxError> {
        let channel = self.address.channel;
        let (id, state) = match owners::stranger(self.tx, self.now, self.settings, self.conversation, channel, input)? {
            Stranger::Refused(id) => (id, InboundState::Discarded),
            Stranger::Paired(id) => (id, InboundState::Control),
        };
        Ok(self.accepted(id, state))
    }

    /// Membership and the like: recorded. A chat with a new id goes on as the same conversation.
    fn service(&self, input: &NewInput, owner: bool) -> Result<Accepted, InboxError> {
        if let Some(to) = &input.parts.migrated_to {
            outbox::move_conversation(self.tx, self.conversation, to)?;
        }
        let birth = Birth {
            conversation: Some(self.conversation),
            state: InboundState::Control,
            reason: Some(if input.parts.migrated_to.is_some() { "migrated" } else { "service" }),
            owner,
            stale: false,
            edit_of: None,
        };
        let id = store::insert(self.tx, self.now, input, &birth)?;
        Ok(self.accepted(id, InboundState::Control))
    }

    /// A button: the decision is made here, and told after the commit.
    fn tap(&self, input: &NewInput, owner: bool) -> Result<Accepted, InboxError> {
        let Some(tap) = &input.parts.tap else { return self.discard(input, owner, "empty_tap") };
        let (mut accepted, text) = if owner {
            let text = self.acts.tap(self.tx, self.now, &tap.data, &input.sender_id)?;
            (self.store(input, InboundState::Control, Some("tap"), None)?, text)
        } else {
            let text =
                self.settings.language.pick("Only the owner can decide this.", "Solo el dueño puede decidir esto.");
            let refused = self.discard(input, false, "not_paired")?;
            audit::append(
                self.tx,
                self.now,
                Entry::new(audit::Kind::SenderRefused, Actor::System)
                    .in_conversation(self.conversation)
                    .detail("what", "tap")
                    .personal("sender_id", input.sender_id.as_str()),
            )?;
            (refused, text.to_owned())
        };
        accepted.after = Some(After::AnswerTap { callback_id: tap.callback_id.clone(), text });
        Ok(accepted)
    }

    fn control(&self, input: &NewInput, control: &Control, edit_of: Option<InboundId>) -> Result<Accepted, InboxError> {
        let accepted = self.store(input, InboundState::Control, Some(control.as_str()), edit_of)?;
        let who = self.who(input);
        let answer = match control {
            Control::Start | Control::Help => answers::help(self.settings),
            Control::Status => answers::status(self.tx, self.now, self.settings, self.conversation)?,
            Control::Approvals => answers::approvals(self.tx, self.settings)?,
            Control::Did(text) => answers::did(self.tx, self.settings, text)?,
            Control::Stop | Control::Reset => {
                let stopped = self.acts.stop(self.tx, self.now, self.conversation, &who)?;
                let actor = Actor::Person(who);
                let discarded =
                    crate::debounce::discard(self.tx, self.now, self.conversation, control.as_str(), &actor)?;
                outbox::cancel_conversation(self.tx, self.conversation)?;
                if *control == Control::Reset {
                    self.tx.execute(
                        "UPDATE conversations SET reset_at = ?2 WHERE id = ?1",
                        rusqlite::params![self.conversation, self.now.wall],
                    )?;
                }
                answers::stopped(self.settings, &stopped, discarded, *control == Control::Reset)
            }
        };
        outbox::enqueue_control(self.tx, self.now, self.conversation, answer)?;
        Ok(accepted)
    }
}
