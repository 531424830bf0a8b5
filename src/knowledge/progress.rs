use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;

use super::file::File;
use super::{KnowledgeError, read};

/// `rules/progress.toml`: lines that tell how far a job got. Users cannot change it.
#[derive(Debug, Default)]
pub struct Progress {
    lines: Vec<(String, Regex)>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProgressFile {
    line: Vec<ProgressRow>,
    #[serde(default)]
    example: Vec<Example>,
    #[serde(default)]
    near_miss: Vec<ProgressNearMiss>,
}

/// A kind of line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProgressRow {
    name: String,
    /// A regular expression for the line; its group `number` is the progress.
    is: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Example {
    line: String,
    text: String,
    number: f64,
}

/// A line that looks like progress but is none.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProgressNearMiss {
    text: String,
}

static SHIPPED: LazyLock<Progress> = LazyLock::new(|| read::progress(&File::shipped()).unwrap_or_default());

impl Progress {
    /// The patterns in the binary.
    pub fn shipped() -> &'static Progress {
        &SHIPPED
    }

    pub(super) fn of(file: &File<'_>) -> Result<Progress, KnowledgeError> {
        let ProgressFile { line, example, near_miss } = file.read()?;
        let mut progress = Progress::default();
        for ProgressRow { name, is } in line {
            let pattern = Regex::new(&is).map_err(|error| file.wrong(error.to_string()))?;
            if !pattern.capture_names().flatten().any(|group| group == NUMBER) {
                return Err(file.wrong(format!("the pattern of {name} has no group `{NUMBER}`")));
            }
            progress.lines.push((name, pattern));
        }
        for Example { line, text, number } in &example {
            if !progress.numbers(text).any(|said| said == (line, *number)) {
                return Err(file.wrong(format!("{text:?} does not say {line} {number}")));
            }
        }
        if let Some(ProgressNearMiss { text }) =
            near_miss.iter().find(|miss| progress.numbers(&miss.text).next().is_some())
        {
            return Err(file.wrong(format!("{text:?} is taken for progress")));
        }
        Ok(progress)
    }

    /// The progress that `line` states, with the name of each kind of line that it matches.
    pub fn numbers<'p>(&'p self, line: &str) -> impl Iterator<Item = (&'p str, f64)> {
        self.lines.iter().filter_map(move |(name, pattern)| {
            let number = pattern.captures(line)?.name(NUMBER)?.as_str().parse().ok()?;
            Some((name.as_str(), number))
        })
    }
}

/// The group that holds the number.
const NUMBER: &str = "number";
