//! The channels that messages go out through.

use std::collections::HashMap;
use std::sync::Arc;

use crate::domain::conversation::{Address, Capabilities, ChannelKind};
use crate::domain::ports::Channel;

/// By kind; a channel that is off is absent.
#[derive(Clone, Default)]
pub struct Channels(HashMap<ChannelKind, Arc<dyn Channel>>);

impl Channels {
    pub fn new(channels: impl IntoIterator<Item = Arc<dyn Channel>>) -> Self {
        Self(channels.into_iter().map(|channel| (channel.kind(), channel)).collect())
    }

    pub fn get(&self, kind: ChannelKind) -> Option<&Arc<dyn Channel>> {
        self.0.get(&kind)
    }

    /// What can be done at `to` right now; nothing where the channel is off.
    pub fn capabilities(&self, to: &Address) -> Capabilities {
        self.get(to.channel)
            .map_or(Capabilities { immediate: false, typing: false, edit: false, buttons: false }, |channel| {
                channel.capabilities(to)
            })
    }
}
