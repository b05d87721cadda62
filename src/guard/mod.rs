//! 7. The guard: the same business action once, whoever words it and wherever it comes from.
//!
//! In: an effect that a tool or a person asks for, literal and typed. Out: a [`crate::domain::effect::Verdict`]; a new
//! effect row (with its approval, where one is needed), or none.
//! Invariants: reading, deciding and inserting are one transaction; the verdict is stored under the exact key and a
//! replay gets it back; only success marks an action as done, but one in flight or unknown blocks as well; a prevented
//! duplicate is recorded with the first effect beside it; only a person's act starts a second occurrence.
//! Absent on purpose: reads (they never come here) and any trust in what a model says of itself.

mod acts;
mod admit;
mod differences;
mod error;
mod judge;
mod key;
mod look;
mod near;
pub mod normalise;
mod policy;
mod prevented;
mod provenance;
mod request;
mod settings;
mod standing;
mod transaction;
mod validate;
pub mod words;

pub use acts::{Person, do_anyway, edit};
pub use admit::admit;
pub use error::GuardError;
pub use key::exact_key;
pub use normalise::{Field, NORMALISATION, Normalised, normalise};
pub use request::{AdmitRequest, Deps};
pub use settings::{NearDuplicates, Settings};

#[cfg(test)]
mod tests;
