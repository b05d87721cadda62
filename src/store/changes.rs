//! Who wants to know that which table changed. SQLite's update hook collects, the commit announces.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::Notify;

macro_rules! tables {
    ($($variant:ident = $name:literal),* $(,)?) => {
        /// Tables that somebody waits for.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Table { $($variant),* }

        impl Table {
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            fn named(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$variant),)* _ => None }
            }

            fn bit(self) -> u64 {
                1 << (self as u32)
            }
        }
    };
}

tables! {
    Conversations = "conversations",
    Inbound = "inbound",
    Owners = "owners",
    Bursts = "bursts",
    Turns = "turns",
    TurnSteps = "turn_steps",
    Effects = "effects",
    EffectAttempts = "effect_attempts",
    Prevented = "prevented",
    Approvals = "approvals",
    Outbound = "outbound",
    OutboundEdits = "outbound_edits",
    CalendarEvents = "calendar_events",
    Schedules = "schedules",
    Facts = "facts",
    Audit = "audit",
    Meta = "meta",
}

/// A set of tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Changes(u64);

impl Changes {
    pub fn contains(self, table: Table) -> bool {
        self.0 & table.bit() != 0
    }

    pub fn tables(self) -> impl Iterator<Item = Table> {
        Table::ALL.iter().copied().filter(move |table| self.contains(*table))
    }

    pub(super) fn add_named(&mut self, name: &str) {
        self.0 |= Table::named(name).map_or(0, Table::bit);
    }
}

struct Subscriber {
    mask: u64,
    pending: AtomicU64,
    notify: Notify,
}

/// Waits for changes of some tables. Changes between two waits are not missed.
pub struct Watch(Arc<Subscriber>);

impl Watch {
    /// Returns the watched tables that changed since the last call, waiting for the first change.
    pub async fn changed(&self) -> Changes {
        loop {
            let pending = self.0.pending.swap(0, Ordering::SeqCst);
            if pending != 0 {
                return Changes(pending);
            }
            self.0.notify.notified().await;
        }
    }

    /// As if a watched table had changed: for what is not a row (a channel that came back).
    pub fn poke(&self) {
        self.0.pending.fetch_or(self.0.mask, Ordering::SeqCst);
        self.0.notify.notify_one();
    }
}

#[derive(Default)]
pub(super) struct Announcer(Mutex<Vec<Weak<Subscriber>>>);

impl Announcer {
    pub(super) fn watch(&self, tables: &[Table]) -> Watch {
        let subscriber = Arc::new(Subscriber {
            mask: tables.iter().fold(0, |mask, table| mask | table.bit()),
            pending: AtomicU64::new(0),
            notify: Notify::new(),
        });
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&subscriber));
        Watch(subscriber)
    }

    pub(super) fn announce(&self, changes: Changes) {
        if changes.0 == 0 {
            return;
        }
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|weak| {
            let Some(subscriber) = weak.upgrade() else { return false };
            let hit = changes.0 & subscriber.mask;
            if hit != 0 {
                subscriber.pending.fetch_or(hit, Ordering::SeqCst);
                subscriber.notify.notify_one();
            }
            true
        });
    }
}
