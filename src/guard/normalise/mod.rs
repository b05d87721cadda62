//! Normalisation by meaning: when two actions are the same business action.
//!
//! The canonical form is versioned ([`NORMALISATION`]) and hashed as RFC 8785 JSON, so that a second implementation
//! can give the same hashes; `tests/vectors/identity.json` holds the pairs that it must get right.
//! Never strips digits, never folds plus tags or dots of an address.

mod action;
mod body;
mod canonical;
mod text;

pub use action::{Field, NORMALISATION, Normalised, normalise};
pub use body::body_text;
pub use canonical::{canonical_hash, exact_numbers};
pub use text::{line, subject, title};
