use schemars::Schema;
use schemars::generate::SchemaSettings;

use crate::model::Report;

/// The JSON Schema (draft 2020-12) of [`json`](super::json())'s reports, made from the types and their comments.
pub fn schema() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<Report>()
}
