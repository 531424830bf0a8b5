//! Writes the patterns of secrets for the Python package: `cargo run --example secrets >
//! python/oomdoc/_watch/secrets.json`.

use std::error::Error;

use oomdoc::internal::knowledge::Knowledge;
use serde_json::json;

fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", render()?);
    Ok(())
}

/// One line per row of `rules/redaction/`; names of values become patterns, and triggers are lower-cased.
pub fn render() -> Result<String, Box<dyn Error>> {
    let rows: Result<Vec<String>, _> = Knowledge::shipped()?.secrets.iter().map(|secret| {
        let triggers: Vec<String> = secret.triggers.iter().map(|trigger| trigger.to_lowercase()).collect();
        serde_json::to_string(&json!({
            "name": secret.name, "triggers": triggers, "pattern": secret.pattern, "unless": secret.unless, "harmless": secret.harmless,
        }))
    }).collect();
    Ok(format!("[\n{}\n]\n", rows?.join(",\n")))
}
