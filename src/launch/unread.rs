//! Files that no command of the job reads: that of a launcher which does not start the job.
//!
//! Eight processes in a launcher's file are one process where `python train.py` starts the script. Such a file tells nothing of the job, and no
//! edit of it changes anything.

use super::part;
use crate::config::{Command, Document, Format, shell_word};
use crate::knowledge::{Framework, LauncherFile};
use crate::model::Job;

/// A launcher's file that the job does not read.
#[derive(Debug)]
pub(super) struct Unread {
    /// Its path, as a script names it.
    pub path: String,
    /// The processes that it asks for.
    pub processes: f64,
    /// How it says that they share the work.
    pub kind: String,
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
    let folder = documents.iter().find(|document| document.format() == Format::Shell).map(|script| {
        let path = script.path();
        path[..path.rfind('/').map_or(0, |end| end + 1)].to_owned()
    });
    for file in frameworks.iter().filter_map(|framework| framework.launcher_file.as_ref()) {
        let several = |document: &Document| processes(file, document).filter(|processes| *processes > 1.0);
        if !documents.iter().any(|document| several(document).is_some()) {
            continue;
        }
        let all = || documents.iter().chain(printed);
        let is_of_others = job.framework.as_deref().is_some_and(|of| file.unless_of.iter().any(|other| **other == *of));
        let is_alone = || job.world_size.map_or_else(|| all().any(starts_alone), |ranks| ranks == 1);
        if is_of_others || all().any(|document| names_launcher(file, document)) || !is_alone() {
            continue;
        }
        documents.retain(|document| match several(document) {
            Some(processes) => {
                let path: &str = document.path();
                let beside = folder.as_deref().map_or_else(|| part::name(path), |folder| path.strip_prefix(folder));
                let kind = document.get(&file.key).map(|entry| entry.value.to_string()).unwrap_or_default();
                let path = shell_word(beside.unwrap_or(path));
                unread.get_or_insert(Unread { path, processes, kind });
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

/// Whether `document` names the launcher of `file`, or another one that starts several processes. What is installed is not started.
fn names_launcher(file: &LauncherFile, document: &Document) -> bool {
    let said = if document.format() == Format::Python { &file.unless_called } else { &file.unless_said };
    let is_meant = |line: &&str| !line.trim_start().starts_with('#') && !line.contains("pip install");
    document.text().lines().filter(is_meant).any(|line| said.iter().any(|words| line.contains(words.as_str())))
}

/// Whether a command of `document` shows that Python itself starts a script.
fn starts_alone(document: &Document) -> bool {
    let is_plain = |command: &Command| command.starts_python() && part::script(command).is_some();
    document.format() != Format::Python && document.commands().iter().any(is_plain)
}
