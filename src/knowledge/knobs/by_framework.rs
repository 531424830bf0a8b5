use std::sync::{Arc, OnceLock};

use super::Knob;
use crate::knowledge::file::File;
use crate::knowledge::read;

/// The knobs of all frameworks; of one lever the most useful first. The shipped ones of a framework are read when they are first asked for:
/// a job is on a few of a hundred frameworks.
#[derive(Debug, Default)]
pub struct Knobs {
    files: Vec<OfFile>,
}

/// The knobs of one file, which are all of one framework.
#[derive(Debug)]
struct OfFile {
    framework: Arc<str>,
    /// The file, if it is read later.
    file: Option<File<'static>>,
    knobs: OnceLock<Vec<Knob>>,
}

impl OfFile {
    fn knobs(&self) -> &[Knob] {
        // A test holds that the shipped files can be read.
        let read = || self.file.as_ref().and_then(|file| read::knobs_of_file(file).ok()).unwrap_or_default();
        self.knobs.get_or_init(read)
    }
}

impl Knobs {
    /// Those of the shipped files, which are read later.
    pub(in crate::knowledge) fn shipped() -> Knobs {
        let of_file = |file: File<'static>| {
            let framework = Arc::from(file.framework()?);
            Some(OfFile { framework, file: Some(file), knobs: OnceLock::new() })
        };
        Knobs { files: File::shipped().into_iter().filter_map(of_file).collect() }
    }

    /// Those of each file.
    pub(in crate::knowledge) fn of_files(files: impl Iterator<Item = Vec<Knob>>) -> Knobs {
        let of_file = |knobs: Vec<Knob>| {
            let framework = Arc::clone(&knobs.first()?.framework);
            Some(OfFile { framework, file: None, knobs: OnceLock::from(knobs) })
        };
        Knobs { files: files.filter_map(of_file).collect() }
    }

    /// Those of one framework.
    pub fn of<'k, 'n>(&'k self, framework: &'n str) -> impl Iterator<Item = &'k Knob> + use<'k, 'n> {
        self.files.iter().filter(move |file| &*file.framework == framework).flat_map(OfFile::knobs)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Knob> {
        self.files.iter().flat_map(OfFile::knobs)
    }
}

impl<'k> IntoIterator for &'k Knobs {
    type Item = &'k Knob;
    type IntoIter = Box<dyn Iterator<Item = &'k Knob> + 'k>;

    fn into_iter(self) -> Self::IntoIter {
        Box::new(self.iter())
    }
}
