use schemars::Schema;

use super::Estimate;
use crate::report::schema_of;

/// The JSON Schema (draft 2020-12) of what `estimate --format json` writes, made from the types and their comments.
pub fn schema() -> Schema {
    schema_of::<Estimate>()
}
