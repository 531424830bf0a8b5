use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use thiserror::Error as ThisError;

use crate::Error;
use crate::calibrate::{CalibrateError, LabelError};

/// Why a command did not do what it was asked for.
#[derive(Debug, ThisError)]
pub(super) enum CliError {
    /// There is no report.
    #[error(transparent)]
    Analysis(#[from] Error),
    /// There is no calibration.
    #[error(transparent)]
    Calibration(#[from] CalibrateError),
    /// A file could not be written.
    #[error("cannot write {}: {error}", .path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// What the system says.
        #[source]
        error: io::Error,
    },
    /// The report could not be written as JSON.
    #[error("the report could not be written: {0}")]
    Json(#[from] serde_json::Error),
    /// Standard output could not be written.
    #[error("the report could not be printed: {0}")]
    Output(#[from] io::Error),
}

impl CliError {
    /// Says what went wrong and what to do about it, on standard error; the exit status to end with.
    pub fn report(&self) -> ExitCode {
        const ERROR: Style = AnsiColor::Red.on_default().bold();
        const HINT: Style = AnsiColor::Cyan.on_default();
        // Whoever reads through `head` has what they wanted.
        if matches!(self, CliError::Output(error) if error.kind() == io::ErrorKind::BrokenPipe) {
            return ExitCode::SUCCESS;
        }
        anstream::eprintln!("{ERROR}error{ERROR:#}: {self}");
        if let CliError::Analysis(Error::NothingRead(errors)) = self {
            errors.iter().for_each(|error| anstream::eprintln!("  {error}"));
        }
        if let Some(hint) = self.hint() {
            anstream::eprintln!("{HINT}hint{HINT:#}: {hint}");
        }
        ExitCode::from(2)
    }

    fn hint(&self) -> Option<&'static str> {
        match self {
            CliError::Analysis(Error::NothingRead(_)) => {
                Some("name a log file, a folder of logs, or `-` for standard input: `oomdoc analyze job.log dmesg.log`")
            }
            CliError::Analysis(Error::Knowledge(_) | Error::Search(_)) => {
                Some("this is a fault of oomdoc's own: please report it")
            }
            CliError::Calibration(CalibrateError::Labels(LabelError::NoCases { .. })) => {
                Some("DIR holds one folder a case, each with its logs and a label: docs/accuracy.md shows both")
            }
            CliError::Calibration(CalibrateError::NothingLabelled(_)) => {
                Some("a label says `kind` and `cause`: docs/accuracy.md shows how")
            }
            CliError::Calibration(_) => None,
            CliError::Write { .. } => Some("name another file: `--write=calibration.toml`"),
            CliError::Json(_) | CliError::Output(_) => None,
        }
    }
}
