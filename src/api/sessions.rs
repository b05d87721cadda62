//! Conversations of the local API: a message goes in through the inbox, the answer is read from the rows of its turn.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::{BoxStream, StreamExt};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::domain::conversation::{Address, ChannelKind, ConversationKind};
use crate::domain::message::{InputKind, NewInput, Parts};
use crate::domain::ports::{Clock, IdSource};
use crate::domain::session::{Invoked, SessionDelivery, SessionError, SessionEvent, Sessions};
use crate::inbox::Ingress;
use crate::store::{Store, StoreError, Table};

/// Reads and writes sessions on the store.
#[derive(Clone)]
pub struct ApiSessions {
    store: Store,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    ingress: Ingress,
}

impl ApiSessions {
    pub fn new(store: Store, clock: Arc<dyn Clock>, ids: Arc<dyn IdSource>, ingress: Ingress) -> Self {
        Self { store, clock, ids, ingress }
    }

    fn input(&self, session: &str, message: &str, dedupe_key: String) -> NewInput {
        NewInput {
            address: Some(address(session)),
            conversation_kind: ConversationKind::Private,
            conversation_title: session.to_owned(),
            kind: InputKind::Message,
            dedupe_key,
            external_id: None,
            sender_id: "api".to_owned(),
            sender_name: String::new(),
            owner: true,
            text: message.to_owned(),
            parts: Parts::default(),
            sent_at: self.clock.now().wall,
        }
    }
}

fn address(session: &str) -> Address {
    Address {
        channel: ChannelKind::Http,
        account: "local".to_owned(),
        contact: session.to_owned(),
        thread: String::new(),
    }
}

#[async_trait]
impl Sessions for ApiSessions {
    async fn invoke(
        &self,
        session: &str,
        message: &str,
        idempotency_key: Option<&str>,
    ) -> Result<Invoked, SessionError> {
        let key = idempotency_key.map_or_else(|| self.ids.uuid(), str::to_owned);
        let dedupe_key = format!("http:{session}:{key}");
        // Watched from before the message is there, so that nothing of it is missed.
        let watch = self.store.watch(&[Table::Inbound, Table::Bursts, Table::Turns, Table::Outbound]);
        self.ingress
            .submit(self.input(session, message, dedupe_key.clone()))
            .await
            .map_err(|error| SessionError::NotAccepted { reason: error.to_string() })?;
        loop {
            let key = dedupe_key.clone();
            let progress = self
                .store
                .read(move |connection| progress(connection, &key))
                .await
                .map_err(|error: StoreError| SessionError::NoAnswer { reason: error.to_string() })?;
            match progress {
                Progress::Waiting => {
                    watch.changed().await;
                }
                Progress::Done(invoked) => return Ok(invoked),
            }
        }
    }

    async fn events(
        &self,
        session: &str,
        after: Option<i64>,
    ) -> Result<BoxStream<'static, SessionEvent>, SessionError> {
        let watch = self.store.watch(&[Table::Outbound]);
        let (store, address) = (self.store.clone(), address(session));
        let mut state =
            Stream { store, address, watch, floor: after.unwrap_or(0), told: BTreeSet::new(), ready: Vec::new() };
        state.fill().await.map_err(|error| SessionError::NoAnswer { reason: error.to_string() })?;
        if after.is_none() {
            // What stands there already is old to a new listener.
            state.ready.clear();
        }
        let stream = futures::stream::unfold(state, |mut state| async move {
            loop {
                if !state.ready.is_empty() {
                    let event = state.ready.remove(0);
                    return Some((event, state));
                }
                state.watch.changed().await;
                if let Err(error) = state.fill().await {
                    tracing::warn!(%error, "deliveries of a session could not be read");
                }
            }
        });
        Ok(stream.boxed())
    }
}

/// A listener's place in the deliveries of its session.
struct Stream {
    store: Store,
    address: Address,
    watch: crate::store::Watch,
    /// Every row up to this id has been told or never will be.
    floor: i64,
    /// Rows after `floor` told already: rows are not delivered in the order of their ids.
    told: BTreeSet<i64>,
    ready: Vec<SessionEvent>,
}

impl Stream {
    /// Reads what was delivered since.
    async fn fill(&mut self) -> Result<(), StoreError> {
        let (address, floor) = (self.address.clone(), self.floor);
        let (rows, settled) = self.store.read(move |connection| delivered_after(connection, &address, floor)).await?;
        for event in rows {
            if self.told.insert(event.delivery.id) {
                self.ready.push(event);
            }
        }
        self.floor = settled;
        self.told.retain(|id| *id > settled);
        Ok(())
    }
}

enum Progress {
    Waiting,
    Done(Invoked),
}

fn progress(connection: &Connection, dedupe_key: &str) -> Result<Progress, StoreError> {
    let row = connection
        .prepare_cached(
            "SELECT inbound.id, inbound.conversation_id, inbound.state, inbound.reason, bursts.state, bursts.reason, bursts.turn_id
             FROM inbound LEFT JOIN bursts ON bursts.id = inbound.burst_id WHERE dedupe_key = ?1",
        )?
        .query_row([dedupe_key], |row| {
            Ok(Inbound {
                id: row.get(0)?,
                conversation: row.get(1)?,
                state: row.get(2)?,
                reason: row.get(3)?,
                burst_state: row.get(4)?,
                burst_reason: row.get(5)?,
                turn: row.get(6)?,
            })
        })
        .optional()?;
    let Some(inbound) = row else { return Ok(Progress::Waiting) };
    match (inbound.state.as_str(), inbound.turn.clone()) {
        ("control" | "discarded" | "failed", _) => without_turn(connection, &inbound, inbound.reason.clone()),
        ("merged", _) if inbound.burst_state.as_deref() == Some("discarded") => {
            without_turn(connection, &inbound, inbound.burst_reason.clone())
        }
        ("merged", Some(turn)) => of_turn(connection, &inbound, &turn),
        (_, _) => Ok(Progress::Waiting),
    }
}

