//! `docs/corpus-scores.md` matches the scores that oomdoc reaches on corpus/ today.

use std::error::Error;
use std::fs;
use std::path::Path;

#[path = "../../examples/accuracy_doc.rs"]
#[allow(dead_code)]
mod accuracy_doc;

#[test]
fn the_page_of_scores_is_up_to_date() -> Result<(), Box<dyn Error>> {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/corpus-scores.md"))?;
    assert!(page == accuracy_doc::render()?, "run `cargo run --example accuracy_doc > docs/corpus-scores.md`");
    Ok(())
}
