use std::fs::File;
use std::io::{self, Read};
use std::process::ExitCode;

use clap::Args;

use super::analyze::EXIT_CODES;
use super::digest::write;
use super::error::CliError;
use super::home::{Home, warn};
use super::reporting::Reporting;
use crate::digest::{Digest, DigestError};
use crate::redact::Redactor;

/// Join the digests of many nodes into the report that one analysis over all their logs would give.
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct Merge {
    /// Digests of `oomdoc digest`, one or several in a file; `-` is standard input
    #[arg(required = true, value_name = "DIGEST")]
    digests: Vec<String>,
    /// Name a node that gave no digest
    #[arg(long, value_name = "NODE")]
    unanswered: Vec<String>,
    /// Write the joined digest instead of a report, to be joined further
    #[arg(long, conflicts_with = "format")]
    digest: bool,
    #[command(flatten)]
    reporting: Reporting,
}

impl Merge {
    pub fn run(self, home: &Home) -> Result<ExitCode, CliError> {
        let Merge { digests, unanswered, digest, reporting } = self;
        let mut whole = Digest::default();
        let mut problems = Vec::new();
        for path in digests {
            if let Err(error) = open(&path).map_err(DigestError::from).and_then(|bytes| whole.read(bytes)) {
                problems.push((path, error));
            }
        }
        unanswered.iter().for_each(|node| whole.add(Digest::unanswered(node)));
        if whole.is_empty() {
            return Err(CliError::NoDigest(problems));
        }
        for (path, error) in problems {
            warn(&format!("{path}: {error}"), "the report covers the others");
        }
        if digest {
            write(reporting.output(), &whole.bytes())?;
            return Ok(ExitCode::SUCCESS);
        }
        let options = reporting.options(home)?;
        let knowledge = options.known()?;
        let (mut reports, damaged) = crate::analyze_digest(whole, options, reporting.grouping())?;
        if !reporting.shows_neighbours() {
            reports.iter_mut().for_each(|report| report.neighbours.clear());
        }
        for error in damaged {
            warn(&error.to_string(), "take the digest of that node again; the report covers the others");
        }
        let redactor = Redactor::new(&knowledge.secrets)?;
        reporting.report(&reports, knowledge, redactor, home)
    }
}

fn open(path: &str) -> io::Result<Box<dyn Read>> {
    Ok(if path == "-" { Box::new(io::stdin()) } else { Box::new(File::open(path)?) })
}
