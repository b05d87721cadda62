//! Effect targets: one file per kind of outside world, called by the evidence worker only.
