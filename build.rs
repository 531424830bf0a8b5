//! Embeds `rules/` into the binary: a list of its files, each as it is written and as an analysis reads it.
//!
//! TOML is for people: parsing it took most of the time of analysing a small log. JSON of the same content, without the
//! examples, which an analysis does not need, takes a tenth of that.

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=rules");
    let mut files = Vec::new();
    collect(Path::new("rules"), &mut files)?;
    files.sort();
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let rules = env::current_dir()?.join("rules");
    let mut rows = String::new();
    for (index, file) in files.iter().enumerate() {
        let written = rules.join(file);
        let prepared = out.join(format!("rule{index}.json"));
        let json = prepare(&fs::read_to_string(&written)?).map_err(|error| format!("rules/{file}: {error}"))?;
        fs::write(&prepared, json)?;
        writeln!(rows, "    ({file:?}, include_str!({written:?}), include_str!({prepared:?})),")?;
    }
    fs::write(out.join("rules.rs"), format!("&[\n{rows}]\n"))?;
    Ok(())
}

/// What an analysis reads of a file.
fn prepare(content: &str) -> Result<String, Box<dyn Error>> {
    let mut table: toml::Table = content.parse()?;
    for of_people in ["example", "near_miss"] {
        table.remove(of_people);
    }
    Ok(serde_json::to_string(&table)?)
}

fn collect(folder: &Path, files: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            let relative = path.strip_prefix("rules").unwrap_or(&path);
            files.push(relative.to_string_lossy().replace('\\', "/"));
        }
    }
    Ok(())
}
