//! The way out: a session can be reached at once only while somebody listens to its events.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;

use crate::domain::conversation::{Address, Capabilities, ChannelKind};
use crate::domain::ports::{Channel, OutboundPart, SendOutcome};

/// Counts the listeners per session.
#[derive(Clone, Default)]
pub struct HttpChannel {
    listeners: Arc<Mutex<HashMap<String, usize>>>,
}

/// One listener, as long as it lives.
pub(super) struct Listening {
    session: String,
    listeners: Arc<Mutex<HashMap<String, usize>>>,
}

impl HttpChannel {
    pub(super) fn listen(&self, session: &str) -> Listening {
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        *listeners.entry(session.to_owned()).or_default() += 1;
        Listening { session: session.to_owned(), listeners: self.listeners.clone() }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = listeners.get_mut(&self.session) {
            *count -= 1;
            if *count == 0 {
                listeners.remove(&self.session);
            }
        }
    }
}

#[async_trait]
impl Channel for HttpChannel {
    fn kind(&self) -> ChannelKind {
        ChannelKind::Http
    }

    fn capabilities(&self, to: &Address) -> Capabilities {
        let listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        Capabilities { immediate: listeners.contains_key(&to.contact), typing: false, edit: false, buttons: false }
    }

    fn split(&self, markdown: &str) -> Vec<String> {
        vec![markdown.to_owned()]
    }

    /// The row is the delivery: listeners and the waiting caller read it once it is marked.
    async fn send(&self, _part: &OutboundPart) -> SendOutcome {
        SendOutcome::Delivered { external_id: None }
    }

    async fn edit(&self, _external_id: &str, _part: &OutboundPart) -> SendOutcome {
        SendOutcome::Refused {
            reason: "the local API cannot edit what it delivered".to_owned(),
            kind: crate::domain::ports::SendRefusal::Other,
        }
    }

    async fn typing(&self, _to: &Address) {}

    async fn answer_tap(&self, _callback_id: &str, _text: &str) {}
}
