//! Settings of `[mail.imap]`.

use std::time::Duration;

use crate::mail::net::{ExtraRoots, Tls};

#[derive(Clone, Debug)]
pub struct ImapSettings {
    pub host: String,
    pub port: u16,
    pub tls: Tls,
    pub user: String,
    /// Name of the Sent folder; empty or `auto`: the one with the `\Sent` attribute.
    pub sent: String,
    /// For one whole operation, sign-in included.
    pub timeout: Duration,
    pub connect_timeout: Duration,
    pub roots: ExtraRoots,
}

impl Default for ImapSettings {
    fn default() -> Self {
        Self {
            host: String::new(),
            port: 993,
            tls: Tls::Implicit,
            user: String::new(),
            sent: "auto".to_owned(),
            timeout: Duration::from_secs(90),
            connect_timeout: Duration::from_secs(30),
            roots: Vec::new(),
        }
    }
}
