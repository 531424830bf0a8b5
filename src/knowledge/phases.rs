use std::collections::HashSet;
use std::sync::Arc;

use serde::Deserialize;

use super::KnowledgeError;
use crate::model::Phase;

mod announcements;
mod bars;
mod frames;

use announcements::{AnnouncementRow, Announcements};
use bars::Bars;
use frames::Frames;
pub use frames::{FrameRole, FrameRow};

/// One file of `rules/phases/`: how one framework shows its phases.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PhaseFile {
    /// The framework.
    #[serde(rename = "framework")]
    _framework: String,
    /// Where this was read, with versions.
    #[serde(rename = "source")]
    _source: String,
    /// Whether each `text` of several words is also known in small letters and with a capital first letter: it belongs to
    /// no program, and each program spells it in its own way.
    #[serde(default)]
    any_case: bool,
    #[serde(default)]
    frame: Vec<FrameRow>,
    #[serde(default)]
    line: Vec<LineRow>,
    #[serde(default)]
    bar: Vec<BarRow>,
    #[serde(default)]
    method: Vec<MethodRow>,
    #[serde(default)]
    announcement: Vec<AnnouncementRow>,
}

/// A line that tells the phase.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct LineRow {
    /// One of these occurs in the line.
    #[serde(default)]
    text: Vec<String>,
    /// One of these is the whole line, except for non-letters around it: a heading.
    #[serde(default)]
    heading: Vec<String>,
    phase: Phase,
    site: Arc<str>,
    /// Whether the line says that the phase is over.
    #[serde(default)]
    ends: bool,
    /// Whether it heads the stack of what failed, so that what runs within it is part of this phase: the forward pass of a request.
    #[serde(default)]
    encloses: bool,
    #[serde(default = "likely")]
    confidence: f64,
}

/// A progress bar's label.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct BarRow {
    /// The label begins with one of these, or ends with it if other output precedes it.
    #[serde(default)]
    label: Vec<String>,
    /// Whether the row is for an unlabelled bar nested in another one.
    #[serde(default)]
    nested: bool,
    phase: Phase,
    site: Arc<str>,
    #[serde(default = "likely")]
    confidence: f64,
}

/// A remote method of an actor, as Ray's messages and process titles name it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct MethodRow {
    /// The name begins or ends with one of these, whole words only.
    name: Vec<String>,
    phase: Phase,
    site: Arc<str>,
    #[serde(default = "likely")]
    confidence: f64,
}

fn likely() -> f64 {
    0.7
}

/// The sign of a phase in a line, bar or method name.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// The phase.
    pub phase: Phase,
    /// In a few words.
    pub site: Arc<str>,
    /// Whether it says that the phase is over.
    pub ends: bool,
    /// Whether it heads the stack of what failed in this phase.
    pub encloses: bool,
    /// Its confidence, 0–1.
    pub confidence: f64,
}

/// Words by which a line tells the phase.
struct PhaseWords {
    text: Box<str>,
    /// Whether they must be the whole line.
    is_heading: bool,
    /// The index of their mark.
    mark: usize,
}

impl PhaseWords {
    /// Whether they count in `line`, which contains them.
    fn count_in(&self, line: &str) -> bool {
        !self.is_heading || line.trim_matches(|c: char| !c.is_alphanumeric()) == &*self.text
    }
}

/// All signs of phases.
pub struct Phases {
    frames: Frames,
    lines: Vec<PhaseWords>,
    /// The marks of `lines`, of which many have the same.
    marks: Vec<Mark>,
    bars: Bars,
    nested_bar: Option<Mark>,
    methods: Vec<(String, Mark)>,
    announcements: Announcements,
}

impl Phases {
    /// The row for a frame; of several the most specific one.
    pub fn frame(&self, file: &str, function: &str, code: &str) -> Option<&FrameRow> {
        self.frames.find(file, function, code)
    }

    /// The row for a function that `code` calls, whatever its file.
    pub fn called(&self, code: &str) -> Option<&FrameRow> {
        self.frames.called(code)
    }

    /// The words that tell a phase.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(|words| &*words.text)
    }

    /// Whether the words at `index` of [`Phases::words`] count in `line`, which contains them.
    pub fn counts(&self, index: usize, line: &str) -> bool {
        self.lines[index].count_in(line)
    }

    /// The mark of the words at `index` of [`Phases::words`].
    pub fn mark(&self, index: usize) -> &Mark {
        &self.marks[self.lines[index].mark]
    }

    /// The mark of a line; of several words those that end last count, and of these the longest.
    pub fn line(&self, body: &str) -> Option<&Mark> {
        // Hardly any of the thousands of words occurs in a line, and the last bytes rule out most.
        let mut ends = [0u64; 1 << 10];
        let place = |end: &[u8; 4]| {
            let bit = u32::from_be_bytes(*end).wrapping_mul(0x9E37_79B1) >> 16;
            (bit as usize / 64, 1 << (bit % 64))
        };
        for end in body.as_bytes().windows(4).filter_map(|end| end.first_chunk()) {
            let (word, bit) = place(end);
            ends[word] |= bit;
        }
        let has = |end: Option<&[u8; 4]>| end.map(place).is_none_or(|(word, bit): (usize, u64)| ends[word] & bit != 0);
        let may_stand = |word: &str| {
            let (before, end) = word.as_bytes().split_last_chunk().unzip();
            has(end) && has(before.and_then(<[u8]>::last_chunk))
        };
        let end = |word: &str| may_stand(word).then(|| body.rfind(word)).flatten().map(|at| at + word.len());
        let known = self.lines.iter().filter_map(|words| Some((end(&words.text)?, words)));
        let found = known.filter(|(_, words)| words.count_in(body));
        let found = found.map(|(end, words)| (end, words.text.len(), &self.marks[words.mark]));
        found.max_by_key(|(end, length, _)| (*end, *length)).map(|(_, _, mark)| mark)
    }

    /// What a line contains that may announce a phase in words that belong to no program.
    pub fn announcing(&self) -> impl Iterator<Item = &str> {
        self.announcements.tails()
    }

    /// The mark of a line that announces a phase in such words.
    pub fn announced(&self, body: &str) -> Option<&Mark> {
        self.announcements.read(body)
    }

    /// The mark of a progress bar, by its label or because it is nested in another bar.
    pub fn bar(&self, label: &str, nested: bool) -> Option<&Mark> {
        if nested {
            return self.nested_bar.as_ref();
        }
        self.bars.find(label)
    }

    /// The mark of a remote method's name: `WorkerDict.actor_rollout_update_actor`, `tokenize_shard`, `MapBatches(tokenize)`.
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

