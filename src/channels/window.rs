//! The window as a channel: what is delivered is a row that the window shows, now or when it opens.
//!
//! In: parts to deliver, edits, typing signals. Out: events for an open window.
//! A delivery here cannot fail: the row is the message.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::broadcast;

use crate::domain::conversation::{Address, Capabilities, ChannelKind};
use crate::domain::ports::{Channel, IdSource, OutboundPart, SendOutcome};

/// Events beyond this many that no window has read are dropped; it reads rows again anyway.
const BACKLOG: usize = 64;

/// What an open window may want to show at once.
#[derive(Clone, PartialEq, Debug)]
pub enum WindowEvent {
    Delivered { to: Address, external_id: String },
    Edited { to: Address, external_id: String, markdown: String },
    Typing { to: Address },
}

/// The window's channel.
pub struct WindowChannel {
    events: broadcast::Sender<WindowEvent>,
    ids: Arc<dyn IdSource>,
}

impl WindowChannel {
    pub fn new(ids: Arc<dyn IdSource>) -> Self {
        Self { events: broadcast::channel(BACKLOG).0, ids }
    }

    pub fn events(&self) -> broadcast::Receiver<WindowEvent> {
        self.events.subscribe()
    }

    fn tell(&self, event: WindowEvent) {
        // silent-ok: no window is open.
        let _ = self.events.send(event);
    }
}

#[async_trait]
impl Channel for WindowChannel {
    fn kind(&self) -> ChannelKind {
        ChannelKind::Window
    }

    fn capabilities(&self, _to: &Address) -> Capabilities {
        Capabilities { immediate: true, typing: true, edit: true, buttons: true }
    }

    fn split(&self, markdown: &str) -> Vec<String> {
        vec![markdown.to_owned()]
    }

    async fn send(&self, part: &OutboundPart) -> SendOutcome {
        let external_id = format!("window:{}", self.ids.token());
        self.tell(WindowEvent::Delivered { to: part.to.clone(), external_id: external_id.clone() });
        SendOutcome::Delivered { external_id: Some(external_id) }
    }

    async fn edit(&self, external_id: &str, part: &OutboundPart) -> SendOutcome {
        self.tell(WindowEvent::Edited {
            to: part.to.clone(),
            external_id: external_id.to_owned(),
            markdown: part.markdown.clone(),
        });
        SendOutcome::Delivered { external_id: Some(external_id.to_owned()) }
    }

    async fn typing(&self, to: &Address) {
        self.tell(WindowEvent::Typing { to: to.clone() });
    }

    async fn answer_tap(&self, _callback_id: &str, _text: &str) {
        // The window's own buttons get their answer as the result of the command.
    }
}
