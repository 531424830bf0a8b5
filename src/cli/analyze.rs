use std::fs::OpenOptions;
use std::io::Write;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

use clap::Args;

use super::addresses;
use super::error::CliError;
use super::home::{Home, warn};
use super::progress::Progress;
use super::reporting::Reporting;
use crate::Options;
use crate::knowledge::Language;
use crate::model::Report;
use crate::redact::Redactor;
use crate::report;
use crate::triage::{self, HttpError, Patience};
use crate::watch::Watch;

/// Exit codes of the commands that read logs.
pub(super) const EXIT_CODES: &str = "Exit codes:
  0  the inputs were read, whatever they hold
  1  the verdict is one that --fail-on names
  2  nothing could be read as a log, or the command is wrong; standard error says which";

/// Say what ran out, where, in which phase and with which figures, and prove it.
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct Analyze {
    /// Logs, kernel logs, memory snapshots, folders and archives of them, configs, launch scripts; `-` is standard input,
    /// `s3://bucket/key`, `gs://…` and `https://…` what lies there
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<String>,
    #[command(flatten)]
    reporting: Reporting,
}

impl Analyze {
    pub fn run(self, home: &Home) -> Result<ExitCode, CliError> {
        let Analyze { paths, reporting } = self;
        let options = reporting.options(home)?;
        let knowledge = options.known()?;
        let redactor = thread::spawn({
            let knowledge = Arc::clone(&knowledge);
            move || Redactor::new(&knowledge.secrets)
        });
        let watch = Arc::new(Watch::default());
        let (paths, elsewhere) = addresses::of_command_line(paths);
        let progress = Progress::of(&watch, &paths, elsewhere.clone());
        let options = Options { watch: Some(watch), elsewhere, ..options };
        let mut reports = crate::analyze_jobs(&paths, &options, reporting.grouping())?;
        drop(progress);
        if reporting.shows_neighbours() {
            reports.iter_mut().for_each(|report| report::neighbours(report, &paths, options.places()));
        }
        let redactor = redactor.join().unwrap_or_else(|panic| resume_unwind(panic))?;
        reporting.report(&reports, knowledge, redactor, home)
    }
}

/// The root of the repository that a pipeline works in; otherwise the current folder.
pub(super) fn repository() -> PathBuf {
    let named = ["GITHUB_WORKSPACE", "CI_PROJECT_DIR"].iter().find_map(std::env::var_os);
    named.map_or_else(|| PathBuf::from("."), PathBuf::from)
}

/// Appends `page` to the step's summary of GitHub Actions, if there is one.
pub(super) fn summarize(page: &str) -> Result<(), CliError> {
    let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").map(PathBuf::from) else { return Ok(()) };
    let file = OpenOptions::new().append(true).create(true).open(&path);
    file.and_then(|mut file| writeln!(file, "{page}")).map_err(|error| CliError::Write { path, error })
}

/// Posts a message to `url`. A failure is a warning: the analysis has succeeded.
pub(super) fn tell(url: &str, sent: &Report, language: Language, run: Option<&str>) {
    if let Err(error) = triage::notify(url, sent, language, run, Patience::default()) {
        let advice = match error {
            HttpError::Certificates { .. } => "name a file of certificates (PEM) with SSL_CERT_FILE, or unset it",
            _ => "check the address given with --notify",
        };
        warn(&format!("no message was sent: {error}"), advice);
    }
}
