//! The guard by its verdicts, on virtual time.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod acts;
mod calendar;
mod concurrency;
mod desk;
mod events;
mod mails;
mod model;
mod normalisation;
mod policy;
mod replay;
mod seeded;
mod vectors;
mod window;

use desk::*;
