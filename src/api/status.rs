//! `status`: how every edge and queue is doing.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::answer::Parts;
use super::request::Failure;
use crate::audit::{Layer, layer_counts};
use crate::domain::time::Wall;
use crate::evidence;
use crate::store::{Durability, StoreError, meta};

/// How one edge is doing.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct EdgeStatus {
    /// `telegram`: `receiving`, `conflict`, `unauthorized`, `offline` or `off`; others: `ok`, `failing` or `not_used_yet`.
    pub state: String,
    /// What went wrong last.
    pub reason: Option<String>,
    /// Provider, backend or address.
    pub name: String,
    /// Account, model or bot.
    pub account: Option<String>,
    #[serde(skip)]
    pub last_at: Option<Wall>,
}

/// What the host says of its edges.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct HostStatus {
    /// Workers are running.
    pub running: bool,
    pub telegram: EdgeStatus,
    pub model: EdgeStatus,
    pub mail: EdgeStatus,
    pub calendar: EdgeStatus,
    pub http: EdgeStatus,
    pub keychain: EdgeStatus,
    /// One per configured server of tools; `starting`, `ok`, `failing` or `stopped`.
    pub mcp: Vec<EdgeStatus>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct Status {
    running: bool,
    telegram: Telegram,
    model: EdgeStatus,
    mail: EdgeStatus,
    calendar: EdgeStatus,
    http: EdgeStatus,
    keychain: EdgeStatus,
    mcp: Vec<EdgeStatus>,
    database: EdgeStatus,
    queues: BTreeMap<&'static str, i64>,
    guard_today: BTreeMap<&'static str, i64>,
    attention: Vec<Value>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
struct Telegram {
    #[serde(flatten)]
    edge: EdgeStatus,
    last_poll_at: Option<String>,
}

const QUEUES: [(&str, &str); 9] = [
    ("buffered", "SELECT count(*) FROM inbound WHERE state = 'buffered'"),
    ("bursts", "SELECT count(*) FROM bursts WHERE state = 'queued'"),
    ("turns", "SELECT count(*) FROM turns WHERE state <> 'ended'"),
    ("approvals", "SELECT count(*) FROM approvals WHERE state = 'pending'"),
    ("ready", "SELECT count(*) FROM effects WHERE state IN ('ready', 'dispatching')"),
    ("retryable", "SELECT count(*) FROM effects WHERE state = 'retryable'"),
    ("unknown", "SELECT count(*) FROM effects WHERE state = 'unknown'"),
    ("outbound", "SELECT count(*) FROM outbound WHERE state IN ('held', 'queued', 'sending')"),
    ("uncertain", "SELECT count(*) FROM outbound WHERE state = 'uncertain' AND sent_again_as IS NULL"),
];

pub(super) async fn status(parts: &Parts) -> Result<Status, Failure> {
    let host = parts.host.status();
    let now = parts.clock.now();
    let zone = parts.zone.clone();
    let today = now.wall.timestamp().to_zoned_datetime(zone.clone()).date();
    let read = parts.store.read(move |connection| {
        let mut queues = BTreeMap::new();
        for (name, sql) in QUEUES {
            queues.insert(name, connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?);
        }
        let mut guard: BTreeMap<&'static str, i64> = Layer::ALL.into_iter().map(|layer| (layer.as_str(), 0)).collect();
        for (_, layer, count) in layer_counts(connection, today)? {
            guard.insert(layer.as_str(), count);
        }
        let prevented = ["guard", "exact", "calendar"].iter().filter_map(|layer| guard.get(layer)).sum();
        guard.insert("prevented", prevented);
        Ok::<_, StoreError>((queues, guard, evidence::attention(connection, now)?))
    });
    let (queues, guard_today, attention) = read.await?;
    let attention = attention
        .into_iter()
        .map(|item| {
            let since = item.since.rfc3339(&zone);
            let mut value = serde_json::to_value(item)?;
            if let Some(fields) = value.as_object_mut() {
                let effect = fields.remove("effect").unwrap_or_default();
                fields.insert("effect_id".to_owned(), effect);
                fields.insert("since".to_owned(), since.into());
            }
            Ok(value)
        })
        .collect::<Result<_, serde_json::Error>>()?;
    let last_poll_at = host.telegram.last_at.map(|at| at.rfc3339(&parts.zone));
    Ok(Status {
        running: host.running,
        telegram: Telegram { edge: host.telegram, last_poll_at },
        model: host.model,
        mail: host.mail,
        calendar: host.calendar,
        http: host.http,
        keychain: host.keychain,
        mcp: host.mcp,
        database: database(parts).await,
        queues,
        guard_today,
        attention,
    })
}

/// Whether a write works right now: a full disk or a lock held by another program shows here.
async fn database(parts: &Parts) -> EdgeStatus {
    let at = parts.clock.now().wall;
    let written: Result<(), StoreError> =
        parts.store.write("status.probe", Durability::Normal, move |tx| meta::set(tx, "status_probe", &at)).await;
    let (state, reason) = match written {
        Ok(()) => ("ok", None),
        Err(error) => {
            let state = match &error {
                StoreError::Locked => "locked",
                StoreError::DiskFull => "full",
                StoreError::NotWritable(_) => "not_writable",
                StoreError::Damaged(_) => "damaged",
                _ => "failing",
            };
            (state, Some(error.to_string()))
        }
    };
    EdgeStatus { state: state.to_owned(), reason, name: "sqlite".to_owned(), ..EdgeStatus::default() }
}