struct Inbound {
    id: i64,
    conversation: Option<i64>,
    state: String,
    reason: Option<String>,
    burst_state: Option<String>,
    burst_reason: Option<String>,
    turn: Option<String>,
}

const DELIVERY: &str = "id, content, mode, fell_back, sequence_in_turn, turn_id";

fn delivery(row: &Row<'_>) -> rusqlite::Result<SessionDelivery> {
    Ok(SessionDelivery {
        id: row.get(0)?,
        content: row.get(1)?,
        delivery_mode: row.get(2)?,
        fell_back_to_batch: row.get(3)?,
        sequence_in_turn: row.get(4)?,
    })
}

/// A command, a refusal or a stop: what was said about it stands beside it, without a turn.
fn without_turn(connection: &Connection, inbound: &Inbound, reason: Option<String>) -> Result<Progress, StoreError> {
    // What came in between this message and the next one of its conversation.
    let mut statement = connection.prepare_cached(
        "SELECT id, content, mode, fell_back, sequence_in_turn, turn_id, state FROM outbound
         WHERE conversation_id = ?1 AND turn_id IS NULL AND kind = 'control'
           AND queued_at >= (SELECT received_at FROM inbound WHERE id = ?2)
           AND queued_at <= coalesce((SELECT min(received_at) FROM inbound
                                      WHERE conversation_id = ?1 AND id > ?2), 9223372036854775807)
         ORDER BY id",
    )?;
    let rows: Vec<(SessionDelivery, String)> = statement
        .query_map(params![inbound.conversation, inbound.id], |row| Ok((delivery(row)?, row.get(6)?)))?
        .collect::<Result<_, _>>()?;
    if rows.iter().any(|(_, state)| is_open(state)) {
        return Ok(Progress::Waiting);
    }
    let deliveries = rows.into_iter().filter(|(_, state)| state == "delivered").map(|(row, _)| row).collect();
    let discarded = (inbound.state != "control").then(|| reason.unwrap_or_else(|| "discarded".to_owned()));
    Ok(Progress::Done(Invoked { turn_id: None, deliveries, approvals: Vec::new(), discarded }))
}

fn of_turn(connection: &Connection, inbound: &Inbound, turn: &str) -> Result<Progress, StoreError> {
    let ended: bool = connection
        .prepare_cached("SELECT state = 'ended' FROM turns WHERE id = ?1")?
        .query_row([turn], |row| row.get(0))?;
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {DELIVERY}, state FROM outbound WHERE turn_id = ?1 ORDER BY sequence_in_turn, id"
    ))?;
    let rows: Vec<(SessionDelivery, String)> =
        statement.query_map([turn], |row| Ok((delivery(row)?, row.get(6)?)))?.collect::<Result<_, _>>()?;
    if !ended || rows.iter().any(|(_, state)| is_open(state)) {
        return Ok(Progress::Waiting);
    }
    let last: i64 = connection
        .prepare_cached(
            "SELECT max(inbound.id) FROM inbound JOIN bursts ON bursts.id = inbound.burst_id WHERE bursts.turn_id = ?1",
        )?
        .query_row([turn], |row| row.get(0))?;
    let mut statement = connection.prepare_cached(
        "SELECT approvals.id FROM approvals JOIN effects ON effects.id = approvals.effect_id
         WHERE effects.turn_id = ?1 ORDER BY approvals.id",
    )?;
    let approvals = statement
        .query_map([turn], |row| row.get::<_, i64>(0))?
        .map(|id| id.map(|id| id.to_string()))
        .collect::<Result<_, _>>()?;
    let deliveries = if last == inbound.id {
        rows.into_iter().filter(|(_, state)| state == "delivered").map(|(row, _)| row).collect()
    } else {
        Vec::new()
    };
    Ok(Progress::Done(Invoked { turn_id: Some(turn.to_owned()), deliveries, approvals, discarded: None }))
}

fn is_open(state: &str) -> bool {
    matches!(state, "held" | "queued" | "sending")
}

/// Delivered rows of a session after `floor`, by the time of delivery, and up to which id all rows are settled.
fn delivered_after(
    connection: &Connection,
    address: &Address,
    floor: i64,
) -> Result<(Vec<SessionEvent>, i64), StoreError> {
    let conversation: Option<i64> = connection
        .prepare_cached(
            "SELECT id FROM conversations WHERE channel = ?1 AND account = ?2 AND contact = ?3 AND thread = ?4",
        )?
        .query_row(params![address.channel.as_str(), address.account, address.contact, address.thread], |row| {
            row.get(0)
        })
        .optional()?;
    let Some(conversation) = conversation else { return Ok((Vec::new(), floor)) };
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {DELIVERY} FROM outbound WHERE conversation_id = ?1 AND id > ?2 AND state = 'delivered'
         ORDER BY delivered_at, id"
    ))?;
    let rows = statement
        .query_map([conversation, floor], |row| Ok(SessionEvent { turn_id: row.get(5)?, delivery: delivery(row)? }))?
        .collect::<Result<_, _>>()?;
    let settled: i64 = connection
        .prepare_cached(
            "SELECT coalesce((SELECT min(id) - 1 FROM outbound WHERE conversation_id = ?1 AND id > ?2
                              AND state IN ('held', 'queued', 'sending')),
                             (SELECT max(id) FROM outbound WHERE conversation_id = ?1), ?2)",
        )?
        .query_row([conversation, floor], |row| row.get(0))?;
    Ok((rows, settled.max(floor)))
}
