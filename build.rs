//! Embeds `rules/` into the binary: a list of its files with their contents.

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=rules");
    let mut files = Vec::new();
    collect(Path::new("rules"), &mut files)?;
    files.sort();
    let rows: String = files
        .iter()
        .map(|file| {
            format!("    ({file:?}, include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/rules/{file}\"))),\n")
        })
        .collect();
    let target = Path::new(&env::var("OUT_DIR").map_err(io::Error::other)?).join("rules.rs");
    fs::write(target, format!("&[\n{rows}]\n"))
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
