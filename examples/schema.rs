//! Writes the JSON Schema of reports, of estimates or of oomdoc.toml: `cargo run --example schema > docs/report.schema.json`,
//! `cargo run --example schema -- estimate > docs/estimate.schema.json`, `cargo run --example schema -- oomdoc > docs/oomdoc.schema.json`, and
//! the OpenAPI document of the server: `cargo run --example schema -- openapi > docs/openapi.json`.

use std::error::Error;

use schemars::Schema;

fn main() -> Result<(), Box<dyn Error>> {
    #[cfg(feature = "server")]
    if std::env::args().nth(1).as_deref() == Some("openapi") {
        println!("{}", serde_json::to_string_pretty(&oomdoc::internal::server::openapi())?);
        return Ok(());
    }
    let schema = match std::env::args().nth(1).as_deref() {
        Some("estimate") => oomdoc::internal::schema::estimate(),
        Some("oomdoc") => oomdoc::internal::schema::settings(),
        _ => oomdoc::internal::schema::report(),
    };
    print!("{}", render(&schema)?);
    Ok(())
}

/// The schema as it stands in the file.
pub fn render(schema: &Schema) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(schema)? + "\n")
}
