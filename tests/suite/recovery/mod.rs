//! Kills, power cuts, disk faults and clock jumps, and what the database and the servers hold afterwards.
//!
//! Tests named `proof_…` are ignored in an ordinary run: they are bounded by time or count (`scripts/proof.sh`).

mod backup;
#[cfg(target_os = "linux")]
mod disk;
mod failpoints;
mod instances;
mod kill;
mod locks;
mod mail_crash;
mod mail_resets;
mod simulation;
mod speed;
mod world;
