//! The golden pairs of `tests/vectors/identity.json`, each with its reason, and hashes that must never change by accident.

use serde::Deserialize;

use super::*;
use crate::evidence::testing::*;
use crate::guard::normalise::normalise;

#[derive(Deserialize)]
struct Vectors {
    version: i64,
    zone: String,
    pairs: Vec<Pair>,
}

#[derive(Deserialize)]
struct Pair {
    same: bool,
    reason: String,
    first: Action,
    second: Action,
    #[serde(default)]
    accounts: Option<(String, String)>,
}

#[test]
fn every_golden_pair_is_the_same_action_or_not_for_its_reason() {
    let vectors: Vectors = serde_json::from_str(include_str!("../../../tests/vectors/identity.json")).unwrap();
    assert_eq!(vectors.version, crate::guard::NORMALISATION);
    assert!(vectors.pairs.len() >= 120);
    let zone = crate::domain::when::time_zone(&vectors.zone).unwrap();
    let mut wrong = Vec::new();
    for pair in vectors.pairs {
        let accounts = pair.accounts.unwrap_or(("me".into(), "me".into()));
        let first = normalise(&pair.first, &zone, &accounts.0).unwrap();
        let second = normalise(&pair.second, &zone, &accounts.1).unwrap();
        if (first.identity == second.identity) != pair.same {
            wrong.push(pair.reason);
        } else if first.digest == second.digest {
            assert!(pair.same, "the digest covers the identity: {}", pair.reason);
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// Stored identities outlive the program that wrote them: another hash for the same action needs a new version.
#[test]
fn hashes_of_version_one() {
    let zone = jiff::tz::TimeZone::UTC;
    let hashes = |action: Action| {
        let normalised = normalise(&action, &zone, "me").unwrap();
        [&normalised.identity.0, &normalised.digest.0, &normalised.literal.0].map(|hash| hash[..16].to_owned())
    };
    assert_eq!(
        [
            hashes(Action::CreateEvent(event("Dentist", "2026-03-10T09:00:00+01:00"))),
            hashes(Action::SendEmail(mail("a@example.test", "Offer", "Hi"))),
        ],
        [
            ["8ac1a4049dd949f7", "7233c81ee2b8c79b", "2af4fe558f5f2b07"],
            ["73f75675879b4ab2", "af9950cf89bb6823", "433f8294192c1749"],
        ]
    );
}
