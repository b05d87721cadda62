//! The MCP edge against the reference servers on standard input and output: everything, filesystem, memory.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use unavez::domain::time::Elapsed;
use unavez::domain::tool_server::{CallOutcome, ServerState, ToolServer};
use unavez::mcp::{McpServer, Settings, Transport};
use unavez::runtime::clock::{BootReading, SystemClock};
use unavez::runtime::ids::RandomIds;

use crate::servers::installed;

struct Reference {
    server: Arc<McpServer>,
    stop: CancellationToken,
    life: tokio::task::JoinHandle<()>,
}

impl Reference {
    async fn start(name: &str, arguments: &[&str], env: &[(&str, &str)]) -> Option<Self> {
        let program = installed("MCP reference servers", &format!("npm/node_modules/.bin/mcp-server-{name}"))?;
        let mut command = vec![program.display().to_string()];
        command.extend(arguments.iter().map(|argument| (*argument).to_owned()));
        let env: BTreeMap<_, _> = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let settings = Settings::new(name, Transport::Command { command, env });
        let clock = Arc::new(SystemClock::starting(Elapsed(0), &BootReading::take()));
        let server = Arc::new(McpServer::new(settings, clock, Arc::new(RandomIds)));
        let stop = CancellationToken::new();
        let life = tokio::spawn(server.clone().run(stop.clone()));
        let mut watch = server.watch();
        while server.state() == ServerState::Starting {
            assert!(watch.changed().await);
        }
        assert_eq!(server.state(), ServerState::Running, "{name}");
        Some(Self { server, stop, life })
    }

    async fn call(&self, tool: &str, arguments: Value) -> CallOutcome {
        let Value::Object(arguments) = arguments else { panic!("no object") };
        self.server.call(tool, arguments).await
    }

    async fn text(&self, tool: &str, arguments: Value) -> String {
        match self.call(tool, arguments).await {
            CallOutcome::Answered { text } => text,
            other => panic!("{tool}: {other:?}"),
        }
    }

    fn claims_to_read(&self, tool: &str) -> bool {
        let tools = self.server.tools();
        tools.iter().find(|one| one.name == tool).unwrap_or_else(|| panic!("no {tool}")).says_read_only
    }

    /// Ends it; a good server goes by itself.
    async fn stop(self) {
        self.stop.cancel();
        tokio::time::timeout(Duration::from_secs(10), self.life).await.expect("it ends").unwrap();
    }
}

#[tokio::test]
async fn the_filesystem_server_writes_reads_and_refuses() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let Some(files) = Reference::start("filesystem", &[root.to_str().unwrap()], &[]).await else { return };
    assert!(files.claims_to_read("list_directory") && !files.claims_to_read("write_file"));
    let file = root.join("note.txt");
    files.text("write_file", json!({ "path": file, "content": "hello" })).await;
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "hello");
    assert!(files.text("list_directory", json!({ "path": root })).await.contains("note.txt"));
    let outside = files.call("write_file", json!({ "path": "/etc/note.txt", "content": "x" })).await;
    assert!(matches!(outside, CallOutcome::Refused { .. }), "{outside:?}");
    files.stop().await;
}

#[tokio::test]
async fn the_memory_server_keeps_what_it_was_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("memory.jsonl");
    let env = [("MEMORY_FILE_PATH", file.to_str().unwrap())];
    let Some(memory) = Reference::start("memory", &[], &env).await else { return };
    let entity = json!({ "name": "Ana", "entityType": "person", "observations": ["likes tea"] });
    memory.text("create_entities", json!({ "entities": [entity] })).await;
    assert!(memory.text("read_graph", json!({})).await.contains("likes tea"));
    memory.stop().await;
    assert!(std::fs::read_to_string(file).unwrap().contains("Ana"));
}

#[tokio::test]
async fn the_everything_server_answers_in_every_form() {
    let Some(everything) = Reference::start("everything", &[], &[]).await else { return };
    assert!(everything.server.tools().len() >= 8, "{:?}", everything.server.tools());
    assert!(everything.text("echo", json!({ "message": "hola" })).await.contains("hola"));
    let unknown = everything.call("no_such_tool", json!({})).await;
    assert!(matches!(unknown, CallOutcome::Refused { .. }), "{unknown:?}");
    everything.stop().await;
}
