//! Writes a patch into the user's own file.
//!
//! The file as it was stays beside it (`ds_config.json.before-oomdoc`), so that the same fix asked for twice is done once,
//! patches keep their numbers, and a file that was changed since is not overwritten.

mod write;

use std::io::{self, Cursor};
use std::path::Path;

use thiserror::Error;

use crate::Options;
use crate::knowledge::plain_name;
use crate::model::{Patch, Report, Role};
use crate::report;
use crate::source::{self, Input};

/// Why nothing was written.
#[derive(Debug, Error)]
pub enum FixError {
    /// The inputs say nothing.
    #[error(transparent)]
    Analysis(#[from] crate::Error),
    /// No incident, or no cause with a patch.
    #[error("there is nothing to fix: {0}")]
    NothingToFix(&'static str),
    /// There are fewer patches, or none of that name.
    #[error("there is no patch `{asked}`; there are {known}")]
    NoSuchPatch {
        /// What was asked for.
        asked: String,
        /// What there is.
        known: String,
    },
    /// The patch is not one of a file.
    #[error("`{knob}` is set in no file that was given")]
    NoFile {
        /// The knob.
        knob: String,
    },
    /// Nothing may be written there, or the change would do something else beside.
    #[error("{path} is left as it is: {why}")]
    Refused {
        /// The file.
        path: String,
        /// Why.
        why: &'static str,
    },
    /// Somebody else edited the file after oomdoc did.
    #[error(
        "{path} was changed since an earlier fix or while this one read it; if {before} is there, it is what it was: move it away"
    )]
    Changed {
        /// The file.
        path: String,
        /// As it was.
        before: String,
    },
    /// The file system refuses.
    #[error("{path}: {error}")]
    File {
        /// The file.
        path: String,
        /// Why.
        #[source]
        error: io::Error,
    },
}

/// What was done to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// It was edited.
    Written,
    /// It was so already.
    Already,
}

/// Analyses `paths`, configurations as they were before an earlier fix.
pub fn analyze(paths: &[String], options: &Options) -> Result<Report, FixError> {
    let (files, mut unreadable) = source::walk(paths);
    let mut inputs = Vec::new();
    for file in files.iter().filter(|file| !file.ends_with(write::BEFORE)) {
        match open(file) {
            Ok(input) => inputs.push(input),
            Err(error) => unreadable.push(error),
        }
    }
    if inputs.is_empty() {
        return Err(FixError::Analysis(crate::Error::NothingRead(unreadable)));
    }
    Ok(crate::analyze_inputs(inputs, unreadable, options)?)
}

/// Opens a file, as it was where that is kept.
fn open(file: &str) -> Result<Input<'static>, source::SourceError> {
    let input = Input::open(file)?;
    let is_config = matches!(input.role, Role::Config | Role::Script);
    match write::kept(Path::new(file)) {
        Some(bytes) if is_config => Input::new(file, Cursor::new(bytes))
            .map_err(|error| source::SourceError::Unreadable { path: file.to_owned(), error }),
        _ => Ok(input),
    }
}

/// The patch of this number, as the report counts them, or of this knob; the first that edits a file where nothing is asked.
pub fn pick<'r>(report: &'r Report, asked: Option<&str>) -> Result<&'r Patch, FixError> {
    let incident = report.incidents.first().ok_or(FixError::NothingToFix("no incident was found"))?;
    let patches = report::numbered(incident);
    let Some(asked) = asked else {
        let edits = patches.iter().find(|patch| patch.diff.is_some());
        return edits.copied().ok_or(FixError::NothingToFix("no patch edits a file that was given"));
    };
    let by_number = asked.parse::<usize>().ok().and_then(|number| patches.get(number.checked_sub(1)?));
    let by_knob = || patches.iter().find(|patch| plain_name(&patch.knob) == plain_name(asked));
    by_number.or_else(by_knob).copied().ok_or_else(|| {
        let known: Vec<String> =
            (1..).zip(&patches).map(|(number, patch)| format!("{number} {}", patch.knob)).collect();
        FixError::NoSuchPatch { asked: asked.to_owned(), known: known.join(", ") }
    })
}

/// Writes `patch` into its file: whole or not at all, the old text kept beside it.
pub fn write(patch: &Patch) -> Result<Done, FixError> {
    let no_file = || FixError::NoFile { knob: patch.knob.clone() };
    let (file, edited) = patch.file.as_deref().zip(patch.edited.as_deref()).ok_or_else(no_file)?;
    write::write(file, edited, patch.diff.as_deref())
}
