//! What a host may ask of the running assistant: the command line, the local API and the window.
//!
//! In: requests as plain data. Out: rows with frozen names, failures as code and message.
//! Invariants: reads go to SQLite page by page; every act of a person goes through the stage that owns it; no secret
//! crosses.

mod answer;
mod request;
pub mod rows;
mod sessions;
mod status;
pub mod window;

pub use answer::{Api, Host, Parts, instant};
pub use request::{Failure, FailureCode, Line, Request, Resolution};
pub use sessions::ApiSessions;
pub use status::{EdgeStatus, HostStatus};
