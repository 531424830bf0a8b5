//! Finds the row for a frame of a stack. There are thousands of rows and an incident needs a few dozen, so the shipped rows are found by an
//! index that the build makes, and each is parsed on first use.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use nom::Offset;
use serde::Deserialize;

use crate::model::Phase;
use crate::scan::Literals;

/// A call on a stack that tells the phase.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrameRow {
    /// Endings of the source file's path, beginning at a folder's border, one of which must match; absent: any file.
    #[serde(default)]
    pub file: Vec<String>,
    /// Functions, one of which must match; absent: any function of the file.
    #[serde(default)]
    pub functions: Vec<String>,
    /// Words of the source line, not as the end of a longer name, one of which must match; absent: any line.
    #[serde(default)]
    pub code: Vec<String>,
    /// The phase.
    pub phase: Phase,
    /// Whether it encloses what happens beneath it.
    pub role: FrameRole,
    /// What happens there, in a few words.
    pub site: Arc<str>,
    /// Whether memory allocated here is page-locked host memory, whatever the error says.
    #[serde(default)]
    pub pins_host_memory: bool,
}

/// How a frame decides the phase, seen with the frames beneath it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FrameRole {
    /// The job was in this phase, whatever it called: the outermost such frame decides.
    Enclosing,
    /// Weights or samples are transferred: it decides even within an enclosing frame.
    Transfer,
    /// A request was being answered: it overrides operations, but enclosing frames beneath it override it, because a request may first load
    /// a model.
    Handler,
    /// A part of a training step, or something done in passing: it decides if nothing encloses it. Of several the optimizer's step has
    /// precedence over backward, backward over forward (recomputation is backward), and these over all others, of which the outermost
    /// decides.
    Operation,
}

/// All rows, those indexed in the binary and those of files.
#[derive(Default)]
pub(super) struct Frames {
    prepared: Option<Prepared>,
    rows: Vec<FrameRow>,
    index: Index,
}

/// The index of rows from files.
#[derive(Default)]
struct Index {
    /// Rows by function.
    by_function: HashMap<String, Vec<usize>>,
    /// Rows with files but no function, by the file's name.
    by_file: HashMap<String, Vec<usize>>,
    /// Rows with only words of the source line.
    by_code: Vec<usize>,
}

/// The rows of `rules/phases/` that `build.rs` indexed.
struct Prepared {
    rows: Box<[OnceLock<Option<FrameRow>>]>,
    code: OnceLock<(Literals, Vec<u16>)>,
}

/// One row in each line, as JSON.
static ROWS: &str = include_str!(concat!(env!("OUT_DIR"), "/frame_rows.txt"));
/// The offset of each line, four bytes each.
static PLACES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/frame_places.bin"));
/// `function row row …`, sorted.
static BY_FUNCTION: &str = include_str!(concat!(env!("OUT_DIR"), "/frames_by_function.txt"));
/// `file.py row row …`, sorted.
static BY_FILE: &str = include_str!(concat!(env!("OUT_DIR"), "/frames_by_file.txt"));
/// `words row`
static BY_CODE: &str = include_str!(concat!(env!("OUT_DIR"), "/frames_by_code.txt"));
/// Separates a key from its rows.
const TAB: char = '\t';

impl Frames {
    /// The rows in the binary.
    pub fn prepared() -> Frames {
        let rows = (0..PLACES.len() / 4).map(|_| OnceLock::new()).collect();
        Frames { prepared: Some(Prepared { rows, code: OnceLock::new() }), ..Frames::default() }
    }

    /// Adds a row, or says what is wrong with it.
    pub fn add(&mut self, row: FrameRow) -> Result<(), String> {
        if row.file.is_empty() && row.functions.is_empty() && row.code.is_empty() {
            return Err(format!(
                "the frame for {} ({}) fits every call; give it `file`, `functions` or `code`",
                row.phase, row.site
            ));
        }
        let (place, index) = (self.rows.len(), &mut self.index);
        for function in &row.functions {
            index.by_function.entry(function.clone()).or_default().push(place);
        }
        match row.functions.is_empty() {
            true if row.file.is_empty() => index.by_code.push(place),
            true => row.file.iter().for_each(|file| {
                let rows = index.by_file.entry(file_name(file).to_owned()).or_default();
                // Two of its files may have the same name.
                if rows.last() != Some(&place) {
                    rows.push(place);
                }
            }),
            false => {}
        }
        self.rows.push(row);
        Ok(())
    }

    /// The row for a frame; of several the most specific one.
    pub fn find(&self, file: &str, function: &str, code: &str) -> Option<&FrameRow> {
        let plain = function.rsplit(['.', ' ']).next().unwrap_or(function);
        let names = [Some(function), Some(plain).filter(|plain| *plain != function)];
        let file = file.replace('\\', "/");
        let prepared = self.prepared.iter().flat_map(|prepared| prepared.candidates(&names, file_name(&file), code));
        prepared
            .chain(self.candidates(&names, file_name(&file)))
            .filter_map(|row| Some((row.asks(&file, code)?, row)))
            .max_by_key(|(asks, _)| *asks)
            .map(|(_, row)| row)
    }

