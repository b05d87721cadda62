//! Opening, starting and stopping.

use std::net::SocketAddr;
use std::sync::Arc;

use super::backup::BackupError;
use super::compose::{Stack, compose};
use super::control::Control;
use super::http_token;
use super::options::AppOptions;
use crate::api::Api;
use crate::approvals::ApprovalError;
use crate::audit::{AnchorError, AnchorWorker};
use crate::channels::http::{ServeError, Server};
use crate::channels::window::WindowChannel;
use crate::config::ConfigError;
use crate::evidence::EvidenceError;
use crate::inbox::Ingress;
use crate::runtime::shutdown::Shutdown;
use crate::store::{Store, StoreError};

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Serve(#[from] ServeError),
    #[error("the control socket cannot be opened: {0}")]
    Control(std::io::Error),
    #[error(transparent)]
    Backup(#[from] BackupError),
    #[error(transparent)]
    Anchor(#[from] AnchorError),
    #[error(transparent)]
    OAuth(#[from] crate::runtime::oauth::OAuthError),
    #[error("the calendar cannot be set up: {0}")]
    Calendar(#[from] crate::domain::ports::CalendarError),
    #[error("no connections can be made: {0}")]
    Http(#[from] reqwest::Error),
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
    #[error(transparent)]
    Approval(#[from] ApprovalError),
}

impl StartError {
    /// Another instance holds the data folder.
    pub fn is_in_use(&self) -> bool {
        matches!(self, Self::Store(StoreError::InUse(_)))
    }
}

/// A composed assistant. Until [`App::start`] it only answers requests.
pub struct App {
    stack: Stack,
    shutdown: Shutdown,
    started: bool,
}

/// What a host tells about a start.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Started {
    /// Where the local API listens.
    pub http: Option<SocketAddr>,
    /// For a person: where a new token is, and the like.
    pub notes: Vec<String>,
}

impl App {
    /// Takes the instance lock, opens the database and composes the stages. Nothing runs yet.
    pub async fn open(options: AppOptions) -> Result<Self, StartError> {
        crate::runtime::tls::install_provider();
        // Opening reads and migrates: not on a runtime's thread, except on a virtual clock, which must not run on meanwhile.
        let stack = match options.mode {
            crate::store::StoreMode::Inline => compose(options)?,
            crate::store::StoreMode::Threaded => tokio::task::spawn_blocking(move || compose(options))
                .await
                .map_err(|error| StoreError::Panicked(error.to_string()))??,
        };
        Ok(Self { stack, shutdown: Shutdown::new(), started: false })
    }

    /// Starts every worker, the control socket and, where it is on, the local API.
    pub async fn start(&mut self) -> Result<Started, StartError> {
        let stack = &self.stack;
        let control = Control::bind(&stack.folder, stack.api.clone()).map_err(StartError::Control)?;
        let mut started = Started::default();
        if let Some(bind) = stack.bind() {
            let token = http_token::ready(
                stack.http_token(),
                &stack.config.http.token,
                &stack.secrets,
                &stack.folder,
                &*stack.ids,
            )
            .await?;
            started.notes = token.notes;
            let sessions = Arc::new(stack.sessions());
            let server = Server::bind(bind, sessions, stack.http.clone(), token.secret, self.shutdown.token()).await?;
            started.http = Some(server.address());
            // The server stops by itself at the signal, so that requests under way get their answer.
            self.shutdown.spawn_until_done(server.run());
        }
        self.shutdown.spawn("control", control.run());
        self.start_stages();
        self.stack.tool_servers.start(&self.stack.registry, &self.shutdown);
        self.stack.host.started(started.http);
        self.started = true;
        Ok(started)
    }

    /// The workers alone: replays need neither socket nor API.
    pub(super) fn start_stages(&self) {
        let (stack, shutdown) = (&self.stack, &self.shutdown);
        shutdown.spawn("evidence", stack.evidence().run());
        shutdown.spawn("approvals", stack.approvals().run());
        if let Some(aftercare) = stack.aftercare() {
            shutdown.spawn("aftercare", aftercare.run());
        }
        shutdown.spawn("outbox", stack.outbox().run());
        if !stack.without.typing {
            shutdown.spawn("typing", stack.typing().run());
        }
        shutdown.spawn("turns", stack.turns().run());
        shutdown.spawn("debounce", stack.debounce().run());
        shutdown.spawn("schedules", stack.schedules().run());
        if let Some(inbox) = stack.inbox() {
            shutdown.spawn("inbox", inbox.run());
        }
        if let Some(mail) = stack.mail() {
            shutdown.spawn("mail", mail.run());
        }
        if let Some(media) = stack.media() {
            shutdown.spawn("media", media.run());
        }
        if let Some(summary) = stack.summary() {
            shutdown.spawn("summary", summary.run());
        }
        let (anchors, store, clock) = (stack.anchors.clone(), stack.store.clone(), stack.clock.clone());
        shutdown.spawn("anchor", AnchorWorker { anchors, store, clock }.run());
    }

    pub fn api(&self) -> &Api {
        &self.stack.api
    }

    pub fn store(&self) -> &Store {
        &self.stack.store
    }

    /// Where the window and other hosts hand in messages.
    pub fn ingress(&self) -> &Ingress {
        &self.stack.ingress
    }

    pub fn window(&self) -> &Arc<WindowChannel> {
        &self.stack.window
    }

    pub(super) fn stack(&self) -> &Stack {
        &self.stack
    }

    /// Ends as a killed process would: nothing is finished, nothing is kept beyond what is committed.
    pub(super) async fn kill(self) {
        self.shutdown.stop().await;
    }

    /// Stops the workers at their next wait, anchors the log, keeps the clock and lets the folder go.
    pub async fn stop(self) {
        self.shutdown.stop().await;
        if self.started
            && let Err(error) = self.stack.anchors.anchor(&self.stack.store, &*self.stack.clock).await
        {
            tracing::warn!(%error, "the audit log could not be anchored at the end");
        }
        if let Err(error) = self.stack.store.close().await {
            tracing::warn!(%error, "the elapsed clock could not be kept");
        }
    }
}
