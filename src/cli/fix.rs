use std::io::Write;
use std::process::ExitCode;

use clap::Args;

use super::analyze::told;
use super::error::CliError;
use super::home::Home;
use crate::facts::Value;
use crate::fix::{self, Done};
use crate::knowledge::Language;
use crate::{Options, report};

/// Applies a patch to the job's own configuration.
#[derive(Debug, Args)]
pub(super) struct Fix {
    /// The logs and the configuration to mend, as for `analyze`
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<String>,
    /// Which patch: its number in the report, or its knob; the first that edits a file otherwise
    #[arg(long, value_name = "NUMBER|KNOB")]
    pick: Option<String>,
    /// Show the change and write nothing
    #[arg(long, conflicts_with = "write", required_unless_present = "write")]
    diff: bool,
    /// Write the change; the file as it was stays beside it
    #[arg(long)]
    write: bool,
    /// The language of hints: `en` or `zh`
    #[arg(long, value_name = "LANG", default_value = "en")]
    lang: Language,
    /// What no log says and you know: `model=8b`, `gpu=A100-80G`, `host.memory=500GiB`
    #[arg(long, value_name = "KEY=VALUE", value_parser = told)]
    fact: Vec<(String, Value)>,
}

impl Fix {
    pub fn run(self, home: &Home) -> Result<ExitCode, CliError> {
        let knowledge = Some(home.knowledge()?);
        let options = Options { language: self.lang, facts: self.fact, knowledge, ..Options::default() };
        let report = fix::analyze(&self.paths, &options)?;
        let patch = fix::pick(&report, self.pick.as_deref())?;
        let mut out = anstream::stdout();
        match (&patch.diff, self.write) {
            (None, _) => return Err(fix::FixError::NoFile { knob: patch.knob.clone() }.into()),
            (Some(diff), false) => out.write_all(diff.as_bytes())?,
            (Some(_), true) => {
                let file = patch.file.as_deref().unwrap_or_default();
                let done = match fix::write(patch)? {
                    Done::Written => "written",
                    Done::Already => "already so",
                };
                writeln!(out, "{file}: {}, {done}", report::change(patch))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
