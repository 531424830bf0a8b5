use std::io::Write;
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::Arc;

use clap::{Args, ValueEnum};

use super::error::CliError;
use super::home::Home;
use super::progress::Progress;
use crate::Options;
use crate::diagnosis::Value;
use crate::knowledge::Language;
use crate::model::{Kind, Report};
use crate::report;
use crate::watch::Watch;

/// Says what ran out, where, in which phase, with which figures, and proves it.
#[derive(Debug, Args)]
pub(super) struct Analyze {
    /// Logs, kernel logs, folders and archives of them, configs, launch scripts; `-` is standard input
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<String>,
    /// How to show the report
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// The language of the report: `en` or `zh`
    #[arg(long, value_name = "LANG", default_value = "en")]
    lang: Language,
    /// What no log says and you know: `model=8b`, `gpu=A100-80G`, `host.memory=500GiB`
    #[arg(long, value_name = "KEY=VALUE", value_parser = told)]
    fact: Vec<(String, Value)>,
    /// Do not keep the incident in the history
    #[arg(long)]
    no_save: bool,
    /// Exit with 1 when the verdict is one of these kinds (comma-separated), `any`, or never: `none`
    #[arg(long, value_name = "KIND", value_delimiter = ',', default_value = "none")]
    fail_on: Vec<FailOn>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

/// What makes the command fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FailOn {
    Never,
    Any,
    Kind(Kind),
}

impl FromStr for FailOn {
    type Err = String;

    fn from_str(word: &str) -> Result<FailOn, String> {
        match word {
            "none" => Ok(FailOn::Never),
            "any" => Ok(FailOn::Any),
            word => word.parse().map(FailOn::Kind).map_err(|error: crate::model::UnknownWord| error.to_string()),
        }
    }
}

impl Analyze {
    pub fn run(self, home: &Home) -> Result<ExitCode, CliError> {
        let watch = Arc::new(Watch::default());
        let progress = Progress::of(&watch, &self.paths);
        let options = Options {
            language: self.lang,
            facts: self.fact.clone(),
            knowledge: Some(home.knowledge()?),
            watch: Some(watch),
            ..Options::default()
        };
        let report = crate::analyze(&self.paths, &options)?;
        drop(progress);
        match self.format {
            Format::Text => anstream::stdout().write_all(report::text(&report, self.lang).as_bytes())?,
            Format::Json => writeln!(std::io::stdout(), "{}", report::json(&report)?)?,
        }
        Ok(if self.fails(&report) { ExitCode::from(1) } else { ExitCode::SUCCESS })
    }

    fn fails(&self, report: &Report) -> bool {
        self.fail_on.iter().any(|fail_on| match fail_on {
            FailOn::Never => false,
            FailOn::Any => report.verdict != Kind::None,
            FailOn::Kind(kind) => report.verdict == *kind,
        })
    }
}

/// `host.memory=500GiB`: a name and a number, an amount of memory, yes or no, or words.
pub(super) fn told(text: &str) -> Result<(String, Value), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => Ok((name.to_owned(), Value::read(value))),
        _ => Err("write it as KEY=VALUE, e.g. model=8b".to_owned()),
    }
}
