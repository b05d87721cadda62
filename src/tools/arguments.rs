//! Arguments as the model gave them, checked against the tool's own type.

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error};
use serde_json::{Value, json};

use super::context::ToolResult;

/// Told to the model as a result, so that it can call again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct ArgumentError {
    /// Name of the argument, where one is to blame.
    pub argument: Option<String>,
    /// What is wrong, with the value.
    pub problem: String,
    /// What would be right.
    pub expected: Option<String>,
}

impl ArgumentError {
    pub fn new(argument: &str, problem: impl Into<String>, expected: &str) -> Self {
        Self { argument: Some(argument.to_owned()), problem: problem.into(), expected: Some(expected.to_owned()) }
    }

    pub fn result(&self) -> ToolResult {
        let mut content = json!({
            "status": "error",
            "error": "invalid_arguments",
            "message": format!("{}. Nothing was done; correct the arguments and call again.", self.problem),
        });
        if let Some(argument) = &self.argument {
            content["argument"] = json!(argument);
        }
        if let Some(expected) = &self.expected {
            content["expected"] = json!(expected);
        }
        ToolResult::new(content)
    }
}

/// Reads the arguments of a call. Text means that the model's JSON was broken.
pub fn parse<T: DeserializeOwned>(arguments: &Value) -> Result<T, ArgumentError> {
    let arguments = match arguments {
        // Some models write no arguments at all for a tool that needs none.
        Value::Null => json!({}),
        Value::String(text) if text.trim().is_empty() => json!({}),
        Value::String(text) => {
            let reason = serde_json::from_str::<Value>(text).err().map_or_else(
                || "a JSON text instead of a JSON object".to_owned(),
                |error| format!("not valid JSON ({error})"),
            );
            return Err(ArgumentError {
                argument: None,
                problem: format!("the arguments are {reason}"),
                expected: Some("one JSON object".to_owned()),
            });
        }
        other => other.clone(),
    };
    serde_path(arguments)
}

fn serde_path<T: DeserializeOwned>(arguments: Value) -> Result<T, ArgumentError> {
    T::deserialize(arguments).map_err(|error| ArgumentError {
        argument: None,
        problem: format!("the arguments do not fit the tool: {error}"),
        expected: None,
    })
}

/// For `#[serde(deserialize_with)]`: a flat list of texts. A list inside a list and a list written as text are refused,
/// because a fragment of either would become an address.
pub fn string_list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let Value::Array(items) = value else {
        return Err(D::Error::custom(format!(
            "expected a list of texts such as [\"ana@example.test\"], found {value}"
        )));
    };
    items
        .into_iter()
        .map(|item| match item {
            Value::String(text) if !text.trim_start().starts_with('[') => Ok(text.trim().to_owned()),
            other => Err(D::Error::custom(format!("expected one text per item of the list, found {other}"))),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[derive(Deserialize, Debug, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        title: String,
        #[serde(default, deserialize_with = "string_list")]
        guests: Vec<String>,
    }

    #[test]
    fn lists_must_be_flat() {
        let good: Sample = parse(&json!({"title": "a", "guests": [" a@example.test", "Bo <b@example.test>"]})).unwrap();
        assert_eq!(good.guests, ["a@example.test", "Bo <b@example.test>"]);
        for bad in [
            json!([["a@example.test", "b@example.test"]]),
            json!("[\"a@example.test\"]"),
            json!(["[\"a@example.test\"]"]),
            json!([1]),
            json!({"0": "a@example.test"}),
        ] {
            let error = parse::<Sample>(&json!({"title": "a", "guests": bad})).unwrap_err();
            assert!(error.problem.contains("expected"), "{error}");
        }
    }

    #[test]
    fn broken_json_and_wrong_names_say_what_to_change() {
        let broken = parse::<Sample>(&json!("{\"title\": \"a\"")).unwrap_err();
        assert!(broken.problem.contains("not valid JSON"), "{broken}");
        let unknown = parse::<Sample>(&json!({"title": "a", "name": "b"})).unwrap_err();
        assert!(unknown.problem.contains("`name`") && unknown.problem.contains("`guests`"), "{unknown}");
        let missing = parse::<Sample>(&json!({})).unwrap_err();
        assert!(missing.problem.contains("`title`"), "{missing}");
        assert_eq!(missing.result().content["error"], "invalid_arguments");
    }
}
