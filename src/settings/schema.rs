use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde_json::Value;

use super::file::File;

/// The JSON Schema (draft 2020-12) of `oomdoc.toml`, generated from the types and their comments.
pub fn schema() -> Schema {
    let settings = SchemaSettings::draft2020_12().for_deserialize();
    settings.with_transform(RecursiveTransform(without_null)).into_generator().into_root_schema_for::<File>()
}

/// Removes `null` from optional fields: TOML has none.
fn without_null(schema: &mut Schema) {
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(ways)) = schema.get_mut("anyOf") {
        ways.retain(|way| way["type"] != "null");
        if let [Value::Object(only)] = ways.as_slice() {
            let only = only.clone();
            schema.remove("anyOf");
            only.into_iter().for_each(|(key, value)| drop(schema.insert(key, value)));
        }
    }
}
