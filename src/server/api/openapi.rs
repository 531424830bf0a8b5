use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::super::problem::Problem;
use super::super::routes::{Description, RequestBody, ResponseBody, Route};

/// The OpenAPI 3.1 document of those `routes` that describe themselves.
pub fn openapi(routes: &[Route]) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    let problem = generator.subschema_for::<Problem>();
    let mut paths: Map<String, Value> = Map::new();
    for Route { path, method, need, about, .. } in routes {
        let Some(about) = about else { continue };
        let operation = operation(path, about, need.map(|need| need.as_str()), &problem, &mut generator);
        let methods = paths.entry(*path).or_insert_with(|| json!({}));
        methods[method.as_str().to_lowercase()] = operation;
    }
    let schemas = generator.take_definitions(true);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "oomdoc",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Post-mortems for out-of-memory failures, and the history of a team.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
        },
    })
}

fn operation(
    path: &str,
    about: &Description,
    scope: Option<&'static str>,
    problem: &Schema,
    generator: &mut SchemaGenerator,
) -> Value {
    let mut parameters = Vec::new();
    for name in path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')) {
        parameters.push(json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }));
    }
    if let Some(describe) = about.query {
        parameters.extend(query(&describe(generator), generator));
    }
    let answer = match &about.answer {
        ResponseBody::Nothing => json!({ "description": "Done" }),
        ResponseBody::Json(describe) => {
            json!({ "description": "The answer", "content": { "application/json": { "schema": describe(generator) } } })
        }
        ResponseBody::Bytes(kind) => json!({ "description": "The answer", "content": { *kind: {} } }),
    };
    let refusal = json!({ "description": "Why not", "content": { "application/problem+json": { "schema": problem } } });
    let mut operation = json!({
        "summary": about.summary,
        "parameters": parameters,
        "responses": { "200": answer, "default": refusal },
    });
    match &about.body {
        RequestBody::Nothing => {}
        RequestBody::Json(describe) => {
            let content = json!({ "application/json": { "schema": describe(generator) } });
            operation["requestBody"] = json!({ "required": true, "content": content });
        }
        RequestBody::Bytes(kind) => {
            let content = json!({ *kind: { "schema": { "type": "string", "format": "binary" } } });
            operation["requestBody"] = json!({ "required": true, "content": content });
        }
    }
    if let Some(scope) = scope {
        operation["security"] = json!([{ "token": [] }]);
        operation["description"] = json!(format!("Takes the scope `{scope}`."));
    }
    operation
}

/// The fields of the type behind `schema`, as query parameters.
fn query(schema: &Schema, generator: &SchemaGenerator) -> Vec<Value> {
    let name = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next());
    let known = name.and_then(|name| generator.definitions().get(name)).unwrap_or(schema.as_value());
    let Some(properties) = known["properties"].as_object() else { return Vec::new() };
    let fields = properties.iter().map(|(name, field)| {
        let mut field = field.clone();
        let description = field.as_object_mut().and_then(|field| field.remove("description"));
        json!({ "name": name, "in": "query", "required": false, "schema": field, "description": description })
    });
    fields.collect()
}
