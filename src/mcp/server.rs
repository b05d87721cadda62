//! One server: kept running, listed, called.

use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use rmcp::ServiceExt;
use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest};
use rmcp::service::{Peer, PeerRequestOptions, RoleClient, RunningServiceCancellationToken};
use serde_json::{Map, Value};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::child::{self, Group};
use super::handler::Handler;
use super::settings::{Settings, Transport};
use super::{http, listing, outcome};
use crate::domain::ports::{Clock, IdSource};
use crate::domain::tool_server::{CallOutcome, OfferedTool, ServerState, ToolServer};
use crate::runtime::backoff;
use crate::runtime::failpoint;
use crate::runtime::redact::redact;

/// Between two readings of a list that keeps changing.
const LIST_PAUSE: Duration = Duration::from_secs(1);
/// A server that ran this long starts its waits anew.
const STEADY: Duration = Duration::from_secs(60);
/// For a server to end by itself after its input is closed; then its whole group is killed.
const GOODBYE: Duration = Duration::from_secs(3);
/// Beyond the call's own time, for a transport that hangs as well.
const GRACE: Duration = Duration::from_secs(2);

/// What the last run of the server showed.
#[derive(Clone, Default)]
struct Seen {
    state: ServerState,
    tools: Arc<Vec<OfferedTool>>,
}

/// A configured server. Cheap to share; [`McpServer::run`] is its life.
pub struct McpServer {
    settings: Settings,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    peer: Mutex<Option<Peer<RoleClient>>>,
    seen: watch::Sender<Seen>,
    /// A call found the connection useless.
    renew: Notify,
}

/// A connection that stands.
struct Connection {
    peer: Peer<RoleClient>,
    /// Closes it; `ended` then waits for the server to go.
    stop: RunningServiceCancellationToken,
    ended: Pin<Box<dyn Future<Output = ()> + Send>>,
    list_changed: Arc<Notify>,
    /// Ends the processes when the connection is dropped.
    group: Option<Group>,
}

impl McpServer {
    pub fn new(settings: Settings, clock: Arc<dyn Clock>, ids: Arc<dyn IdSource>) -> Self {
        let seen = watch::Sender::new(Seen::default());
        Self { settings, clock, ids, peer: Mutex::default(), seen, renew: Notify::new() }
    }

    /// Told at every change of state or tools.
    pub fn watch(&self) -> Watch {
        Watch(self.seen.subscribe())
    }

