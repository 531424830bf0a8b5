use std::path::Path;
use std::process::{Command, Stdio};

use super::home::{Home, warn};
use crate::history::{self, Annotations, HistoryError, Likeness, Record};
use crate::model::{Earlier, Experience, Report};
use crate::redact::Redactor;
use crate::settings::Settings;

/// Keeps the incident of `report` with what people call it. What goes wrong is said on standard error: it costs nobody the
/// analysis.
pub(super) fn save(report: &Report, annotations: Annotations, redactor: &Redactor, home: &Home) {
    if report.incidents.is_empty() {
        return;
    }
    let settings = &home.settings;
    let home = match home.path() {
        Ok(home) => home,
        Err(error) => {
            return warn(&format!("the incident is not kept: {error}"), "name a folder with --home, or say --no-save");
        }
    };
    match keep(report, annotations, redactor, &home) {
        Ok(()) => drain(&home, settings),
        Err(error) => warn(&format!("the incident is not kept: {error}"), &error.advice()),
    }
}

/// The incidents of the history that are most like that of `report`, at most so many. What goes wrong is said on standard error.
pub(super) fn earlier(
    report: &Report,
    redactor: &Redactor,
    experience: &Experience,
    home: &Home,
    most: usize,
) -> Vec<Earlier> {
    let Ok(home) = home.path() else { return Vec::new() };
    let alike = || {
        let Some(record) = Record::of(report, redactor)? else { return Ok(Vec::new()) };
        Ok::<_, HistoryError>(history::ask_similar(&home, &record, most)?.found)
    };
    let of = |Likeness { incident, score, .. }: Likeness| Earlier {
        // Less than the same trouble is never shown as that.
        likeness: (score * 100.0).clamp(0.0, 100.0) as u8,
        worked: experience.groups.get(&incident.group).map(|group| group.worked.clone()).unwrap_or_default(),
        id: incident.id,
        time: incident.time,
        title: incident.title,
    };
    match alike() {
        Ok(found) => found.into_iter().map(of).collect(),
        Err(error) => {
            warn(&format!("earlier incidents are left out: {error}"), &error.advice());
            Vec::new()
        }
    }
}

fn keep(report: &Report, mut annotations: Annotations, redactor: &Redactor, home: &Path) -> Result<(), HistoryError> {
    if let Some(record) = Record::of(report, redactor)? {
        redactor.mask(&mut annotations);
        history::put(home, &Record { annotations, ..record })?;
    }
    Ok(())
}

/// Starts a process that moves the spool into the store: opening that takes longer than anybody should wait. Where it
/// cannot be started, the next command of `history` does it.
pub(super) fn drain(home: &Path, settings: &Settings) {
    let Ok(program) = std::env::current_exe() else { return };
    let mut command = Command::new(program);
    command.args(["history", "drain"]).arg("--no-config").env("OOMDOC_HOME", home);
    // It reads no file of settings: what it brings to whom, and in whose name, it is told.
    command.env("OOMDOC_SERVER", settings.server.as_ref().map_or("", |url| &url.value));
    if let Some(token) = &settings.server_token {
        command.env("OOMDOC_SERVER_TOKEN_FILE", &token.value);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt;
        // What ends the job that this is part of must not end it in the middle.
        command.process_group(0);
    }
    if let Ok(mut drain) = command.spawn() {
        // A process that goes on answering would be left with its corpse.
        std::thread::spawn(move || drain.wait());
    }
}
