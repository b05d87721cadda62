//! Time, ids, backoff, secrets, shutdown and failpoints: what every stage needs from the machine it runs on.

pub mod backoff;
pub mod clock;
pub mod failpoint;
pub mod hash;
pub mod ids;
pub mod oauth;
pub mod redact;
pub mod secrets;
pub mod seeded;
pub mod shutdown;
pub mod tls;
