use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use clap::Args;

use super::{open, publish};
use crate::cli::error::CliError;
use crate::history::{self, HistoryError};
use crate::redact::Redactor;

/// Import what another history exported; incidents that are already here are not duplicated
#[derive(Debug, Args)]
pub(super) struct Import {
    /// The file; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

impl Import {
    pub fn run(self, home: &Path, redactor: &Redactor) -> Result<(), CliError> {
        let mut lines: Box<dyn BufRead> = match self.file.as_os_str() == "-" {
            true => Box::new(BufReader::new(std::io::stdin())),
            false => {
                let path = self.file.clone();
                Box::new(BufReader::new(File::open(&path).map_err(|error| HistoryError::File { path, error })?))
            }
        };
        let mut store = open(home)?;
        let done = history::import(&mut store, &mut lines, redactor);
        // The lines before a faulty one were imported.
        publish(&mut store)?;
        let done = done?;
        anstream::println!("{} new, {} known, {} outcomes", done.new, done.known, done.outcomes);
        Ok(())
    }
}
