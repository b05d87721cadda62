//! Servers of tools by the configuration: started with the program, their tools in the registry, their state shown.

use std::collections::HashMap;
use std::sync::Arc;

use crate::api::EdgeStatus;
use crate::config::{Config, McpTransport};
use crate::domain::ports::{Clock, IdSource};
use crate::domain::tool_server::{ServerState, ToolServer};
use crate::evidence::Targets;
use crate::mcp::{self, McpServer};
use crate::runtime::shutdown::Shutdown;
use crate::store::Store;
use crate::tools::targets::McpTarget;
use crate::tools::{Effects, Registry, ServerAccess, ToolRule, server_names, server_tools};

/// Every configured server. Cheap to clone; every clone sees the same servers.
#[derive(Clone, Default)]
pub(super) struct ToolServers(Arc<Vec<Configured>>);

struct Configured {
    server: Arc<McpServer>,
    /// Program or address.
    place: String,
    access: ServerAccess,
    /// Another server has the same prefix: this one is not started.
    taken_by: Option<String>,
}

impl ToolServers {
    pub(super) fn new(
        config: &Config,
        effects: &Effects,
        store: &Store,
        clock: &Arc<dyn Clock>,
        ids: &Arc<dyn IdSource>,
    ) -> Self {
        let mut prefixes: HashMap<String, String> = HashMap::new();
        let servers = config.mcp.servers.iter().map(|(name, from)| {
            let (transport, place) = match &from.transport {
                McpTransport::Command(command) => {
                    let transport = mcp::Transport::Command { command: command.clone(), env: from.env.clone() };
                    (transport, command.first().cloned().unwrap_or_default())
                }
                McpTransport::Url(url) => (mcp::Transport::Url(url.clone()), url.clone()),
            };
            let settings = mcp::Settings { timeout: from.timeout, ..mcp::Settings::new(name, transport) };
            let server = Arc::new(McpServer::new(settings, clock.clone(), ids.clone()));
            let prefix = server_names::prefix(name);
            let taken_by = prefixes.get(&prefix).cloned();
            prefixes.entry(prefix.clone()).or_insert_with(|| name.clone());
            let access = ServerAccess {
                server: server.clone(),
                prefix,
                trust_annotations: from.trust_annotations,
                rules: rules(config, name),
                effects: effects.clone(),
                store: store.clone(),
            };
            Configured { server, place, access, taken_by }
        });
        Self(Arc::new(servers.collect()))
    }

    fn usable(&self) -> impl Iterator<Item = &Configured> {
        self.0.iter().filter(|one| one.taken_by.is_none())
    }

    /// Makes each a target of effects, so that what was approved finds it after a restart.
    pub(super) fn register(&self, targets: &Targets) {
        for one in self.usable() {
            let target = McpTarget::new(one.server.clone(), one.access.prefix.clone());
            targets.set(one.access.target(), Arc::new(target));
        }
    }

    /// Starts them; their tools come and go in `registry`.
    pub(super) fn start(&self, registry: &Arc<Registry>, shutdown: &Shutdown) {
        for one in self.usable() {
            shutdown.spawn("tool list", follow(one.server.clone(), one.access.clone(), registry.clone()));
            // It ends the server's process at the signal, in its own time.
            shutdown.spawn_until_done(one.server.clone().run(shutdown.token()));
        }
    }

    pub(super) fn status(&self) -> Vec<EdgeStatus> {
        self.0.iter().map(Configured::status).collect()
    }

    /// Starts each once: the number of its tools, or what is wrong.
    pub(super) async fn check(&self) -> Vec<(String, Result<usize, String>)> {
        let checks = self.0.iter().map(|one| async move {
            let found = match &one.taken_by {
                Some(other) => Err(same_prefix(other)),
                None => one.server.check().await,
            };
            (one.server.name().to_owned(), found)
        });
        futures::future::join_all(checks).await
    }
}

impl Configured {
    fn status(&self) -> EdgeStatus {
        let (state, reason) = match (&self.taken_by, self.server.state()) {
            (Some(other), _) => ("failing", Some(same_prefix(other))),
            (None, ServerState::Starting) => ("starting", None),
            (None, ServerState::Running) => ("ok", None),
            (None, ServerState::Failing { reason }) => ("failing", Some(reason)),
            (None, ServerState::Stopped) => ("stopped", None),
        };
        EdgeStatus {
            state: state.to_owned(),
            reason,
            name: self.server.name().to_owned(),
            account: Some(self.place.clone()),
            last_at: None,
        }
    }
}

fn same_prefix(other: &str) -> String {
    format!("its tools would be called like those of {other}; give it another name")
}

/// The rules for tools of `server`, by the tools' own names.
fn rules(config: &Config, server: &str) -> HashMap<String, ToolRule> {
    let prefix = format!("mcp:{server}/");
    let own = config.guard.tools.iter().filter_map(|(name, rule)| {
        let tool = name.strip_prefix(&prefix)?.to_owned();
        Some((tool, ToolRule { kind: rule.kind, identity: rule.identity.clone(), window: rule.window }))
    });
    own.collect()
}

/// Keeps the registry as the server's list is.
async fn follow(server: Arc<McpServer>, access: ServerAccess, registry: Arc<Registry>) {
    let (mut watch, prefix) = (server.watch(), format!("{}__", access.prefix));
    loop {
        registry.replace(&prefix, server_tools(&access));
        if !watch.changed().await {
            break;
        }
    }
}