/// `text` in small letters, and with a capital first letter.
fn cases(text: &str) -> impl Iterator<Item = Box<str>> {
    let small = text.to_ascii_lowercase();
    let mut capital = small.clone();
    if let Some(first) = capital.find(|c: char| c.is_ascii_alphabetic()) {
        capital[first..=first].make_ascii_uppercase();
    }
    [small.into(), capital.into()].into_iter()
}

fn longest(rows: &[(String, Mark)], fits: impl Fn(&str) -> bool) -> Option<&Mark> {
    rows.iter().filter(|(text, _)| fits(text)).max_by_key(|(text, _)| text.len()).map(|(_, mark)| mark)
}

/// Collects the rows of the files.
#[derive(Default)]
pub(super) struct Builder {
    frames: Frames,
    /// The words of `lines`, unless a test has seen that none stands there twice.
    known_words: Option<HashSet<Box<str>>>,
    lines: Vec<PhaseWords>,
    marks: Vec<Mark>,
    /// Other spellings of `lines`.
    other_cases: Vec<PhaseWords>,
    bars: Vec<(String, Mark)>,
    nested_bar: Option<Mark>,
    methods: Vec<(String, Mark)>,
    announcements: Announcements,
}

impl Builder {
    /// A builder with the indexed frames of the binary, whose prepared files have no frame rows.
    pub(super) fn with_prepared_frames() -> Builder {
        Builder { frames: Frames::prepared(), ..Builder::default() }
    }

    /// A builder for files as written.
    pub(super) fn of_written() -> Builder {
        Builder { known_words: Some(HashSet::new()), ..Builder::default() }
    }

    pub(super) fn add(&mut self, file: &str, rows: PhaseFile) -> Result<(), KnowledgeError> {
        let wrong = |problem: String| KnowledgeError::Wrong { file: file.to_owned(), problem };
        for row in rows.frame {
            self.frames.add(row).map_err(wrong)?;
        }
        let mark = |phase, site: Arc<str>, ends, confidence: f64| match (0.0..=1.0).contains(&confidence) {
            true => Ok(Mark { phase, site, ends, encloses: false, confidence }),
            false => Err(wrong(format!("confidence {confidence} of {site} is not within 0–1"))),
        };
        for row in rows.line {
            let mark = mark(row.phase, row.site.clone(), row.ends, row.confidence)?;
            self.marks.push(Mark { encloses: row.encloses, ..mark });
            let mark = self.marks.len() - 1;
            let said = row.text.into_iter().map(|text| (text, false));
            for (text, is_heading) in said.chain(row.heading.into_iter().map(|text| (text, true))) {
                if text.is_empty() {
                    return Err(wrong(format!(
                        "the line of {} has an empty text, which every line contains",
                        row.site
                    )));
                }
                if self.known_words.as_mut().is_some_and(|known| !known.insert(text.as_str().into())) {
                    return Err(wrong(format!("the line `{text}` has a row already")));
                }
                // One word in small letters stands in many a sentence, and a heading may be one, which a path has.
                if rows.any_case && !is_heading && text.trim().contains(' ') {
                    self.other_cases.extend(cases(&text).map(|text| PhaseWords { text, is_heading, mark }));
                }
                self.lines.push(PhaseWords { text: text.into(), is_heading, mark });
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
        for row in rows.announcement {
            let mark = mark(row.phase, row.site.clone(), row.ends, row.confidence)?;
            self.announcements.add(row, mark).map_err(wrong)?;
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

    pub(super) fn finish(mut self) -> Phases {
        // After the rows of all files, which may spell one of them themselves.
        let mut known: HashSet<&str> = self.lines.iter().map(|words| &*words.text).collect();
        let is_new: Vec<bool> = self.other_cases.iter().map(|words| known.insert(&words.text)).collect();
        self.lines
            .extend(self.other_cases.into_iter().zip(is_new).filter_map(|(words, is_new)| is_new.then_some(words)));
        Phases {
            frames: self.frames,
            lines: self.lines,
            marks: self.marks,
            bars: Bars::new(self.bars),
            nested_bar: self.nested_bar,
            methods: self.methods,
            announcements: self.announcements,
        }
    }
}

#[cfg(test)]
mod frame_tests;
#[cfg(test)]
mod mark_tests;
