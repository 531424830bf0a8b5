//! The JSON Schemas (draft 2020-12) of what oomdoc writes, made from the types and their comments. `examples/schema.rs` prints them for
//! docs/.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};

use crate::estimate::Estimate;
use crate::model::Report;

/// Of a report.
pub fn report() -> Schema {
    of::<Report>()
}

/// Of an estimate.
pub fn estimate() -> Schema {
    of::<Estimate>()
}

/// Of `oomdoc.toml`.
#[cfg(feature = "cli")]
pub use crate::settings::schema as settings;

fn of<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}
