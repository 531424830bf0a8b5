use schemars::Schema;
use schemars::generate::SchemaSettings;

use super::Estimate;

/// The JSON Schema (draft 2020-12) of what `estimate --format json` writes, made from the types and their comments.
pub fn schema() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<Estimate>()
}
