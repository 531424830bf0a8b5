//! Writes patches into the user's own files.
//!
//! The original file is kept beside the new one (`ds_config.json.before-oomdoc`). Therefore the same fix requested
//! twice is made once, patches keep their numbers, and a file that has changed since is not overwritten.

mod write;

use std::fs;
use std::io::{self, Cursor};
use std::path::Path;

use thiserror::Error;

use crate::Options;
use crate::config::Format;
use crate::knowledge::plain_name;
use crate::model::{Edit, OtherFailureName, Patch, Report, Role};
use crate::source::{self, Input};
use crate::{patch, report};

/// Why no file was written.
#[derive(Debug, Error)]
pub enum FixError {
    /// The inputs could not be analysed.
    #[error(transparent)]
    Analysis(#[from] crate::Error),
    /// No incident, or no cause with a patch.
    #[error("there is nothing to fix: {0}")]
    NothingToFix(&'static str),
    /// The job died of something other than memory.
    #[error("there is nothing to fix: {what}")]
    NotMemory {
        /// What it died of.
        what: String,
        /// The same as a word.
        failure: OtherFailureName,
    },
    /// The inputs are logs of several jobs that ran out of memory.
    #[error("these are logs of {} jobs that ran out of memory: {}", .jobs.len(), .jobs.join(", "))]
    SeveralJobs {
        /// The first log of each job.
        jobs: Vec<String>,
    },
    /// There is no patch with this number or name.
    #[error("there is no patch `{asked}`; there are {known}")]
    NoSuchPatch {
        /// The number or name that was requested.
        asked: String,
        /// The available patches.
        known: String,
    },
    /// A patch edits none of the given files.
    #[error("no edit of the given files makes this change: {}", quoted(.knobs))]
    NoFile {
        /// The knobs.
        knobs: Vec<String>,
        /// The lines to type instead, as far as known.
        lines: Vec<String>,
        /// The numbers of other patches that do edit a file.
        others: Vec<String>,
    },
    /// The patches cannot be made in one file together.
    #[error("{} cannot be set in {path} together", quoted(.knobs))]
    Apart {
        /// The file.
        path: String,
        /// The knobs.
        knobs: Vec<String>,
    },
    /// The file must not be written, or the write would have side effects.
    #[error("{path} was not changed: {why}")]
    Refused {
        /// The file.
        path: String,
        /// Why.
        why: &'static str,
    },
    /// The file was edited after oomdoc changed it.
    #[error(
        "{path} was changed since an earlier fix or while this one read it; if {before} is there, it is what it was: move it away"
    )]
    Changed {
        /// The file.
        path: String,
        /// The path of the kept original.
        before: String,
    },
    /// An error of the file system.
    #[error("{path}: {error}")]
    File {
        /// The file.
        path: String,
        /// Why.
        #[source]
        error: io::Error,
    },
}

/// The outcome for a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// It was edited.
    Written,
    /// It already had the new text.
    Already,
}

/// Analyses `paths`, with configurations as they were before an earlier fix.
pub fn analyze(paths: &[String], options: &Options) -> Result<Report, FixError> {
    let (files, mut unreadable) = files(paths);
    let mut inputs = Vec::new();
    for file in files {
        match open(&file, options) {
            Ok(input) => inputs.push(input),
            Err(error) => unreadable.push(error),
        }
    }
    if inputs.is_empty() {
        return Err(FixError::Analysis(crate::Error::NothingRead(unreadable)));
    }
    only_job(crate::analyze_inputs_by_job(inputs, unreadable, paths, options)?)
}

/// All files that `paths` name, without the originals kept by earlier fixes, and the errors of unreadable ones.
pub fn files(paths: &[String]) -> (Vec<String>, Vec<source::SourceError>) {
    let (mut files, unreadable) = source::walk(paths);
    files.retain(|file| !file.ends_with(write::BEFORE));
    (files, unreadable)
}

/// The report of the only job that ran out of memory: a fix never covers several jobs.
pub fn only_job(mut reports: Vec<Report>) -> Result<Report, FixError> {
    reports.sort_by_key(|report| report.incidents.is_empty());
    let jobs: Vec<String> = reports.iter().filter(|report| !report.incidents.is_empty()).map(first_log).collect();
    match jobs.len() {
        2.. => Err(FixError::SeveralJobs { jobs }),
        _ => reports.into_iter().next().ok_or(FixError::NothingToFix("nothing was read")),
    }
}

/// The first log of the job of `report`, which identifies it.
fn first_log(report: &Report) -> String {
    let log = report.inputs.iter().find(|input| input.lines > 0);
    log.map(|input| input.path.to_string()).unwrap_or_default()
}

