//! Sending by SMTP (RFC 5321), one connection per attempt, classified by phase.
//!
//! In: frozen bytes and the recipients still open. Out: one [`Performed`](crate::domain::effect::Performed) with a
//! result per recipient and the server's own words.
//! Invariants: until the line with the final dot has left, a broken connection is `retryable`; a 4xx reply to any command
//! is `retryable`, a 5xx `rejected`; once the final dot could have left, only its reply decides and silence is `unknown`.
//! After an acceptance nothing changes it, QUIT least of all.

mod body;
mod dialogue;
mod reply;
mod sender;
mod settings;
mod wire;

pub use sender::SmtpSender;
pub use settings::SmtpSettings;
