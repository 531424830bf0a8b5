use std::io::Write;
use std::process::ExitCode;

use clap::Args;

use super::error::CliError;
use super::facts::ToldFacts;
use super::home::Home;
use super::language::Lang;
use crate::fix::{self, Done};
use crate::model::Patch;
use crate::{Options, report};

/// Show the configuration change that the report proposes, or make it.
#[derive(Debug, Args)]
pub(super) struct Fix {
    /// The logs and the configuration to change, as for `analyze`
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<String>,
    /// Which patches, by number or knob (comma-separated) [default: what the report proposes]
    #[arg(long, value_name = "NUMBER|KNOB", value_delimiter = ',', allow_hyphen_values = true)]
    pick: Vec<String>,
    /// Show the change without writing it (the default)
    #[arg(long, conflicts_with = "write")]
    diff: bool,
    /// Write the change; a copy of each old file stays next to it
    #[arg(long)]
    write: bool,
    #[command(flatten)]
    lang: Lang,
    #[command(flatten)]
    told: ToldFacts,
}

impl Fix {
    pub fn run(self, home: &Home) -> Result<ExitCode, CliError> {
        let knowledge = home.knowledge()?;
        self.told.check(&knowledge)?;
        let site = home.site(&knowledge)?;
        let (language, facts, knowledge) = (self.lang.language, self.told.fact, Some(knowledge));
        let options = Options { language, facts, knowledge, site, ..Options::default() };
        let report = fix::analyze(&self.paths, &options)?;
        let patches = fix::pick(&report, &self.pick)?;
        let mut out = anstream::stdout();
        for mended in fix::mend(&report, &patches)? {
            if !self.write {
                out.write_all(mended.diff.as_bytes())?;
                continue;
            }
            let done = match fix::write(&mended)? {
                Done::Written => "written",
                Done::Already => "already so",
            };
            let is_here = |patch: &&&Patch| patch.edits.iter().any(|edit| *edit.file == mended.file);
            let changes: Vec<String> = patches.iter().filter(is_here).map(|patch| report::change(patch)).collect();
            writeln!(out, "{}: {}, {done}", mended.file, changes.join("; "))?;
        }
        // A diff is often piped into another program, so notes go to standard error.
        let mut notes: Vec<&str> = patches.iter().filter_map(|patch| patch.constraint.as_deref()).collect();
        notes.dedup();
        for note in notes {
            writeln!(anstream::stderr(), "note: {note}")?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
