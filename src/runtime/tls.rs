//! One TLS provider (ring) for everything. reqwest panics without one, so this comes first everywhere.

/// Installs the provider once per process.
pub fn install_provider() {
    // silent-ok: the second call in one process finds the same provider installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
}
