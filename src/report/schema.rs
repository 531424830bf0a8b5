use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};

use crate::model::Report;

/// The JSON Schema (draft 2020-12) of [`json`](super::json())'s reports, made from the types and their comments.
pub fn schema() -> Schema {
    schema_of::<Report>()
}

/// The JSON Schema (draft 2020-12) of what is written of `T`.
pub(crate) fn schema_of<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}
