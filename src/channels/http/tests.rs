#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::sync::Mutex;

use async_trait::async_trait;
use futures::stream::BoxStream;

use super::*;
use crate::domain::conversation::{Address, ChannelKind};
use crate::domain::ports::Channel;
use crate::domain::session::{Invoked, SessionDelivery, SessionError, SessionEvent, Sessions};
use crate::runtime::secrets::Secret;

/// Echoes, and remembers what it was asked.
#[derive(Default)]
struct Echo {
    asked: Mutex<Vec<(String, String, Option<String>)>>,
}

fn delivery(content: &str) -> SessionDelivery {
    SessionDelivery {
        id: 7,
        content: content.to_owned(),
        delivery_mode: "batched".to_owned(),
        fell_back_to_batch: false,
        sequence_in_turn: Some(1),
    }
}

#[async_trait]
impl Sessions for Echo {
    async fn invoke(&self, session: &str, message: &str, key: Option<&str>) -> Result<Invoked, SessionError> {
        self.asked.lock().unwrap().push((session.to_owned(), message.to_owned(), key.map(str::to_owned)));
        let turn_id = Some("t1".to_owned());
        Ok(Invoked { turn_id, deliveries: vec![delivery(message)], approvals: vec!["3".to_owned()], discarded: None })
    }

    async fn events(
        &self,
        _session: &str,
        after: Option<i64>,
    ) -> Result<BoxStream<'static, SessionEvent>, SessionError> {
        let event = SessionEvent { turn_id: Some("t1".to_owned()), delivery: delivery(&format!("after {after:?}")) };
        Ok(Box::pin(futures::StreamExt::chain(futures::stream::iter([event]), futures::stream::pending())))
    }
}

struct Rig {
    url: String,
    echo: std::sync::Arc<Echo>,
    channel: HttpChannel,
    client: reqwest::Client,
    _stop: tokio_util::sync::DropGuard,
}

async fn rig() -> Rig {
    crate::runtime::tls::install_provider();
    let echo = std::sync::Arc::new(Echo::default());
    let channel = HttpChannel::default();
    let stopping = tokio_util::sync::CancellationToken::new();
    let token = Secret::fixed("http.token", "right-token");
    let server = Server::bind("127.0.0.1:0".parse().unwrap(), echo.clone(), channel.clone(), token, stopping.clone())
        .await
        .unwrap();
    let url = format!("http://{}/api/sessions/s1", server.address());
    tokio::spawn(server.run());
    Rig { url, echo, channel, client: reqwest::Client::new(), _stop: stopping.drop_guard() }
}

#[tokio::test]
async fn invoke_answers_with_turn_deliveries_and_approvals() {
    let rig = rig().await;
    let response = rig
        .client
        .post(format!("{}/invoke", rig.url))
        .bearer_auth("right-token")
        .header("Idempotency-Key", "k1")
        .json(&serde_json::json!({ "message": "hola" }))
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 200);
    let body: serde_json::Value = response.json().await.unwrap();
    assert_eq!(
        body,
        serde_json::json!({
            "turn_id": "t1",
            "deliveries": [{ "content": "hola", "delivery_mode": "batched", "fell_back_to_batch": false, "sequence_in_turn": 1 }],
            "approvals": ["3"],
        })
    );
    assert_eq!(*rig.echo.asked.lock().unwrap(), [("s1".to_owned(), "hola".to_owned(), Some("k1".to_owned()))]);
}

#[tokio::test]
async fn strangers_are_refused_before_anything_is_read() {
    let rig = rig().await;
    let post = || rig.client.post(format!("{}/invoke", rig.url)).json(&serde_json::json!({ "message": "x" }));
    for (request, status, code) in [
        (post(), 401, "unauthorized"),
        (post().bearer_auth("wrong"), 401, "unauthorized"),
        (post().bearer_auth("right-token").header("Host", "evil.example.test"), 403, "foreign_host"),
        (post().bearer_auth("right-token").header("Origin", "https://evil.example.test"), 403, "foreign_origin"),
        (post().bearer_auth("right-token").header("Origin", "null"), 403, "foreign_origin"),
        (post().bearer_auth("right-token").body("{"), 400, "bad_request"),
        (post().bearer_auth("right-token").body("{\"message\": \" \"}"), 400, "bad_request"),
        (post().bearer_auth("right-token").header("Idempotency-Key", ""), 400, "bad_request"),
        (rig.client.get(format!("{}/invoke", rig.url)).bearer_auth("right-token"), 405, "method_not_allowed"),
        (rig.client.get(format!("{}/other", rig.url)).bearer_auth("right-token"), 404, "not_found"),
        (rig.client.get(format!("{}/events", rig.url)), 401, "unauthorized"),
    ] {
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), status, "{code}");
        let body: serde_json::Value = response.json().await.unwrap();
        assert_eq!(body["error"]["code"], code);
    }
    assert!(rig.echo.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_session_can_be_reached_at_once_only_while_somebody_listens() {
    let rig = rig().await;
    let to = |contact: &str| Address {
        channel: ChannelKind::Http,
        account: "local".to_owned(),
        contact: contact.to_owned(),
        thread: String::new(),
    };
    assert!(!rig.channel.capabilities(&to("s1")).immediate);
    let mut response = rig
        .client
        .get(format!("{}/events", rig.url))
        .bearer_auth("right-token")
        .header("Last-Event-ID", "5")
        .send()
        .await
        .unwrap();
    let mut text = String::new();
    while !text.contains("\n\n") || !text.contains("data:") {
        text.push_str(std::str::from_utf8(&response.chunk().await.unwrap().unwrap()).unwrap());
    }
    assert!(text.contains("id: 7") && text.contains("after Some(5)") && text.contains("\"turn_id\":\"t1\""), "{text}");
    assert!(rig.channel.capabilities(&to("s1")).immediate);
    assert!(!rig.channel.capabilities(&to("s2")).immediate);
    drop(response);
    for _ in 0..200 {
        if !rig.channel.capabilities(&to("s1")).immediate {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("the listener that went away still counts");
}
