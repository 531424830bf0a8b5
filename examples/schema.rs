//! Writes the JSON Schema of reports, or of estimates: `cargo run --example schema > docs/report.schema.json`,
//! `cargo run --example schema -- estimate > docs/estimate.schema.json`.

use std::error::Error;

use schemars::Schema;

fn main() -> Result<(), Box<dyn Error>> {
    let is_estimate = std::env::args().nth(1).is_some_and(|word| word == "estimate");
    print!(
        "{}",
        render(&if is_estimate { oomdoc::internal::schema::estimate() } else { oomdoc::internal::schema::report() })?
    );
    Ok(())
}

/// The schema, as the file has it.
pub fn render(schema: &Schema) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(schema)? + "\n")
}
