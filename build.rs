//! Embeds `rules/` into the binary: a list of its files, each as written and in the form that an analysis reads.
//!
//! Parsing TOML took most of the time of analysing a small log. JSON of the same content takes a tenth of that, without the examples, which
//! an analysis does not need. Of the thousands of frames in `rules/phases/` an incident looks up some dozens, so they become a table of
//! rows with indices by function, file and words.

use std::collections::{BTreeMap, BTreeSet};
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
    let (mut rows, mut paths, mut frames) = (String::new(), String::new(), Frames::default());
    for (index, file) in files.iter().enumerate() {
        let written = rules.join(file);
        let prepared = out.join(format!("rule{index}.json"));
        let (json, framework) = prepare(&fs::read_to_string(&written)?, file, &mut frames)
            .map_err(|error| format!("rules/{file}: {error}"))?;
        fs::write(&prepared, json)?;
        let begin = paths.len();
        paths.push_str(file);
        writeln!(
            rows,
            "    (path({begin}, {}), include_str!({written:?}), include_str!({prepared:?}), {framework:?}),",
            paths.len()
        )?;
    }
    fs::write(out.join("rule_paths.txt"), paths)?;
    fs::write(out.join("rules.rs"), format!("&[\n{rows}]\n"))?;
    frames.write(&out)?;
    Ok(())
}

/// The rows of frames, one in each line, and their indices. Mirrors `src/knowledge/phases/frames.rs`, which reads them.
#[derive(Default)]
struct Frames {
    rows: String,
    places: Vec<u8>,
    by_function: BTreeMap<String, BTreeSet<usize>>,
    by_file: BTreeMap<String, BTreeSet<usize>>,
    by_code: BTreeMap<String, BTreeSet<usize>>,
}

impl Frames {
    fn add(&mut self, row: &toml::Value) -> Result<(), Box<dyn Error>> {
        let number = self.places.len() / 4;
        let words = |key: &str| -> Vec<String> {
            let listed = row.get(key).and_then(toml::Value::as_array);
            listed.into_iter().flatten().filter_map(|word| word.as_str().map(str::to_owned)).collect()
        };
        let (files, functions) = (words("file"), words("functions"));
        let (table, keys) = match (functions.is_empty(), files.is_empty()) {
            (false, _) => (&mut self.by_function, functions),
            (true, false) => {
                let name = |file: &String| file.rsplit('/').next().unwrap_or(file).to_owned();
                (&mut self.by_file, files.iter().map(name).collect())
            }
            (true, true) => (&mut self.by_code, words("code")),
        };
        if keys.is_empty() || keys.iter().any(|key| key.contains(['\t', '\n'])) {
            return Err(format!("a frame asks for nothing, or for a blank that no line has: {row:?}").into());
        }
        keys.into_iter().for_each(|key| {
            table.entry(key).or_default().insert(number);
        });
        self.places.extend(u32::try_from(self.rows.len())?.to_le_bytes());
        writeln!(self.rows, "{}", serde_json::to_string(row)?)?;
        Ok(())
    }

    fn write(&self, out: &Path) -> Result<(), Box<dyn Error>> {
        let table = |keys: &BTreeMap<String, BTreeSet<usize>>| {
            let line = |(key, rows): (&String, &BTreeSet<usize>)| {
                let rows: Vec<String> = rows.iter().map(usize::to_string).collect();
                format!("{key}\t{}\n", rows.join(" "))
            };
            keys.iter().map(line).collect::<String>()
        };
        let single = |(words, rows): (&String, &BTreeSet<usize>)| {
            rows.iter().map(|row| format!("{words}\t{row}\n")).collect::<String>()
        };
        u16::try_from(self.places.len() / 4)?;
        fs::write(out.join("frame_rows.txt"), &self.rows)?;
        fs::write(out.join("frame_places.bin"), &self.places)?;
        fs::write(out.join("frames_by_function.txt"), table(&self.by_function))?;
        fs::write(out.join("frames_by_file.txt"), table(&self.by_file))?;
        fs::write(out.join("frames_by_code.txt"), self.by_code.iter().map(single).collect::<String>())?;
        Ok(())
    }
}

/// The form of a file that an analysis reads, and the framework whose knobs stand there.
fn prepare(content: &str, file: &str, frames: &mut Frames) -> Result<(String, String), Box<dyn Error>> {
    let mut table: toml::Table = content.parse()?;
    if file.starts_with("phases/")
        && let Some(toml::Value::Array(rows)) = table.remove("frame")
    {
        rows.iter().try_for_each(|row| frames.add(row))?;
    }
    for of_people in ["example", "near_miss"] {
        table.remove(of_people);
    }
    let framework = table.get("framework").and_then(toml::Value::as_str).filter(|_| file.starts_with("knobs/"));
    let framework = framework.unwrap_or_default().to_owned();
    Ok((serde_json::to_string(&table)?, framework))
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
