//! A Telegram Bot API server of our own, down to TCP: what it was asked and when, and every way it can fail.

mod api;
mod faults;
mod http;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::Notify;

pub use faults::Fault;

pub const TOKEN: &str = "4242:test-token";
pub const BOT: i64 = 4242;

/// One request as it arrived.
#[derive(Clone, Debug)]
pub struct Call {
    /// Lower case.
    pub method: String,
    pub body: Value,
    pub at: Instant,
    /// The server did it, whatever it then answered.
    pub done: bool,
}

impl Call {
    pub fn text(&self) -> String {
        self.body["text"].as_str().unwrap_or_default().to_owned()
    }
    pub fn chat(&self) -> i64 {
        self.body["chat_id"].as_i64().unwrap_or_default()
    }
}

#[derive(Default)]
struct State {
    token: String,
    bot: i64,
    updates: VecDeque<(i64, Value)>,
    /// Everything ever injected, for redelivery.
    history: Vec<(i64, Value)>,
    next_update: i64,
    next_message: i64,
    /// Raised by each poll: an older one is terminated.
    polls: u64,
    calls: Vec<Call>,
    faults: HashMap<String, VecDeque<Fault>>,
    /// (chat, message) to what it shows: text and keyboard.
    shown: HashMap<(i64, i64), (String, Value)>,
    blocked: HashSet<i64>,
    migrated: HashMap<i64, i64>,
    threads_gone: HashSet<i64>,
    /// Texts with this in them are refused for their entities.
    bad_entities: Option<String>,
    files: HashMap<String, Vec<u8>>,
    commands: Vec<Value>,
}

/// The server. Ends when dropped.
pub struct TelegramServer {
    pub url: String,
    shared: Arc<Shared>,
    listener: tokio::task::JoinHandle<()>,
}

struct Shared {
    state: Mutex<State>,
    changed: Notify,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

impl Drop for TelegramServer {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

impl TelegramServer {
    pub async fn start() -> Self {
        let state =
            State { token: TOKEN.to_owned(), bot: BOT, next_update: 100, next_message: 1000, ..State::default() };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Notify::new() });
        let (url, listener) = http::listen(shared.clone()).await;
        Self { url, shared, listener }
    }

    // ---- what happens on the clients -------------------------------------------------------------

    /// A raw update; `update_id` is added.
    pub fn update(&self, mut update: Value) -> i64 {
        let mut state = self.shared.state();
        let id = state.next_update;
        state.next_update += 1;
        update["update_id"] = json!(id);
        state.updates.push_back((id, update.clone()));
        state.history.push((id, update));
        drop(state);
        self.shared.changed.notify_waiters();
        id
    }

    /// A message with `fields` beside id, date, chat and sender.
    pub fn message(&self, chat: i64, from: i64, fields: Value) -> i64 {
        let id = self.next_message();
        let mut message = envelope(id, chat, from);
        merge(&mut message, fields);
        self.update(json!({ "message": message }));
        id
    }

    pub fn text(&self, chat: i64, from: i64, text: &str) -> i64 {
        self.message(chat, from, json!({ "text": text }))
    }

    /// Sent `ago` by the sender's clock.
    pub fn old_text(&self, chat: i64, from: i64, text: &str, ago: Duration) -> i64 {
        self.message(chat, from, json!({ "text": text, "date": unix() - ago.as_secs() as i64 }))
    }

    pub fn edit(&self, chat: i64, from: i64, message: i64, text: &str) {
        let mut edited = envelope(message, chat, from);
        merge(&mut edited, json!({ "text": text, "edit_date": unix() }));
        self.update(json!({ "edited_message": edited }));
    }

    /// A press of a button below `message`. Gives the callback id.
    pub fn tap(&self, chat: i64, from: i64, message: i64, data: &str) -> String {
        let id = format!("tap-{}", self.next_message());
        let mut carrier = envelope(message, chat, BOT);
        merge(&mut carrier, json!({ "text": "card" }));
        let query = json!({ "id": id, "from": user(from), "message": carrier, "chat_instance": "1", "data": data });
        self.update(json!({ "callback_query": query }));
        id
    }

    fn next_message(&self) -> i64 {
        let mut state = self.shared.state();
        state.next_message += 1;
        state.next_message
    }

