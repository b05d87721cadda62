//! The local API as a channel: messages in by `POST`, deliveries out as the answer and as server-sent events.
//!
//! In: HTTP on the loopback interface with a bearer token. Out: [`crate::domain::session::Sessions`] calls.
//! Invariants: only the loopback interface; no request without the token; no foreign `Host` or `Origin`, so that a web
//! page in a browser cannot reach it. A delivery is a row; the stream and the answer both read rows.

mod channel;
mod gate;
mod routes;
#[cfg(test)]
mod tests;

pub use channel::HttpChannel;
pub use routes::{ServeError, Server};
