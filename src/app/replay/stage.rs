//! The played outside: a person who writes at given times, and a channel that keeps what it delivers.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;

use super::scenario::{ChannelFault, Message, Scenario};
use crate::domain::conversation::{Address, Capabilities, ChannelKind, ConversationKind};
use crate::domain::message::{InputKind, NewInput, Parts, Tap};
use crate::domain::ports::{Batch, Channel, Clock, InboundSource, OutboundPart, PollError, SendOutcome};
use crate::domain::time::{Elapsed, Wall};

/// User id of the person, who is an owner.
pub(super) const PERSON: i64 = 1;
/// Our id on the played channel.
const ACCOUNT: &str = "replay";
/// A poll without a message ends after this long, as Telegram's does.
const POLL: Duration = Duration::from_secs(30);

/// The person's side of the channel. Goes on over restarts of the app.
pub(super) struct Person {
    clock: Arc<dyn Clock>,
    start: Elapsed,
    messages: Vec<Message>,
    wire: Arc<Wire>,
}

/// What was delivered, and the signals in between.
#[derive(Default)]
pub(super) struct Wire {
    sent: Mutex<Vec<OutboundPart>>,
    faults: Mutex<Vec<(usize, ChannelFault)>>,
    attempts: Mutex<usize>,
    typing: Mutex<Vec<Elapsed>>,
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Person {
    pub(super) fn new(scenario: &Scenario, clock: Arc<dyn Clock>, wire: Arc<Wire>) -> Self {
        let start = clock.now().elapsed;
        Self { clock, start, messages: scenario.messages.clone(), wire }
    }

    fn due(&self, index: usize) -> Option<Elapsed> {
        self.messages.get(index).map(|message| self.start.plus(message.at))
    }

    fn input(&self, index: usize) -> Option<NewInput> {
        let message = self.messages.get(index)?;
        let original = message.redelivers.map_or(index, |number| number.saturating_sub(1));
        let said = self.messages.get(original)?;
        let sent_at = Wall(self.clock.now().wall.0);
        let mut input = NewInput {
            address: Some(address()),
            conversation_kind: ConversationKind::Private,
            conversation_title: "Replay".to_owned(),
            kind: InputKind::Message,
            dedupe_key: format!("telegram:{ACCOUNT}:{PERSON}:{}", original + 1),
            external_id: Some((original + 1).to_string()),
            sender_id: PERSON.to_string(),
            sender_name: String::new(),
            owner: false,
            text: said.text.clone(),
            parts: Parts::default(),
            sent_at,
        };
        if let Some(press) = said.press {
            let callback_id = format!("press-{}", original + 1);
            input.kind = InputKind::Tap;
            input.dedupe_key = format!("telegram:{ACCOUNT}:tap:{callback_id}");
            let data = self.wire.button(press.card, press.approve)?;
            input.parts.tap = Some(Tap { callback_id, data, external_id: None });
        }
        Some(input)
    }
}

fn address() -> Address {
    Address {
        channel: ChannelKind::Telegram,
        account: ACCOUNT.to_owned(),
        contact: PERSON.to_string(),
        thread: String::new(),
    }
}

#[async_trait]
impl InboundSource for Person {
    fn kind(&self) -> ChannelKind {
        ChannelKind::Telegram
    }

    async fn account(&self) -> Result<String, PollError> {
        Ok(ACCOUNT.to_owned())
    }

    async fn poll(&self, cursor: Option<i64>) -> Result<Batch, PollError> {
        let next = cursor.and_then(|cursor| usize::try_from(cursor).ok()).unwrap_or(0);
        let now = self.clock.now().elapsed;
        let wait = self.due(next).map_or(POLL, |due| due.since(now).min(POLL));
        if !wait.is_zero() {
            self.clock.sleep(wait).await;
        }
        let now = self.clock.now().elapsed;
        let mut batch = Batch { inputs: Vec::new(), next_cursor: cursor.unwrap_or(0) };
        let mut index = next;
        while self.due(index).is_some_and(|due| due <= now) {
            batch.inputs.extend(self.input(index));
            index += 1;
            batch.next_cursor = i64::try_from(index).unwrap_or(i64::MAX);
        }
        Ok(batch)
    }

    async fn fetch(&self, file: &str) -> Result<Vec<u8>, PollError> {
        Err(PollError::Offline { reason: format!("a replay has no file {file}") })
    }
}

impl Wire {
    pub(super) fn new(faults: Vec<(usize, ChannelFault)>) -> Self {
        Self { faults: Mutex::new(faults), ..Self::default() }
    }

    /// Every part that arrived, in order.
    pub(super) fn sent(&self) -> Vec<OutboundPart> {
        locked(&self.sent).clone()
    }

    pub(super) fn typing(&self) -> Vec<Elapsed> {
        locked(&self.typing).clone()
    }

    /// Data of the button on the n-th card.
    fn button(&self, card: usize, approve: bool) -> Option<String> {
        let wanted = if approve { "a:" } else { "d:" };
        locked(&self.sent)
            .iter()
            .filter_map(|part| part.buttons.iter().flatten().find(|(_, data)| data.starts_with(wanted)))
            .nth(card.saturating_sub(1))
            .map(|(_, data)| data.clone())
    }
}

/// The channel's side that we send through.
pub(super) struct PlayedChannel {
    pub(super) wire: Arc<Wire>,
    pub(super) clock: Arc<dyn Clock>,
}

#[async_trait]
impl Channel for PlayedChannel {
    fn kind(&self) -> ChannelKind {
        ChannelKind::Telegram
    }

    fn capabilities(&self, _to: &Address) -> Capabilities {
        Capabilities { immediate: true, typing: true, edit: true, buttons: true }
    }

    fn split(&self, markdown: &str) -> Vec<String> {
        vec![markdown.to_owned()]
    }

    async fn send(&self, part: &OutboundPart) -> SendOutcome {
        let attempt = {
            let mut attempts = locked(&self.wire.attempts);
            *attempts += 1;
            *attempts
        };
        let fault = locked(&self.wire.faults).iter().find(|(send, _)| *send == attempt).map(|(_, how)| *how);
        if fault == Some(ChannelFault::NotSent) {
            return SendOutcome::NotSent { reason: "the network is down".to_owned(), retry_after: None };
        }
        let external_id = {
            let mut sent = locked(&self.wire.sent);
            sent.push(part.clone());
            sent.len().to_string()
        };
        match fault {
            Some(ChannelFault::LostAnswer) => SendOutcome::Uncertain { reason: "no answer came".to_owned() },
            Some(ChannelFault::NotSent) | None => SendOutcome::Delivered { external_id: Some(external_id) },
        }
    }

    async fn edit(&self, external_id: &str, _part: &OutboundPart) -> SendOutcome {
        SendOutcome::Delivered { external_id: Some(external_id.to_owned()) }
    }

    async fn typing(&self, _to: &Address) {
        locked(&self.wire.typing).push(self.clock.now().elapsed);
    }

    async fn answer_tap(&self, _callback_id: &str, _text: &str) {}
}
