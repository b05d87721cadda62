//! How fast a channel may be spoken to: own limiter, because a channel's refusals cost more than waiting.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use crate::domain::conversation::{Address, ConversationKind};
use crate::domain::time::Elapsed;

/// Limits of one channel. Numbers of Telegram: <https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this>.
#[derive(Clone, PartialEq, Debug)]
pub struct Rates {
    /// Between any two requests.
    pub min_interval: Duration,
    /// One message per this time and chat.
    pub chat_interval: Duration,
    /// So many may follow each other at once in a chat.
    pub chat_burst: u32,
    /// Messages per minute and group.
    pub group_per_minute: u32,
    /// Messages per second in all.
    pub per_second: u32,
}

impl Default for Rates {
    fn default() -> Self {
        Self {
            min_interval: Duration::from_millis(100),
            chat_interval: Duration::from_secs(1),
            chat_burst: 3,
            group_per_minute: 20,
            per_second: 30,
        }
    }
}

/// Bucket that holds up to `size` and gains one per `refill`. Kept as the instant when it will be full again.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    full_at: i64,
}

impl Bucket {
    fn ready_at(self, size: u32, refill: Duration) -> i64 {
        self.full_at - millis(refill) * (i64::from(size) - 1)
    }

    fn take(&mut self, now: i64, refill: Duration) {
        self.full_at = self.full_at.max(now) + millis(refill);
    }
}

/// The last so many requests: none more within `span` after them.
#[derive(Clone, Debug, Default)]
struct Window(VecDeque<i64>);

impl Window {
    fn ready_at(&self, size: u32, span: Duration) -> i64 {
        let size = size.max(1) as usize;
        self.0.len().checked_sub(size).and_then(|n| self.0.get(n)).map_or(LONG_AGO, |at| at + millis(span))
    }

    fn take(&mut self, now: i64, size: u32) {
        self.0.push_back(now);
        while self.0.len() > size.max(1) as usize {
            self.0.pop_front();
        }
    }
}

#[derive(Clone, Debug)]
struct Chat {
    bucket: Bucket,
    group: Window,
    /// The channel said to wait.
    not_before: i64,
}

/// Whoever sends asks first. Times are on the elapsed clock.
#[derive(Debug)]
pub struct Limiter {
    rates: Rates,
    last: i64,
    all: Window,
    chats: HashMap<(String, String), Chat>,
}

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
/// Earlier than any instant, with room for subtraction.
const LONG_AGO: i64 = i64::MIN / 2;

/// Chats remembered before those at rest are forgotten.
const REMEMBERED: usize = 1024;

impl Limiter {
    pub fn new(rates: Rates) -> Self {
        Self { rates, last: LONG_AGO, all: Window::default(), chats: HashMap::new() }
    }

    /// When a message may go to this chat, at the earliest.
    pub fn ready_at(&self, to: &Address, kind: ConversationKind) -> Elapsed {
        let mut at = self.last + millis(self.rates.min_interval);
        at = at.max(self.all.ready_at(self.rates.per_second, SECOND));
        if let Some(chat) = self.chats.get(&key(to)) {
            at = at.max(chat.not_before).max(chat.bucket.ready_at(self.rates.chat_burst, self.rates.chat_interval));
            if kind == ConversationKind::Group {
                at = at.max(chat.group.ready_at(self.rates.group_per_minute, MINUTE));
            }
        }
        Elapsed(at)
    }

    /// A message goes to this chat now.
    pub fn take(&mut self, to: &Address, kind: ConversationKind, now: Elapsed) {
        self.last = now.0;
        self.all.take(now.0, self.rates.per_second);
        let rates = self.rates.clone();
        let chat = self.chat(to, now);
        chat.bucket.take(now.0, rates.chat_interval);
        if kind == ConversationKind::Group {
            chat.group.take(now.0, rates.group_per_minute);
        }
    }

    /// The channel wants silence in this chat until `until`; other chats go on.
    pub fn hold(&mut self, to: &Address, now: Elapsed, until: Elapsed) {
        let chat = self.chat(to, now);
        chat.not_before = chat.not_before.max(until.0);
    }

    fn chat(&mut self, to: &Address, now: Elapsed) -> &mut Chat {
        if self.chats.len() >= REMEMBERED {
            let minute_ago = now.0 - millis(MINUTE);
            self.chats.retain(|_, chat| {
                chat.bucket.full_at.max(chat.not_before) > now.0
                    || chat.group.0.back().is_some_and(|at| *at > minute_ago)
            });
        }
        self.chats.entry(key(to)).or_insert_with(|| Chat {
            bucket: Bucket { full_at: LONG_AGO },
            group: Window::default(),
            not_before: LONG_AGO,
        })
    }
}

fn key(to: &Address) -> (String, String) {
    (to.account.clone(), to.contact.clone())
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX / 8)
}
