//! Pieces of the canonical form.

use serde_json::json;

use super::*;
use crate::evidence::testing::*;
use crate::guard::normalise::{body_text, canonical_hash, line, normalise, subject, title};

#[test]
fn titles_and_lines() {
    assert_eq!(title("  Dentist!! "), "dentist");
    assert_eq!(title("¿Cena?"), "¿cena");
    assert_eq!(title("..."), "...");
    assert_eq!(title("Straße"), title("STRASSE"));
    assert_eq!(line("ﬁle １"), "file 1");
}

#[test]
fn subjects() {
    assert_eq!(subject("Re: RE[2]: Offer", true), "offer");
    assert_eq!(subject("Re: Offer", false), "re: offer");
    assert_eq!(subject("Fwd: Offer", true), "fwd: offer");
    assert_eq!(subject("Retail: Offer", true), "retail: offer");
}

#[test]
fn bodies() {
    let cases = [
        ("ok\n\n> old", true, "ok"),
        ("ok\n\n> old", false, "ok\n> old"),
        ("yes\n> do you?\nand no", true, "yes\n> do you?\nand no"),
        ("> only quoted", true, "> only quoted"),
        ("ok\n\nEl lun, 2 mar 2026, Ana escribió:\n> viejo", true, "ok"),
        ("ok\n-----Original Message-----\nFrom: x", true, "ok"),
        ("ok\n-- \nBo", true, "ok\n--\nBo"),
        ("Notes:\n- a\n- b", true, "Notes:\n- a\n- b"),
    ];
    for (text, reply, expected) in cases {
        assert_eq!(body_text(text, None, reply), expected, "{text}");
    }
}

#[test]
fn hashes_are_by_value_and_exact() {
    let hash = |value: serde_json::Value| canonical_hash(&value).unwrap();
    assert_eq!(hash(json!({"a": 1, "b": 2})), hash(json!({"b": 2, "a": 1})));
    assert_ne!(hash(json!(9_007_199_254_740_993_u64)), hash(json!(9_007_199_254_740_992_u64)));
    assert_ne!(hash(json!(9_007_199_254_740_993_u64)), hash(json!({"$integer": "9007199254740993"})));
    assert_ne!(hash(json!(-9_007_199_254_740_993_i64)), hash(json!(-9_007_199_254_740_992_i64)));
    assert_eq!(hash(json!("Zoe\u{308}")), hash(json!("Zoë")));
}

#[test]
fn case_f10_the_order_of_keys_does_not_void_a_literal_hash() {
    let zone = jiff::tz::TimeZone::UTC;
    let one = Action::Other(crate::domain::action::OtherAction {
        tool: "t".into(),
        arguments: json!({"a": 1, "b": 2}),
        identity_fields: vec![],
    });
    let other = Action::Other(crate::domain::action::OtherAction {
        tool: "t".into(),
        arguments: json!({"b": 2, "a": 1}),
        identity_fields: vec![],
    });
    let literal = |action: &Action| normalise(action, &zone, "me").unwrap().literal;
    assert_eq!(literal(&one), literal(&other));
    let mut mail = mail("a@example.test", "x", "y");
    let before = literal(&Action::SendEmail(mail.clone()));
    mail.body.push(' ');
    assert_ne!(before, literal(&Action::SendEmail(mail)), "every byte that is shown counts");
}
