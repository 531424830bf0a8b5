//! docs/formats.md agrees with the examples of the grammars.

use std::error::Error;
use std::fs;
use std::path::Path;

#[path = "../../examples/formats_doc.rs"]
#[allow(dead_code)]
mod formats_doc;

#[test]
fn the_page_of_formats_is_up_to_date() -> Result<(), Box<dyn Error>> {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/formats.md"))?;
    assert!(page == formats_doc::render()?, "run `cargo run --example formats_doc > docs/formats.md`");
    Ok(())
}
