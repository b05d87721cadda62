//! What a server may say by itself: that its tools changed, how far a call is, and log lines.

use std::sync::Arc;

use rmcp::ClientHandler;
use rmcp::model::{ClientCapabilities, ClientConfig, Implementation, ProgressNotificationParam};
use rmcp::service::{NotificationContext, RoleClient};
use tokio::sync::Notify;

use crate::runtime::redact::redact;

/// Offers nothing to the server: no sampling, no roots, no elicitation.
#[derive(Clone)]
pub(super) struct Handler {
    pub server: String,
    /// Told once however often the list changed meanwhile.
    pub list_changed: Arc<Notify>,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(ClientCapabilities::default(), Implementation::new("unavez", env!("CARGO_PKG_VERSION")))
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.list_changed.notify_one();
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _context: NotificationContext<RoleClient>) {
        let message: String = params.message.unwrap_or_default().chars().take(200).collect();
        tracing::debug!(
            server = self.server,
            progress = params.progress,
            total = params.total,
            message = redact(&message),
            "a tool server reports progress"
        );
    }
}
