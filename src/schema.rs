//! The JSON Schemas (draft 2020-12) of oomdoc's output, made from the types and their comments. `examples/schema.rs`
//! prints them for docs/.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};

use crate::estimate::Estimate;
use crate::model::Report;

/// The schema of a report.
pub fn report() -> Schema {
    of::<Report>()
}

/// The schema of an estimate.
pub fn estimate() -> Schema {
    of::<Estimate>()
}

/// The schema of `oomdoc.toml`.
#[cfg(feature = "cli")]
pub use crate::settings::schema as settings;

fn of<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}
