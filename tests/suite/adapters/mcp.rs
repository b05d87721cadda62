//! The MCP edge against a hostile server: what left without an answer is lost, never "no" and never sent again.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;
use unavez::domain::time::Elapsed;
use unavez::domain::tool_server::{CallOutcome, ServerState, ToolServer};
use unavez::mcp::{McpServer, Settings, Transport};
use unavez::runtime::clock::{BootReading, SystemClock};
use unavez::runtime::ids::RandomIds;

/// A running server and the log of what it did.
struct Hostile {
    server: Arc<McpServer>,
    folder: tempfile::TempDir,
    stop: CancellationToken,
    life: tokio::task::JoinHandle<()>,
}

fn clock() -> Arc<SystemClock> {
    Arc::new(SystemClock::starting(Elapsed(0), &BootReading::take()))
}

fn settings(log: &Path) -> Settings {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/support/hostile_mcp.mjs");
    let env = BTreeMap::from([("LOG".to_owned(), log.display().to_string())]);
    let command = vec!["node".to_owned(), script.to_owned()];
    Settings {
        timeout: Duration::from_secs(2),
        restart_first: Duration::from_millis(50),
        ..Settings::new("hostile", Transport::Command { command, env })
    }
}

impl Hostile {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = McpServer::new(settings(&folder.path().join("log")), clock(), Arc::new(RandomIds));
        let (server, stop) = (Arc::new(server), CancellationToken::new());
        let life = tokio::spawn(server.clone().run(stop.clone()));
        let hostile = Self { server, folder, stop, life };
        hostile.until("it runs", |server| server.state() == ServerState::Running).await;
        hostile
    }

    async fn until(&self, what: &str, holds: impl Fn(&McpServer) -> bool) {
        let mut watch = self.server.watch();
        let reached = tokio::time::timeout(Duration::from_secs(30), async {
            while !holds(&self.server) {
                assert!(watch.changed().await);
            }
        });
        assert!(reached.await.is_ok(), "{what}: {:?}", self.server.state());
    }

    async fn call(&self, tool: &str) -> CallOutcome {
        let Value::Object(arguments) = json!({ "title": "x" }) else { unreachable!() };
        self.server.call(tool, arguments).await
    }

    fn count(&self, start: &str) -> usize {
        let log = std::fs::read_to_string(self.folder.path().join("log")).unwrap();
        log.lines().filter(|line| line.starts_with(start)).count()
    }
}

#[tokio::test]
async fn an_act_without_an_answer_is_lost_and_never_sent_again() {
    let hostile = Hostile::start().await;
    assert!(matches!(hostile.call("add").await, CallOutcome::Answered { .. }));
    assert_eq!(hostile.call("fail").await, CallOutcome::Refused { reason: "no such note".to_owned() });
    assert!(matches!(hostile.call("hang").await, CallOutcome::Lost { .. }));
    assert!(matches!(hostile.call("die").await, CallOutcome::Lost { .. }));
    // It comes back by itself, and nothing of before is repeated.
    hostile
        .until("it runs again", |server| server.state() == ServerState::Running && hostile.count("start") == 2)
        .await;
    assert!(matches!(hostile.call("add").await, CallOutcome::Answered { .. }));
    assert_eq!((hostile.count("hang"), hostile.count("die"), hostile.count("add")), (1, 1, 2));

    // A server that ends neither on its input nor on a signal is ended all the same.
    hostile.stop.cancel();
    tokio::time::timeout(Duration::from_secs(10), hostile.life).await.expect("it stops").unwrap();
    assert_eq!(hostile.server.state(), ServerState::Stopped);
    assert!(matches!(hostile.server.call("add", Map::new()).await, CallOutcome::NotSent { .. }));
}

#[tokio::test]
async fn floods_are_cut_and_changed_lists_are_read() {
    let hostile = Hostile::start().await;
    let CallOutcome::Answered { text } = hostile.call("flood").await else { panic!("no answer") };
    assert!(text.len() < 50_000 && text.contains("[cut: "), "{}", text.len());
    let before = hostile.server.tools().len();
    assert!(matches!(hostile.call("grow").await, CallOutcome::Answered { .. }));
    hostile.until("the new tool is known", |server| server.tools().len() == before + 1).await;
    assert!(hostile.server.tools().iter().any(|tool| tool.name == "grown"));
    hostile.stop.cancel();
    hostile.life.await.unwrap();
}

#[tokio::test]
async fn a_server_that_cannot_start_says_why_and_takes_no_calls() {
    let mut settings = settings(Path::new("/nonexistent/log"));
    settings.transport = Transport::Command { command: vec!["/nonexistent/program".to_owned()], env: BTreeMap::new() };
    let server = Arc::new(McpServer::new(settings.clone(), clock(), Arc::new(RandomIds)));
    assert!(server.check().await.unwrap_err().contains("/nonexistent/program cannot be started"));
    // Nobody listens there: nothing can have left.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    unavez::runtime::tls::install_provider();
    settings.transport = Transport::Url(format!("http://127.0.0.1:{port}/mcp"));
    let server = Arc::new(McpServer::new(settings, clock(), Arc::new(RandomIds)));
    let stop = CancellationToken::new();
    let life = tokio::spawn(server.clone().run(stop.clone()));
    assert!(matches!(server.call("add", Map::new()).await, CallOutcome::NotSent { .. }));
    stop.cancel();
    life.await.unwrap();
}
