use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::Deserialize;

use super::KnowledgeError;
use crate::model::Phase;

/// One file of `rules/phases/`: how one framework shows what it is doing.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PhaseFile {
    /// The framework.
    #[serde(rename = "framework")]
    _framework: String,
    /// Where this was read, with versions.
    #[serde(rename = "source")]
    _source: String,
    #[serde(default)]
    frame: Vec<FrameRow>,
    #[serde(default)]
    line: Vec<LineRow>,
    #[serde(default)]
    bar: Vec<BarRow>,
    #[serde(default)]
    method: Vec<MethodRow>,
}

/// A call on a stack that tells the phase.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrameRow {
    /// How the source file's path ends, at a folder's border, one of these; absent: any file.
    #[serde(default)]
    pub file: Vec<String>,
    /// Functions, one of these; absent: any function of the file.
    #[serde(default)]
    pub functions: Vec<String>,
    /// Words that the source line contains, not as the end of a longer name, one of these; absent: any line.
    #[serde(default)]
    pub code: Vec<String>,
    /// The phase.
    pub phase: Phase,
    /// Whether it encloses what happens beneath it.
    pub role: FrameRole,
    /// In a few words, what happens there.
    pub site: Arc<str>,
    /// That memory asked for here is page-locked memory of the host, whatever the error says.
    #[serde(default)]
    pub pins_host_memory: bool,
}

/// What a frame says of the frames beneath it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FrameRole {
    /// The job was doing this, whatever it called: the outermost such frame decides.
    Enclosing,
    /// The same, and it decides even within another enclosing frame: weights or samples on their way.
    Transfer,
    /// A request was being answered: decides over operations, and whatever it encloses over it, as a request may first have a
    /// model to load.
    Handler,
    /// A step of training, or something that is done by the way: decides where nothing encloses it. Of several the
    /// optimizer's step comes before backward, backward before forward (recomputation is backward), and these before all
    /// others, of which the outermost decides.
    Operation,
}

/// A line that tells the phase.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct LineRow {
    /// Words that stand in it, one of these.
    text: Vec<String>,
    phase: Phase,
    site: Arc<str>,
    /// That it says the phase is over.
    #[serde(default)]
    ends: bool,
    #[serde(default = "likely")]
    confidence: f64,
}

/// A progress bar's label.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct BarRow {
    /// How labels begin or, where other output precedes them, end; one of these.
    #[serde(default)]
    label: Vec<String>,
    /// That it is a bar without a label within another one that stands still.
    #[serde(default)]
    nested: bool,
    phase: Phase,
    site: Arc<str>,
    #[serde(default = "likely")]
    confidence: f64,
}

/// A remote method of an actor, as it stands in Ray's messages and process titles.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct MethodRow {
    /// How its name ends or begins, whole words, one of these.
    name: Vec<String>,
    phase: Phase,
    site: Arc<str>,
    #[serde(default = "likely")]
    confidence: f64,
}

fn likely() -> f64 {
    0.7
}

/// What a line, bar or method says of the phase.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// The phase.
    pub phase: Phase,
    /// In a few words.
    pub site: Arc<str>,
    /// Whether the phase is over.
    pub ends: bool,
    /// How surely, 0–1.
    pub confidence: f64,
}

/// All signs of phases.
pub struct Phases {
    frames: Vec<FrameRow>,
    /// Rows by function.
    by_function: HashMap<String, Vec<usize>>,
    /// Rows that name files and no function, by how a file's path ends.
    by_file: HashMap<String, Vec<usize>>,
    /// Rows that ask for words of the source line alone.
    by_code: Vec<usize>,
    lines: Vec<(String, Mark)>,
    bars: Vec<(String, Mark)>,
    nested_bar: Option<Mark>,
    methods: Vec<(String, Mark)>,
}

impl Phases {
    /// The row for a frame; of several the one that asks for most.
    pub fn frame(&self, file: &str, function: &str, code: &str) -> Option<&FrameRow> {
        let plain = function.rsplit(['.', ' ']).next().unwrap_or(function);
        let file = file.replace('\\', "/");
        let names = [function, plain].into_iter().filter_map(|function| self.by_function.get(function));
        names
            .chain(self.by_file.get(file_name(&file)))
            .chain([&self.by_code])
            .flatten()
            .map(|index| &self.frames[*index])
            .filter_map(|row| Some((row.asks(&file, code)?, row)))
            .max_by_key(|(asks, _)| *asks)
            .map(|(_, row)| row)
    }

    /// The words that tell a phase.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(|(word, _)| word.as_str())
    }

    /// What the word at `index` of [`Phases::words`] says.
    pub fn mark(&self, index: usize) -> &Mark {
        &self.lines[index].1
    }

    /// What a line says; of several words those that end last, and of these the longest.
    pub fn line(&self, body: &str) -> Option<&Mark> {
        let end = |word: &str| body.rfind(word).map(|at| at + word.len());
        let found = self.lines.iter().filter_map(|(word, mark)| Some((end(word)?, word.len(), mark)));
        found.max_by_key(|(end, length, _)| (*end, *length)).map(|(_, _, mark)| mark)
    }

    /// What a progress bar's label says, or that it has none and counts within another bar.
    pub fn bar(&self, label: &str, nested: bool) -> Option<&Mark> {
        if nested {
            return self.nested_bar.as_ref();
        }
        longest(&self.bars, |known| label.starts_with(known) || label.ends_with(known))
    }

    /// What a remote method's name says: `WorkerDict.actor_rollout_update_actor`, `tokenize_shard`,
    /// `MapBatches(tokenize)`.
    pub fn method(&self, name: &str) -> Option<&Mark> {
        let own = name.rsplit(['.', ':']).next().unwrap_or(name);
        longest(&self.methods, |words| {
            let ends =
                name.strip_suffix(words).is_some_and(|before| before.is_empty() || before.ends_with(['.', '_', ':']));
            let begins = own.strip_prefix(words).is_some_and(|rest| rest.starts_with(|c: char| !c.is_alphanumeric()));
            ends || begins
        })
    }
}

