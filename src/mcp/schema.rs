//! JSON schemas of arguments and results, without references: few clients resolve them.

use std::sync::Arc;

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// The schema of the arguments `T`.
pub(super) fn of_arguments<T: JsonSchema>() -> JsonObject {
    of::<T>(SchemaSettings::draft2020_12().for_deserialize(), &|keys| {
        if let Some(words) = words(keys) {
            keys.remove("oneOf");
            keys.insert("type".to_owned(), "string".into());
            keys.insert("enum".to_owned(), words.into());
        }
        if keys.get("default") == Some(&Value::Null) {
            keys.remove("default");
        }
        if let Some(Value::String(told)) = keys.get_mut("description") {
            *told = told.replace('\n', " ");
        }
    })
}

/// The schema of the result `T`, types and names only: clients send it to their model with every request, and the names
/// say enough.
pub(super) fn of_result<T: JsonSchema>() -> Arc<JsonObject> {
    Arc::new(of::<T>(SchemaSettings::draft2020_12().for_serialize(), &|keys| {
        if words(keys).is_some() {
            keys.remove("oneOf");
            keys.insert("type".to_owned(), "string".into());
        }
        keys.remove("enum");
        if keys.get("description").is_some_and(Value::is_string) {
            keys.remove("description");
        }
    }))
}

/// The inlined schema of `T`, with `change` applied to each part and without title and description.
fn of<T: JsonSchema>(settings: SchemaSettings, change: &dyn Fn(&mut JsonObject)) -> JsonObject {
    let settings = settings.with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    each(&mut schema, change);
    let Value::Object(mut schema) = schema else { return JsonObject::new() };
    ["$schema", "title", "description"].into_iter().for_each(|key| drop(schema.remove(key)));
    schema
}

fn each(schema: &mut Value, change: &dyn Fn(&mut JsonObject)) {
    match schema {
        Value::Object(keys) => {
            change(keys);
            keys.values_mut().for_each(|value| each(value, change));
        }
        Value::Array(all) => all.iter_mut().for_each(|value| each(value, change)),
        _ => {}
    }
}

/// The words of an enumeration whose variants have schemas of their own.
fn words(keys: &JsonObject) -> Option<Vec<Value>> {
    let word = |one: &Value| match (one.get("const"), one.get("enum").and_then(Value::as_array)) {
        (Some(word @ Value::String(_)), _) => Some(vec![word.clone()]),
        (None, Some(words)) => Some(words.clone()),
        _ => None,
    };
    let each: Option<Vec<Vec<Value>>> = keys.get("oneOf")?.as_array()?.iter().map(word).collect();
    Some(each?.concat())
}