    // ---- what the server does --------------------------------------------------------------------

    /// The next calls of `method` meet these faults, one each.
    pub fn fault(&self, method: &str, faults: impl IntoIterator<Item = Fault>) {
        self.shared.state().faults.entry(method.to_lowercase()).or_default().extend(faults);
    }

    pub fn clear_faults(&self) {
        self.shared.state().faults.clear();
    }

    pub fn block(&self, chat: i64) {
        self.shared.state().blocked.insert(chat);
    }

    pub fn migrate(&self, from: i64, to: i64) {
        self.shared.state().migrated.insert(from, to);
    }

    pub fn delete_thread(&self, thread: i64) {
        self.shared.state().threads_gone.insert(thread);
    }

    pub fn refuse_entities_in(&self, text: &str) {
        self.shared.state().bad_entities = Some(text.to_owned());
    }

    pub fn file(&self, id: &str, bytes: &[u8]) {
        self.shared.state().files.insert(id.to_owned(), bytes.to_vec());
    }

    /// From now on ids count from here, as after a quiet week.
    pub fn renumber_updates(&self, from: i64) {
        self.shared.state().next_update = from;
    }

    /// Everything ever injected comes again, as if no offset had been given.
    pub fn redeliver(&self) {
        let mut state = self.shared.state();
        state.updates = state.history.iter().cloned().collect();
        drop(state);
        self.shared.changed.notify_waiters();
    }

    /// Another bot takes over: other token and id.
    pub fn become_bot(&self, token: &str, bot: i64) {
        let mut state = self.shared.state();
        state.token = token.to_owned();
        state.bot = bot;
        state.updates.clear();
        state.polls += 1;
        drop(state);
        self.shared.changed.notify_waiters();
    }

    // ---- what it saw -----------------------------------------------------------------------------

    pub fn calls(&self, method: &str) -> Vec<Call> {
        let method = method.to_lowercase();
        self.shared.state().calls.iter().filter(|call| call.method == method).cloned().collect()
    }

    /// Texts the server took for `chat`, in order.
    pub fn received(&self, chat: i64) -> Vec<String> {
        self.calls("sendMessage").iter().filter(|call| call.done && call.chat() == chat).map(Call::text).collect()
    }

    /// What a message shows now.
    pub fn shows(&self, chat: i64, message: i64) -> Option<(String, Value)> {
        self.shared.state().shown.get(&(chat, message)).cloned()
    }

    pub fn commands(&self) -> Vec<Value> {
        self.shared.state().commands.clone()
    }

    /// Updates that no offset has confirmed.
    pub fn unconfirmed(&self) -> usize {
        self.shared.state().updates.len()
    }

    /// Waits until `condition` holds.
    pub async fn until(&self, what: &str, condition: impl Fn(&Self) -> bool) {
        let patience = Duration::from_secs(20);
        let reached = tokio::time::timeout(patience, async {
            while !condition(self) {
                // Woken by every call; the short wait covers conditions beside the server.
                let _ = tokio::time::timeout(Duration::from_millis(20), self.shared.changed.notified()).await;
            }
        });
        assert!(reached.await.is_ok(), "not within {patience:?}: {what}; calls: {:#?}", self.brief());
    }

    fn brief(&self) -> Vec<String> {
        let state = self.shared.state();
        let calls = state.calls.iter().filter(|call| call.method != "getupdates");
        calls.map(|call| format!("{} {}", call.method, call.body)).collect()
    }
}

fn unix() -> i64 {
    jiff::Timestamp::now().as_second()
}

fn user(id: i64) -> Value {
    json!({ "id": id, "is_bot": id == BOT, "first_name": format!("Person {id}") })
}

fn envelope(id: i64, chat: i64, from: i64) -> Value {
    let chat = if chat > 0 {
        json!({ "id": chat, "type": "private", "first_name": format!("Person {chat}") })
    } else {
        json!({ "id": chat, "type": "supergroup", "title": "Group" })
    };
    json!({ "message_id": id, "date": unix(), "chat": chat, "from": user(from) })
}

fn merge(into: &mut Value, fields: Value) {
    let (Some(into), Value::Object(fields)) = (into.as_object_mut(), fields) else { panic!("fields are an object") };
    into.extend(fields);
}
