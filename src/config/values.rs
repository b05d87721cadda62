//! How single values are written: durations and secrets.

use std::time::Duration;

use toml_edit::{Item, TableLike};

use crate::runtime::secrets::SecretRef;

/// Longest duration that makes sense here; keeps sums of instants far from overflow.
const LONGEST: Duration = Duration::from_secs(10 * 366 * 86_400);

pub(super) const DURATION_ALLOWED: &str = "a number with ms, s, m, h or d, such as \"250ms\", \"4s\", \"10m\", \"24h\"";
pub(super) const SECRET_ALLOWED: &str = "\"keychain\", { env = \"NAME\" }, { file = \"PATH\" } (mode 0600) or \"none\"";

const UNITS: [(&str, u64); 5] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// `None` when the text is no duration of this program's kind.
pub fn duration(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let factor = UNITS.iter().find(|(name, _)| *name == unit)?.1;
    let millis = number.parse::<u64>().ok()?.checked_mul(factor)?;
    Some(Duration::from_millis(millis)).filter(|duration| *duration <= LONGEST)
}

/// As the file would say it: the largest unit that leaves no rest.
pub fn duration_text(duration: Duration) -> String {
    let millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    // Days are read but not written: "24h" is how the documentation says it.
    let (unit, factor) =
        UNITS[..4].iter().rev().find(|(_, factor)| millis % factor == 0 && millis >= *factor).unwrap_or(&("s", 1_000));
    format!("{}{unit}", millis / factor)
}

pub(super) fn secret(item: &Item) -> Option<SecretRef> {
    if let Some(word) = item.as_str() {
        return match word {
            "keychain" => Some(SecretRef::Keychain),
            "none" => Some(SecretRef::None),
            _ => None,
        };
    }
    let table: &dyn TableLike = item.as_table_like()?;
    let mut entries = table.iter();
    let (key, value) = entries.next()?;
    if entries.next().is_some() {
        return None;
    }
    let value = value.as_str().filter(|text| !text.is_empty())?;
    match key {
        "env" => Some(SecretRef::Env(value.to_owned())),
        "file" => Some(SecretRef::File(value.into())),
        _ => None,
    }
}

pub(super) fn secret_value(secret: &SecretRef) -> toml_edit::Value {
    let table = |key: &str, value: String| {
        let mut table = toml_edit::InlineTable::new();
        table.insert(key, value.into());
        table.into()
    };
    match secret {
        SecretRef::Keychain => "keychain".into(),
        SecretRef::None => "none".into(),
        SecretRef::Env(name) => table("env", name.clone()),
        SecretRef::File(path) => table("file", path.display().to_string()),
    }
}

/// Effective values as one TOML text, section by section.
pub fn as_toml(effective: &[(Vec<String>, toml_edit::Value)]) -> String {
    let mut document = toml_edit::DocumentMut::new();
    for (path, value) in effective {
        insert(document.as_table_mut(), path, value);
    }
    document.to_string()
}

fn insert(table: &mut toml_edit::Table, path: &[String], value: &toml_edit::Value) {
    match path {
        [] => {}
        [key] => {
            table.insert(key, Item::Value(value.clone()));
        }
        [key, rest @ ..] => {
            let mut fresh = toml_edit::Table::new();
            fresh.set_implicit(true);
            if let Some(inner) = table.entry(key).or_insert(Item::Table(fresh)).as_table_mut() {
                insert(inner, rest, value);
            }
        }
    }
}

/// A value of the file as JSON.
pub fn as_json(value: &toml_edit::Value) -> serde_json::Value {
    use toml_edit::Value;
    match value {
        Value::String(text) => text.value().as_str().into(),
        Value::Integer(number) => (*number.value()).into(),
        Value::Float(number) => (*number.value()).into(),
        Value::Boolean(flag) => (*flag.value()).into(),
        Value::Datetime(at) => at.value().to_string().into(),
        Value::Array(items) => items.iter().map(as_json).collect(),
        Value::InlineTable(table) => {
            serde_json::Value::Object(table.iter().map(|(key, value)| (key.to_owned(), as_json(value))).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn durations_are_read_and_written_alike() {
        for text in ["250ms", "4s", "10m", "24h", "1200ms", "0s"] {
            assert_eq!(duration_text(duration(text).unwrap()), text);
        }
        assert_eq!(duration("1d"), duration("24h"));
        for bad in ["", "4", "s", "4 s", "-4s", "4sec", "1.5s", "99999999999999999999h", "9999999h"] {
            assert_eq!(duration(bad), None, "{bad}");
        }
    }
}
