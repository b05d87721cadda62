//! Approvals by rows, cards and audit, on virtual time.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cards;
mod decisions;
mod desk;
mod text;
mod time;

use desk::*;
