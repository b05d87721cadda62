//! Canonical JSON (RFC 8785) that keeps integers exact.

use serde_json::{Map, Number, Value, json};
use unicode_normalization::UnicodeNormalization;

use crate::runtime::hash::sha256_hex;
use crate::store::StoreError;

/// Largest integer that a double holds exactly, and with it RFC 8785 (its appendix B).
const EXACT: u64 = 1 << 53;

/// SHA-256 of the canonical form.
pub fn canonical_hash(value: &Value) -> Result<String, StoreError> {
    Ok(sha256_hex(serde_json_canonicalizer::to_vec(&exact_numbers(value))?))
}

/// `value` with integers beyond 2^53 as `{"$integer": "…"}` and texts in NFC. A key that begins with `$` gets one more,
/// so that nobody can write the wrapper by hand.
pub fn exact_numbers(value: &Value) -> Value {
    match value {
        Value::Number(number) if is_too_large(number) => json!({ "$integer": number.to_string() }),
        Value::String(text) => Value::String(text.nfc().collect()),
        Value::Array(items) => Value::Array(items.iter().map(exact_numbers).collect()),
        Value::Object(fields) => {
            let mut out = Map::new();
            for (key, field) in fields {
                let key: String = key.nfc().collect();
                let key = if key.starts_with('$') { format!("${key}") } else { key };
                out.insert(key, exact_numbers(field));
            }
            Value::Object(out)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn is_too_large(number: &Number) -> bool {
    match (number.as_u64(), number.as_i64()) {
        (Some(positive), _) => positive > EXACT,
        (None, Some(negative)) => negative.unsigned_abs() > EXACT,
        (None, None) => false,
    }
}
