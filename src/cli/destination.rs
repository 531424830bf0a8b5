use std::io::Write;
use std::path::{Path, PathBuf};

use anstream::adapter::strip_str;
use clap::Args;

use super::error::CliError;

/// Where a report is written.
#[derive(Debug, Args)]
pub(super) struct Destination {
    /// Write the report to this file instead of printing it
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print no report; the exit code tells the result
    #[arg(short, long)]
    quiet: bool,
}

impl Destination {
    /// Writes `text`; its styles are kept only for a terminal.
    pub fn write_styled(&self, text: &str) -> Result<(), CliError> {
        match (&self.output, self.quiet) {
            (None, false) => Ok(anstream::stdout().write_all(text.as_bytes())?),
            _ => self.write(&strip_str(text).to_string()),
        }
    }

    /// The file given with `--output`.
    pub fn file(&self) -> Option<&Path> {
        self.output.as_deref()
    }

    /// Writes `page` unchanged.
    pub fn write(&self, page: &str) -> Result<(), CliError> {
        match &self.output {
            Some(path) => std::fs::write(path, page).map_err(|error| CliError::Write { path: path.clone(), error }),
            None if self.quiet => Ok(()),
            None => {
                let mut out = std::io::stdout();
                out.write_all(page.as_bytes())?;
                Ok(out.flush()?)
            }
        }
    }
}
