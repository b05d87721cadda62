//! Settings with the defaults of `[approvals]`, and what a decision needs beside its transaction.

use std::sync::Arc;
use std::time::Duration;

use crate::domain::ports::IdSource;
use crate::domain::tool::{Policy, PolicyKey};
use crate::evidence::{self, Targets};

#[derive(Clone, Debug)]
pub struct Settings {
    /// Time until a request expires.
    pub expires: Duration,
    pub policies: Policies,
    /// Telegram user ids from the configuration; paired owners are in the table `owners`.
    pub telegram_owners: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { expires: Duration::from_secs(72 * 3600), policies: Policies::default(), telegram_owners: Vec::new() }
    }
}

impl Settings {
    /// One reminder, when two thirds of the time have passed (48 h of 72 h).
    pub fn reminder_before(&self) -> Duration {
        self.expires / 3
    }
}

/// Policy per action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Policies {
    pub mail_send: Policy,
    pub calendar_create: Policy,
    pub calendar_create_with_guests: Policy,
    pub calendar_update: Policy,
    pub calendar_delete: Policy,
    pub other: Policy,
}

impl Default for Policies {
    fn default() -> Self {
        Self {
            mail_send: Policy::Ask,
            calendar_create: Policy::Auto,
            calendar_create_with_guests: Policy::Ask,
            calendar_update: Policy::Auto,
            calendar_delete: Policy::Ask,
            other: Policy::Ask,
        }
    }
}

impl Policies {
    pub fn of(&self, key: PolicyKey) -> Policy {
        match key {
            PolicyKey::MailSend => self.mail_send,
            PolicyKey::CalendarCreate => self.calendar_create,
            PolicyKey::CalendarUpdate => self.calendar_update,
            PolicyKey::CalendarDelete => self.calendar_delete,
            PolicyKey::Other => self.other,
        }
    }
}

/// What requests and decisions need beside their transaction. Cheap to clone.
#[derive(Clone)]
pub struct Rules {
    pub ids: Arc<dyn IdSource>,
    /// To fix what will leave in the transaction of the approval.
    pub targets: Targets,
    pub settings: Settings,
    pub evidence: evidence::Settings,
}
