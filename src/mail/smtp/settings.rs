//! Settings of `[mail.smtp]`.

use std::time::Duration;

use crate::mail::net::{ExtraRoots, Tls};

#[derive(Clone, Debug)]
pub struct SmtpSettings {
    pub host: String,
    pub port: u16,
    pub tls: Tls,
    /// Empty: no AUTH.
    pub user: String,
    /// Wait for the reply to the final dot (RFC 5321 4.5.3.2.6: 10 min).
    pub final_reply_timeout: Duration,
    /// Wait for the reply to any other command, and for each block of the body to leave.
    pub step_timeout: Duration,
    pub connect_timeout: Duration,
    /// The provider files the Sent copy by itself.
    pub files_sent: bool,
    pub roots: ExtraRoots,
}

impl Default for SmtpSettings {
    fn default() -> Self {
        Self {
            host: String::new(),
            port: 465,
            tls: Tls::Implicit,
            user: String::new(),
            final_reply_timeout: Duration::from_secs(600),
            step_timeout: Duration::from_secs(120),
            connect_timeout: Duration::from_secs(30),
            files_sent: false,
            roots: Vec::new(),
        }
    }
}

impl SmtpSettings {
    /// The longest an attempt can take with `recipients` of them: for the lease of a claim.
    pub fn longest_attempt(&self, recipients: u32) -> Duration {
        // Greeting, EHLO twice, STARTTLS, AUTH in up to four lines, MAIL, DATA, and the body's blocks.
        self.connect_timeout * 2 + self.step_timeout * (12 + recipients) + self.final_reply_timeout
    }
}