    /// Starts the server, starts it again when it ends, and ends it at `stop`.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        let mut failures = 0;
        loop {
            let since = self.clock.now().elapsed;
            let reason = tokio::select! {
                () = stop.cancelled() => break,
                connected = self.connect() => match connected {
                    Ok(connection) => match self.serve(connection, &stop).await {
                        Some(reason) => reason,
                        None => break,
                    },
                    Err(reason) => reason,
                },
            };
            let server = &self.settings.name;
            tracing::warn!(server, reason, "a tool server is not running; it is started again");
            self.seen.send_modify(|seen| seen.state = ServerState::Failing { reason });
            failures = if self.clock.now().elapsed.since(since) >= STEADY { 0 } else { failures };
            let (first, most) = (self.settings.restart_first, self.settings.restart_most);
            let wait = backoff::doubling(first, most, failures, self.ids.fraction());
            failures += 1;
            tokio::select! {
                () = stop.cancelled() => break,
                () = self.clock.sleep(wait) => {}
            }
        }
        self.seen.send_modify(|seen| seen.state = ServerState::Stopped);
    }

    /// Starts it once, reads its list and ends it: the number of tools, or what is wrong.
    pub async fn check(&self) -> Result<usize, String> {
        let connection = self.connect().await?;
        let tools = self.seen.borrow().tools.len();
        self.close(connection).await;
        Ok(tools)
    }

    async fn connect(&self) -> Result<Connection, String> {
        let limit = self.settings.start_timeout;
        match tokio::time::timeout(limit, self.connect_and_list()).await {
            Ok(connected) => connected.map_err(|reason| redact(&reason)),
            Err(_) => Err(format!("it did not start within {} s", limit.as_secs())),
        }
    }

    async fn connect_and_list(&self) -> Result<Connection, String> {
        let list_changed = Arc::new(Notify::new());
        let handler = Handler { server: self.settings.name.clone(), list_changed: list_changed.clone() };
        let (service, group) = match &self.settings.transport {
            Transport::Command { command, env } => {
                let child = child::start(&self.settings.name, command, env)?;
                let group = child.group;
                (handler.serve(child.transport).await.map_err(|error| error.to_string())?, Some(group))
            }
            Transport::Url(url) => (handler.serve(http::connect(url)?).await.map_err(|error| error.to_string())?, None),
        };
        let (peer, stop) = (service.peer().clone(), service.cancellation_token());
        let ended = Box::pin(async move {
            if let Err(error) = service.waiting().await {
                tracing::warn!(%error, "the connection to a tool server failed");
            }
        });
        let connection = Connection { peer, stop, ended, list_changed, group };
        self.refresh(&connection.peer).await?;
        Ok(connection)
    }

    async fn refresh(&self, peer: &Peer<RoleClient>) -> Result<(), String> {
        let tools = listing::list(&self.settings.name, peer).await;
        let tools = Arc::new(tools.map_err(|error| format!("its tools cannot be listed: {error}"))?);
        self.seen.send_if_modified(|seen| {
            let changed = seen.tools != tools;
            seen.tools = tools;
            changed
        });
        Ok(())
    }

    /// Until the connection ends (why), or `stop` (`None`).
    async fn serve(&self, mut connection: Connection, stop: &CancellationToken) -> Option<String> {
        self.set_peer(Some(connection.peer.clone()));
        self.seen.send_modify(|seen| seen.state = ServerState::Running);
        let reason = loop {
            tokio::select! {
                () = stop.cancelled() => break None,
                () = self.renew.notified() => break Some("the connection has to be made anew".to_owned()),
                () = &mut connection.ended => {
                    connection.ended = Box::pin(std::future::ready(()));
                    break Some("it ended".to_owned());
                }
                () = connection.list_changed.notified() => {
                    let limit = self.settings.start_timeout;
                    match tokio::time::timeout(limit, self.refresh(&connection.peer)).await {
                        Ok(Ok(())) => {}
                        Ok(Err(reason)) => break Some(redact(&reason)),
                        Err(_) => break Some(format!("its tools were not listed within {} s", limit.as_secs())),
                    }
                    // However often it changes its mind.
                    self.clock.sleep(LIST_PAUSE).await;
                }
            }
        };
        self.set_peer(None);
        self.close(connection).await;
        reason
    }

    async fn close(&self, connection: Connection) {
        connection.stop.cancel();
        if tokio::time::timeout(GOODBYE, connection.ended).await.is_err() {
            tracing::warn!(server = self.settings.name, "the tool server does not end by itself: it is killed");
        }
        drop(connection.group);
    }

    fn set_peer(&self, peer: Option<Peer<RoleClient>>) {
        *self.peer.lock().unwrap_or_else(PoisonError::into_inner) = peer;
    }

    fn peer(&self) -> Option<Peer<RoleClient>> {
        self.peer.lock().unwrap_or_else(PoisonError::into_inner).clone().filter(|peer| !peer.is_transport_closed())
    }

    /// Waits while it starts for the first time; one that failed is not waited for.
    async fn started(&self) {
        let mut seen = self.seen.subscribe();
        let mut up = pin!(seen.wait_for(|seen| seen.state != ServerState::Starting));
        // silent-ok: the caller looks for the connection itself.
        let _ = tokio::time::timeout(self.settings.start_timeout, &mut up).await;
    }

    fn not_running(&self) -> CallOutcome {
        let reason = match &self.seen.borrow().state {
            ServerState::Failing { reason } => {
                format!("the tool server {} is not running: {reason}", self.settings.name)
            }
            ServerState::Starting | ServerState::Running | ServerState::Stopped => {
                format!("the tool server {} is not running", self.settings.name)
            }
        };
        CallOutcome::NotSent { reason }
    }
}

/// See [`McpServer::watch`].
pub struct Watch(watch::Receiver<Seen>);

impl Watch {
    /// `false`: the server is gone for good.
    pub async fn changed(&mut self) -> bool {
        self.0.changed().await.is_ok()
    }
}

#[async_trait]
impl ToolServer for McpServer {
    fn name(&self) -> &str {
        &self.settings.name
    }

    fn state(&self) -> ServerState {
        self.seen.borrow().state.clone()
    }

    fn tools(&self) -> Arc<Vec<OfferedTool>> {
        self.seen.borrow().tools.clone()
    }

    async fn call(&self, tool: &str, arguments: Map<String, Value>) -> CallOutcome {
        self.started().await;
        let Some(peer) = self.peer() else { return self.not_running() };
        if let Err(failed) = failpoint::hit("mcp.before_request") {
            return CallOutcome::NotSent { reason: failed.to_string() };
        }
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let (limit, options) = (self.settings.timeout, PeerRequestOptions::with_timeout(self.settings.timeout));
        // Until it is handed over, it has not left.
        let handle = match tokio::time::timeout(limit, peer.send_request_with_option(request, options)).await {
            Ok(Ok(handle)) => handle,
            Ok(Err(_)) => return self.not_running(),
            Err(_) => return CallOutcome::NotSent { reason: "the tool server takes no requests".to_owned() },
        };
        let outcome = match tokio::time::timeout(limit + GRACE, handle.await_response()).await {
            Ok(answer) => outcome::of(answer),
            Err(_) => outcome::lost(&format!("no answer in {} s", limit.as_secs())),
        };
        if matches!(outcome, CallOutcome::NotSent { .. }) {
            self.renew.notify_one();
        }
        match failpoint::hit("mcp.after_reply") {
            Ok(()) => outcome,
            Err(failed) => outcome::lost(&failed.to_string()),
        }
    }
}