    /// The row for a call in `code` to a function that means the same in any file: what ran beneath the last frame of a traceback that was
    /// cut off, `state, sharding = init_train_state(config)`.
    pub fn called(&self, code: &str) -> Option<&FrameRow> {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let names = code.split(|c: char| !is_part(c)).filter(|name| !name.is_empty());
        let end = |name: &str| code.offset(name) + name.len();
        // The bracket may have been cut off, too.
        let mut called = names.filter(|name| code[end(name)..].starts_with('(') || end(name) == code.len());
        called.find_map(|name| {
            let row = self.find("", name, "")?;
            (row.file.is_empty() && row.functions.iter().any(|known| known == name)).then_some(row)
        })
    }

    fn candidates(&self, names: &[Option<&str>], file: &str) -> impl Iterator<Item = &FrameRow> {
        let Index { by_function, by_file, by_code } = &self.index;
        let of_names = names.iter().flatten().filter_map(|name| by_function.get(*name));
        let all: Vec<&Vec<usize>> = of_names.chain(by_file.get(file)).chain([by_code]).collect();
        all.into_iter().flatten().map(|place| &self.rows[*place])
    }

    /// Every row.
    #[cfg(test)]
    pub fn all(&self) -> impl Iterator<Item = &FrameRow> {
        let prepared = self.prepared.iter();
        let prepared =
            prepared.flat_map(|prepared| (0..prepared.rows.len()).filter_map(|place| prepared.row(place as u16)));
        prepared.chain(&self.rows)
    }
}

impl Prepared {
    fn candidates(&self, names: &[Option<&str>], file: &str, code: &str) -> Vec<&FrameRow> {
        let mut places: Vec<u16> = Vec::new();
        names.iter().flatten().for_each(|name| places.extend(look_up(BY_FUNCTION, name)));
        places.extend(look_up(BY_FILE, file));
        if !code.is_empty() {
            let (words, rows) = self.code.get_or_init(|| {
                let rows = BY_CODE.lines().filter_map(|line| line.rsplit_once(TAB));
                let (words, rows): (Vec<&str>, Vec<&str>) = rows.unzip();
                (Literals::new(words), rows.into_iter().map(|row| row.parse().unwrap_or(u16::MAX)).collect())
            });
            words.each(code, |literal, _| places.push(rows[literal]));
        }
        places.into_iter().filter_map(|place| self.row(place)).collect()
    }

    /// A test checks that every row can be parsed.
    fn row(&self, place: u16) -> Option<&FrameRow> {
        let read = || {
            let start = PLACES.chunks_exact(4).nth(place.into())?;
            let start = u32::from_le_bytes(start.try_into().ok()?) as usize;
            serde_json::from_str(ROWS.get(start..)?.lines().next()?).ok()
        };
        self.rows.get(usize::from(place))?.get_or_init(read).as_ref()
    }
}

/// The rows after `key` in a sorted table of lines.
fn look_up(table: &'static str, key: &str) -> impl Iterator<Item = u16> {
    let bytes = table.as_bytes();
    let (mut low, mut high) = (0, bytes.len());
    let mut rows = "";
    while low < high {
        let middle = low + (high - low) / 2;
        let start = memchr::memrchr(b'\n', &bytes[low..middle]).map_or(low, |at| low + at + 1);
        let end = memchr::memchr(b'\n', &bytes[middle..]).map_or(bytes.len(), |at| middle + at);
        let line = table.get(start..end).unwrap_or_default();
        let (known, behind) = line.split_once(TAB).unwrap_or((line, ""));
        match known.cmp(key) {
            std::cmp::Ordering::Less => low = end + 1,
            std::cmp::Ordering::Greater => high = start,
            std::cmp::Ordering::Equal => {
                rows = behind;
                break;
            }
        }
    }
    rows.split(' ').filter_map(|row| row.parse().ok())
}

impl FrameRow {
    /// How specific it is for a frame of one of its functions; `None` if the frame does not fit. Compared are the number of criteria, then
    /// the length of the path, then a function before words, then the length of the words.
    pub(super) fn asks(&self, file: &str, code: &str) -> Option<(u8, usize, bool, usize)> {
        let path = longest_fit(&self.file, |end| ends_with_path(file, end))?;
        let words = longest_fit(&self.code, |words| contains_words(code, words))?;
        let names = !self.functions.is_empty();
        Some((u8::from(path > 0) + u8::from(words > 0) + u8::from(names), path, names, words))
    }
}

/// The length of the longest of `known` that fits; 0 if `known` is empty, `None` if nothing fits.
fn longest_fit(known: &[String], fits: impl Fn(&str) -> bool) -> Option<usize> {
    match known.is_empty() {
        true => Some(0),
        false => known.iter().filter(|known| fits(known)).map(String::len).max(),
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether `path` ends with `end`, whole folders only.
fn ends_with_path(path: &str, end: &str) -> bool {
    path.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('/') || end.starts_with('/'))
}

/// Whether `code` contains `words`, and not as the end of a longer name: `evaluate(` is not in `save_evaluate(`.
fn contains_words(code: &str, words: &str) -> bool {
    let of_name = |c: char| c.is_alphanumeric() || c == '_';
    let begins_name = words.starts_with(char::is_alphanumeric);
    code.match_indices(words).any(|(at, _)| !(begins_name && code[..at].ends_with(of_name)))
}
