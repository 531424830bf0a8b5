//! The manual pages and completions in the packages match the command line.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;

use walkdir::WalkDir;

#[path = "../../examples/manual.rs"]
#[allow(dead_code)]
mod written;

fn files(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>, Box<dyn Error>> {
    let mut files = BTreeMap::new();
    for entry in WalkDir::new(folder) {
        let entry = entry?;
        if entry.file_type().is_file() {
            let name = entry.path().strip_prefix(folder)?.display().to_string();
            files.insert(name, fs::read(entry.path())?);
        }
    }
    Ok(files)
}

#[test]
fn packages_carry_the_manual_of_this_version() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    written::write(folder.path())?;
    let kept = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("python/data/data"))?;
    let made = files(folder.path())?;
    assert!(made.len() > 20, "{:?}", made.keys());
    let differ: Vec<&String> =
        made.keys().chain(kept.keys()).filter(|name| made.get(*name) != kept.get(*name)).collect();
    assert!(
        differ.is_empty(),
        "remove python/data/data and run `cargo run --example manual -- python/data/data`: {differ:?}"
    );
    Ok(())
}