impl FrameRow {
    /// How much it asks of a frame of one of its functions, or `None` where the frame does not fit: the number of
    /// things, then how much of the path, then a function before words, then how many words.
    fn asks(&self, file: &str, code: &str) -> Option<(u8, usize, bool, usize)> {
        let path = longest_fit(&self.file, |end| ends_with_path(file, end))?;
        let words = longest_fit(&self.code, |words| contains_words(code, words))?;
        let names = !self.functions.is_empty();
        Some((u8::from(path > 0) + u8::from(words > 0) + u8::from(names), path, names, words))
    }
}

/// The length of the longest of `known` that fits; 0 where nothing is asked, `None` where nothing fits.
fn longest_fit(known: &[String], fits: impl Fn(&str) -> bool) -> Option<usize> {
    match known.is_empty() {
        true => Some(0),
        false => known.iter().filter(|known| fits(known)).map(String::len).max(),
    }
}

fn longest(rows: &[(String, Mark)], fits: impl Fn(&str) -> bool) -> Option<&Mark> {
    rows.iter().filter(|(text, _)| fits(text)).max_by_key(|(text, _)| text.len()).map(|(_, mark)| mark)
}

/// What stands last in a path.
fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether `path` ends with `end`, whole folders only.
fn ends_with_path(path: &str, end: &str) -> bool {
    path.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('/') || end.starts_with('/'))
}

/// Whether `words` stand in `code`, and not as the end of a longer name: `evaluate(` is not in `save_evaluate(`.
fn contains_words(code: &str, words: &str) -> bool {
    let of_name = |c: char| c.is_alphanumeric() || c == '_';
    let begins_name = words.starts_with(char::is_alphanumeric);
    code.match_indices(words).any(|(at, _)| !(begins_name && code[..at].ends_with(of_name)))
}

/// Gathers the files.
#[derive(Default)]
pub(super) struct Builder {
    frames: Vec<FrameRow>,
    known_words: HashSet<String>,
    lines: Vec<(String, Mark)>,
    bars: Vec<(String, Mark)>,
    nested_bar: Option<Mark>,
    methods: Vec<(String, Mark)>,
}

impl Builder {
    pub(super) fn add(&mut self, file: &str, rows: PhaseFile) -> Result<(), KnowledgeError> {
        let wrong = |problem: String| KnowledgeError::Wrong { file: file.to_owned(), problem };
        for row in rows.frame {
            if row.file.is_empty() && row.functions.is_empty() && row.code.is_empty() {
                return Err(wrong(format!(
                    "the frame for {} ({}) fits every call; give it `file`, `functions` or `code`",
                    row.phase, row.site
                )));
            }
            self.frames.push(row);
        }
        let mark = |phase, site: Arc<str>, ends, confidence: f64| match (0.0..=1.0).contains(&confidence) {
            true => Ok(Mark { phase, site, ends, confidence }),
            false => Err(wrong(format!("confidence {confidence} of {site} is not within 0–1"))),
        };
        for row in rows.line {
            for text in row.text {
                if text.is_empty() {
                    return Err(wrong(format!(
                        "the line of {} has an empty text, which every line contains",
                        row.site
                    )));
                }
                if !self.known_words.insert(text.clone()) {
                    return Err(wrong(format!("the line `{text}` has a row already")));
                }
                self.lines.push((text, mark(row.phase, row.site.clone(), row.ends, row.confidence)?));
            }
        }
        for row in rows.bar {
            if row.nested {
                self.nested_bar = Some(mark(row.phase, row.site.clone(), false, row.confidence)?);
            }
            for label in row.label {
                if self.bars.iter().any(|(known, _)| *known == label) {
                    return Err(wrong(format!("the bar `{label}` has a row already")));
                }
                self.bars.push((label, mark(row.phase, row.site.clone(), false, row.confidence)?));
            }
        }
        for row in rows.method {
            for name in row.name {
                if self.methods.iter().any(|(known, _)| *known == name) {
                    return Err(wrong(format!("the method `{name}` has a row already")));
                }
                self.methods.push((name, mark(row.phase, row.site.clone(), false, row.confidence)?));
            }
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Phases {
        let mut by_function: HashMap<String, Vec<usize>> = HashMap::new();
        let mut by_file: HashMap<String, Vec<usize>> = HashMap::new();
        let mut by_code = Vec::new();
        for (index, row) in self.frames.iter().enumerate() {
            for function in &row.functions {
                by_function.entry(function.clone()).or_default().push(index);
            }
            match row.functions.is_empty() {
                true if row.file.is_empty() => by_code.push(index),
                true => row.file.iter().for_each(|file| {
                    let rows = by_file.entry(file_name(file).to_owned()).or_default();
                    // Two of its files may have the same name.
                    if rows.last() != Some(&index) {
                        rows.push(index);
                    }
                }),
                false => {}
            }
        }
        Phases {
            frames: self.frames,
            by_function,
            by_file,
            by_code,
            lines: self.lines,
            bars: self.bars,
            nested_bar: self.nested_bar,
            methods: self.methods,
        }
    }
}

#[cfg(test)]
mod frame_tests;
#[cfg(test)]
mod mark_tests;
