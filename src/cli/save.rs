use std::path::Path;
use std::process::{Command, Stdio};

use super::home::{Home, warn};
use crate::history::{self, Annotations, HistoryError, Likeness, Record};
use crate::model::{Earlier, Experience, Report};
use crate::redact::Redactor;
use crate::settings::Settings;

/// Keeps the incident of `report` with `annotations`. Failures are warnings: the analysis has succeeded.
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

/// At most `most` incidents of the history that are similar to that of `report`. Failures are warnings.
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
        // Rounded down, so that only the same trouble is shown as 100 %.
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

/// Starts a background process that moves the spool into the store, as opening the store takes too long to wait for. If
/// it cannot be started, the next `history` command does the same.
pub(super) fn drain(home: &Path, settings: &Settings) {
    let Ok(program) = std::env::current_exe() else { return };
    let mut command = Command::new(program);
    command.args(["history", "drain"]).arg("--no-config").env("OOMDOC_HOME", home);
    // The process reads no settings; server and token are passed to it.
    command.env("OOMDOC_SERVER", settings.server.as_ref().map_or("", |url| &url.value));
    if let Some(token) = &settings.server_token {
        command.env("OOMDOC_SERVER_TOKEN_FILE", &token.value);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt;
        // A signal that ends the job's process group must not interrupt it.
        command.process_group(0);
    }
    if let Ok(mut drain) = command.spawn() {
        // Reaps the child: a long-running process would accumulate zombies.
        std::thread::spawn(move || drain.wait());
    }
}
