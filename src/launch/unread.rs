//! Files that no command of the job reads: that of a launcher which does not start the job.
//!
//! Eight processes in a launcher's file are one process where `python train.py` starts the script. Such a file tells nothing of the job, and no
//! edit of it changes anything.

use super::part;
use crate::config::{Document, Format};
use crate::knowledge::{Framework, LauncherFile};
use crate::model::Job;

/// A launcher's file that the job does not read.
#[derive(Debug)]
pub(super) struct Unread {
    /// Its path.
    pub path: String,
    /// The processes that it asks for.
    pub processes: f64,
}

/// Takes the launchers' files for several processes out of `documents` that nothing reads: the log of `job` states one process, or the
/// commands start a script without the launcher.
pub(super) fn take_out(
    documents: &mut Vec<Document>,
    printed: &[Document],
    frameworks: &[Framework],
    job: &Job,
) -> Option<Unread> {
    let mut unread = None;
    // As a script beside it names it.
    let folder = documents.iter().find(|document| document.format() == Format::Shell).and_then(|script| {
        let path = script.path();
        path.rfind('/').map(|end| path[..=end].to_owned())
    });
    for file in frameworks.iter().filter_map(|framework| framework.launcher_file.as_ref()) {
        let several = |document: &Document| processes(file, document).filter(|processes| *processes > 1.0);
        if !documents.iter().any(|document| several(document).is_some()) {
            continue;
        }
        let all = || documents.iter().chain(printed);
        if job.world_size.map_or_else(|| !is_started_alone(file, all()), |ranks| ranks > 1) {
            continue;
        }
        documents.retain(|document| match several(document) {
            Some(processes) => {
                let path: &str = document.path();
                let beside = folder.as_deref().and_then(|folder| path.strip_prefix(folder)).or(part::name(path));
                unread.get_or_insert_with(|| Unread { path: beside.unwrap_or(path).to_owned(), processes });
                false
            }
            None => true,
        });
    }
    unread
}

/// The processes that `document` asks for, if it is such a file.
fn processes(file: &LauncherFile, document: &Document) -> Option<f64> {
    let is_file = matches!(document.format(), Format::Yaml | Format::Json) && document.get(&file.key).is_some();
    document.get(&file.processes).filter(|_| is_file)?.value.as_number()
}

/// Whether commands show that Python itself starts a script, and nothing shows a launcher.
fn is_started_alone<'d>(file: &LauncherFile, documents: impl Iterator<Item = &'d Document>) -> bool {
    let mut is_alone = false;
    for document in documents {
        let is_said = |words: &str| file.unless_said.iter().any(|said| words.contains(said.as_str()));
        // In code a launcher may be called as well.
        if document.text().lines().filter(|line| !line.trim_start().starts_with('#')).any(is_said) {
            return false;
        }
        let is_plain =
            |command: &crate::config::Command| command.program.starts_with("python") && part::script(command).is_some();
        is_alone |= document.format() != Format::Python && document.commands().iter().any(is_plain);
    }
    is_alone
}