/// Opens a file, or its kept original, unless settings forbid reading it.
pub fn open(file: &str, options: &Options) -> Result<Input<'static>, source::SourceError> {
    let input = options.site.refuses(file).map_or_else(|| Input::open(file), Err)?;
    let is_config = matches!(input.role, Role::Config | Role::Script);
    match write::kept(Path::new(file)) {
        Some(bytes) if is_config => Input::new(file, Cursor::new(bytes))
            .map_err(|error| source::SourceError::Unreadable { path: file.to_owned(), error }),
        _ => Ok(input),
    }
}

/// One of the user's files with its new text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mended {
    /// Its name.
    pub file: String,
    /// The change as a unified diff.
    pub diff: String,
    /// The whole file afterwards.
    after: String,
}

/// The patches with the requested numbers or knobs, numbered as in the report; if nothing is requested, those that the
/// report proposes.
pub fn pick<'r>(report: &'r Report, asked: &[String]) -> Result<Vec<&'r Patch>, FixError> {
    // What the job outlived is mended only on request: it died of something else.
    let incident = report.incidents.first().filter(|_| report.other_failure.is_none() || !asked.is_empty());
    let incident = incident.ok_or_else(|| match &report.other_failure {
        Some(failure) => FixError::NotMemory { what: report.summary.clone(), failure: failure.name },
        None => FixError::NothingToFix("no incident was found"),
    })?;
    let patches = report::numbered(incident);
    if patches.is_empty() {
        return Err(FixError::NothingToFix("no change is advised"));
    }
    if asked.is_empty() {
        return Ok(report::proposed(incident));
    }
    let one = |asked: &String| {
        let by_number = asked.parse::<usize>().ok().and_then(|number| patches.get(number.checked_sub(1)?));
        let by_knob = || patches.iter().find(|patch| plain_name(&patch.knob) == plain_name(asked));
        by_number.or_else(by_knob).copied().ok_or_else(|| {
            let known: Vec<String> =
                (1..).zip(&patches).map(|(number, patch)| format!("{number} {}", patch.knob)).collect();
            FixError::NoSuchPatch { asked: asked.clone(), known: known.join(", ") }
        })
    };
    asked.iter().map(one).collect()
}

/// The user's files after all of `patches` are applied.
pub fn mend(report: &Report, patches: &[&Patch]) -> Result<Vec<Mended>, FixError> {
    let shown = report.incidents.first().map(report::numbered).unwrap_or_default();
    let (edited, without): (Vec<&Patch>, Vec<&Patch>) = patches.iter().partition(|patch| patch.diff.is_some());
    if !without.is_empty() {
        let others = (1..).zip(&shown).filter(|(_, patch)| patch.diff.is_some());
        return Err(FixError::NoFile {
            knobs: without.iter().map(|patch| patch.knob.clone()).collect(),
            lines: without.iter().filter_map(|patch| patch.line.clone()).collect(),
            others: others.map(|(number, _): (usize, _)| number.to_string()).collect(),
        });
    }
    let mut files: Vec<&str> = Vec::new();
    let edits: Vec<&Edit> = edited.iter().flat_map(|patch| &patch.edits).collect();
    for edit in &edits {
        if !files.contains(&&*edit.file) {
            files.push(&edit.file);
        }
    }
    let mended = |file: &str| {
        let failed = |error| FixError::File { path: file.to_owned(), error };
        let before = as_analysed(Path::new(file)).map_err(failed)?;
        let own: Vec<Edit> = edits.iter().filter(|edit| *edit.file == *file).map(|edit| (*edit).clone()).collect();
        let after = patch::apply(Format::of_file(file, &before), file, &before, &own);
        let knobs = || edited.iter().map(|patch| patch.knob.clone()).collect();
        let after = after.ok_or_else(|| FixError::Apart { path: file.to_owned(), knobs: knobs() })?;
        Ok(Mended { diff: crate::config::diff(file, &before, &after), file: file.to_owned(), after })
    };
    files.into_iter().map(mended).collect()
}

/// The text of a file before any fix, which is what is analysed.
fn as_analysed(path: &Path) -> io::Result<String> {
    match write::kept(path) {
        Some(bytes) => String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error)),
        None => fs::read_to_string(path),
    }
}

/// Writes a file atomically and keeps the original beside it.
pub fn write(mended: &Mended) -> Result<Done, FixError> {
    write::write(&mended.file, &mended.after, Some(&mended.diff))
}

fn quoted(knobs: &[String]) -> String {
    knobs.iter().map(|knob| format!("`{knob}`")).collect::<Vec<_>>().join(", ")
}
