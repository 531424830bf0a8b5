//! Writes the JSON Schema of reports: `cargo run --example schema > docs/report.schema.json`.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", render()?);
    Ok(())
}

/// The schema, as the file has it.
pub fn render() -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(&oomdoc::report::schema())? + "\n")
}
