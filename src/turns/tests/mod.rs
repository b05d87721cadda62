//! Turns on real rows: scripted model, virtual clock, a channel that records, tools that count.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod desk;
mod double_texting;
mod effects;
mod failures;
mod later;
mod messages;
mod order;
mod prompt;
mod recovery;
