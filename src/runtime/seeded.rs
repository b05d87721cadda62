//! Protocol bugs put in on purpose, to see that the proofs catch them. Compiled in by the feature `proof` only.
//!
//! `UNAVEZ_BUG=NAME` turns one on for the process, [`plant`] for the current thread: the places that can go wrong ask
//! [`bug`].

/// Is this bug turned on?
#[cfg(not(feature = "proof"))]
#[inline(always)]
pub fn bug(_name: &str) -> bool {
    false
}

#[cfg(feature = "proof")]
pub use planted::{bug, plant};

#[cfg(feature = "proof")]
mod planted {
    use std::cell::Cell;
    use std::sync::OnceLock;

    thread_local! {
        static HERE: Cell<Option<&'static str>> = const { Cell::new(None) };
    }

    /// Is this bug turned on?
    pub fn bug(name: &str) -> bool {
        static BUG: OnceLock<Option<String>> = OnceLock::new();
        HERE.get() == Some(name) || BUG.get_or_init(|| std::env::var("UNAVEZ_BUG").ok()).as_deref() == Some(name)
    }

    /// Turns a bug on, or all off, for this thread.
    pub fn plant(name: Option<&'static str>) {
        HERE.set(name);
    }
}
