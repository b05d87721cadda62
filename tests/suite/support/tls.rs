//! A certificate authority of its own and a certificate for `localhost`, made for each test.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// What a TLS server and the client that trusts it need.
#[derive(Clone)]
pub struct Certificates {
    pub server: Arc<ServerConfig>,
    pub roots: Vec<CertificateDer<'static>>,
}

impl Certificates {
    /// For `localhost`, or any other name.
    pub fn of(name: &str) -> Self {
        unavez::runtime::tls::install_provider();
        let authority_key = KeyPair::generate().unwrap();
        let mut authority = CertificateParams::new(Vec::new()).unwrap();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root = authority.self_signed(&authority_key).unwrap();
        let issuer = Issuer::new(authority, authority_key);

        let key = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let server =
            ServerConfig::builder().with_no_client_auth().with_single_cert(vec![leaf.der().clone()], key).unwrap();
        Self { server: Arc::new(server), roots: vec![root.der().clone()] }
    }
}
