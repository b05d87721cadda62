//! JSON Schemas for the model, from the argument types, in the subset that every provider takes.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::domain::chat::ToolSpec;

/// The tool as a model is told of it. Doc comments of `T` and its fields become the descriptions.
pub fn spec<T: JsonSchema>(name: &str, description: &str) -> ToolSpec {
    ToolSpec { name: name.to_owned(), description: description.to_owned(), schema: schema::<T>() }
}

/// Inlined, without `$schema`, titles, formats and "or null": some providers refuse those.
pub fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft07().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    plain(&mut schema);
    if let Some(root) = schema.as_object_mut() {
        root.remove("description");
        root.entry("properties").or_insert_with(|| serde_json::json!({}));
    }
    schema
}

fn plain(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else { return };
    for name in ["$schema", "title", "format", "default", "additionalProperties", "minimum"] {
        // A property may be called `title`: only the schema's own keyword (a text) goes.
        if !fields.get(name).is_some_and(Value::is_object) {
            fields.remove(name);
        }
    }
    if let Some(Value::Array(types)) = fields.get("type") {
        let named: Vec<Value> = types.iter().filter(|kind| *kind != "null").cloned().collect();
        if let [only] = named.as_slice() {
            let only = only.clone();
            fields.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        properties.values_mut().for_each(plain);
    }
    if let Some(items) = fields.get_mut("items") {
        plain(items);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Only documents the type itself.
    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "only its schema is used")]
    struct Sample {
        /// What it is called.
        title: String,
        guests: Option<Vec<String>>,
        minutes: Option<u32>,
    }

    #[test]
    fn a_schema_uses_the_plain_subset() {
        assert_eq!(
            schema::<Sample>(),
            json!({
                "type": "object",
                "properties": {
                    "title": { "description": "What it is called.", "type": "string" },
                    "guests": { "type": "array", "items": { "type": "string" } },
                    "minutes": { "type": "integer" },
                },
                "required": ["title"],
            })
        );
    }
}
