//! What only the composed program knows: states of its edges and the place of its files.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;

use super::backup::write_backup;
use super::compose::Seen;
use super::tool_servers::ToolServers;
use crate::api::{EdgeStatus, Failure, FailureCode, Host, HostStatus};
use crate::config::Config;
use crate::domain::ports::{Calendar, ChatModel, MailSender};
use crate::inbox::{Health, SourceState};
use crate::store::DataFolder;

pub(super) struct AppHost {
    folder: DataFolder,
    seen: Seen,
    telegram: Health,
    telegram_url: String,
    provider: &'static str,
    model: String,
    mail: (&'static str, String),
    calendar: (&'static str, String),
    tool_servers: ToolServers,
    http: Mutex<Option<SocketAddr>>,
    running: AtomicBool,
}

impl AppHost {
    pub(super) fn new(
        config: &Config,
        folder: &DataFolder,
        seen: Seen,
        telegram: Health,
        model: &Arc<dyn ChatModel>,
        calendar: &Arc<dyn Calendar>,
        sender: &Arc<dyn MailSender>,
    ) -> Self {
        Self {
            folder: folder.clone(),
            seen,
            telegram,
            telegram_url: config.telegram.api_url.clone(),
            provider: config.model.provider.as_str(),
            model: model.name(),
            mail: (sender.backend(), sender.account().to_string()),
            calendar: (calendar.backend(), calendar.account().to_string()),
            tool_servers: ToolServers::default(),
            http: Mutex::default(),
            running: AtomicBool::new(false),
        }
    }

    pub(super) fn with_tool_servers(self, tool_servers: ToolServers) -> Self {
        Self { tool_servers, ..self }
    }

    pub(super) fn started(&self, http: Option<SocketAddr>) {
        *self.http.lock().unwrap_or_else(PoisonError::into_inner) = http;
        self.running.store(true, Ordering::Relaxed);
    }
}

#[async_trait]
impl Host for AppHost {
    fn status(&self) -> HostStatus {
        let telegram = self.telegram.status();
        let reason = match telegram.state {
            SourceState::Receiving | SourceState::Off => None,
            SourceState::Conflict | SourceState::Unauthorized | SourceState::Offline => telegram.reason,
        };
        let http = *self.http.lock().unwrap_or_else(PoisonError::into_inner);
        HostStatus {
            running: self.running.load(Ordering::Relaxed),
            telegram: EdgeStatus {
                state: telegram.state.as_str().to_owned(),
                reason,
                name: self.telegram_url.clone(),
                account: telegram.account,
                last_at: telegram.last_poll_at,
            },
            model: self.seen.model.status(self.provider, Some(self.model.clone())),
            mail: self.seen.mail.status(self.mail.0, Some(self.mail.1.clone())),
            calendar: self.seen.calendar.status(self.calendar.0, Some(self.calendar.1.clone())),
            http: EdgeStatus {
                state: if http.is_some() { "listening" } else { "off" }.to_owned(),
                name: http.map(|address| format!("http://{address}")).unwrap_or_default(),
                ..EdgeStatus::default()
            },
            keychain: self.seen.keychain.status("keychain", None),
            mcp: self.tool_servers.status(),
        }
    }

    async fn backup(&self, file: PathBuf) -> Result<(), Failure> {
        let folder = self.folder.clone();
        let written = tokio::task::spawn_blocking(move || write_backup(&folder, &file)).await;
        match written {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(Failure::new(FailureCode::Unavailable, error.to_string())),
            Err(error) => Err(Failure::new(FailureCode::Internal, error.to_string())),
        }
    }
}
