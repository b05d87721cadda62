//! Who may come in: this computer only, with the token, and not by way of a web page.

use http::header::{AUTHORIZATION, HOST, ORIGIN};
use http::{HeaderMap, StatusCode, Uri};
use secrecy::ExposeSecret;

use super::routes::Failure;
use crate::domain::ports::SecretError;
use crate::runtime::hash::sha256_hex;
use crate::runtime::secrets::Secret;

/// Checks the headers of every request.
pub(super) async fn check(headers: &HeaderMap, token: &Secret) -> Result<(), Failure> {
    let mut hosts = headers.get_all(HOST).iter();
    let host = hosts.next().and_then(|value| value.to_str().ok()).unwrap_or_default();
    if hosts.next().is_some() || !is_loopback(host) {
        return Err(Failure::new(
            StatusCode::FORBIDDEN,
            "foreign_host",
            "this API answers to this computer's own name only",
        ));
    }
    for origin in headers.get_all(ORIGIN) {
        let origin: Option<Uri> = origin.to_str().ok().and_then(|text| text.parse().ok());
        let own = origin.and_then(|uri| uri.authority().map(|authority| is_loopback(authority.as_str())));
        if own != Some(true) {
            return Err(Failure::new(StatusCode::FORBIDDEN, "foreign_origin", "this API does not answer to web pages"));
        }
    }
    let given = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()).and_then(bearer);
    let expected = token.require().await.map_err(|error: SecretError| {
        let message = format!("the API's own token cannot be read: {error}");
        Failure::new(StatusCode::SERVICE_UNAVAILABLE, "no_token", message)
    })?;
    match given {
        Some(given) if same(given, expected.expose_secret()) => Ok(()),
        Some(_) | None => {
            Err(Failure::new(StatusCode::UNAUTHORIZED, "unauthorized", "the bearer token is missing or wrong"))
        }
    }
}

fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Compares hashes, so that the time taken says nothing of the token.
fn same(given: &str, expected: &str) -> bool {
    sha256_hex(given) == sha256_hex(expected)
}

/// `host` or `host:port` names the loopback interface.
fn is_loopback(authority: &str) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.rsplit_once(':').map_or(authority, |(host, _)| host),
    };
    host.eq_ignore_ascii_case("localhost") || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_names_are_ours() {
        for own in ["127.0.0.1:7717", "127.0.0.1", "localhost:1", "LOCALHOST", "[::1]:7717", "[::1]"] {
            assert!(is_loopback(own), "{own}");
        }
        for foreign in
            ["", "example.test", "127.0.0.1.example.test", "localhost.example.test:80", "10.0.0.1:7717", "[::2]"]
        {
            assert!(!is_loopback(foreign), "{foreign}");
        }
    }
}
