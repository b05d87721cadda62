//! To be written.

pub mod window;
