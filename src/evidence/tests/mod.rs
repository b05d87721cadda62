//! The queue by rows and by what really left, on virtual time.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod attention;
mod decisions;
mod desk;
mod machine;
mod mail;
mod queue;
mod recovery;
mod retry;

use desk::{HOUR, MINUTE, SECOND, put};
