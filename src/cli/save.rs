use std::path::Path;
use std::process::{Command, Stdio};

use super::home::{Home, warn};
use crate::history::{self, HistoryError, Record};
use crate::knowledge::Knowledge;
use crate::model::Report;
use crate::redact::Redactor;

/// Keeps the incident of `report`. What goes wrong is said on standard error: it costs nobody the analysis.
pub(super) fn save(report: &Report, knowledge: &Knowledge, home: &Home) {
    if report.incidents.is_empty() {
        return;
    }
    let home = match home.path() {
        Ok(home) => home,
        Err(error) => {
            return warn(&format!("the incident is not kept: {error}"), "name a folder with --home, or say --no-save");
        }
    };
    match keep(report, knowledge, &home) {
        Ok(()) => drain(&home),
        Err(error) => warn(&format!("the incident is not kept: {error}"), &error.advice()),
    }
}

fn keep(report: &Report, knowledge: &Knowledge, home: &Path) -> Result<(), HistoryError> {
    let redactor = Redactor::new(&knowledge.secrets)?;
    if let Some(record) = Record::of(report, &redactor)? {
        history::put(home, &record)?;
    }
    Ok(())
}

/// Starts a process that moves the spool into the store: opening that takes longer than anybody should wait. Where it
/// cannot be started, the next command of `history` does it.
pub(super) fn drain(home: &Path) {
    let Ok(program) = std::env::current_exe() else { return };
    let mut command = Command::new(program);
    command.args(["history", "drain"]).env("OOMDOC_HOME", home);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt;
        // What ends the job that this is part of must not end it in the middle.
        command.process_group(0);
    }
    let _ = command.spawn();
}
