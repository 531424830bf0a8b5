//! Schemas of arguments and results, each whole in itself: few clients follow references.

use std::sync::Arc;

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// What `T` takes.
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

/// What `T` writes: types and names only. Clients hand all of it to their model, again and again, and what a field means its name says.
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

/// The schema of `T`, each part of it as `change` makes it, without what only repeats the type's name.
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

/// The words of an enumeration, where each is told of by itself or some are.
fn words(keys: &JsonObject) -> Option<Vec<Value>> {
    let word = |one: &Value| match (one.get("const"), one.get("enum").and_then(Value::as_array)) {
        (Some(word @ Value::String(_)), _) => Some(vec![word.clone()]),
        (None, Some(words)) => Some(words.clone()),
        _ => None,
    };
    let each: Option<Vec<Vec<Value>>> = keys.get("oneOf")?.as_array()?.iter().map(word).collect();
    Some(each?.concat())
}
