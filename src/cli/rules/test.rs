use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;

use super::count;
use crate::cli::error::CliError;
use crate::cli::home::Home;
use crate::cli::table::table;
use crate::rulebase::{ExampleOutcome, RuleSource, try_examples};

/// Run the examples of rules through the whole analysis
#[derive(Debug, Args)]
pub(super) struct Test {
    /// A file or folder of rules [default: the shipped and the imported ones]
    path: Option<PathBuf>,
}

impl Test {
    pub fn run(self, home: &Home) -> Result<ExitCode, CliError> {
        let sources = super::sources(self.path.as_ref(), home)?;
        let knowledge = Arc::new(RuleSource::overlay(&sources)?);
        let mut tried = Vec::new();
        for rule in sources.iter().filter_map(|source| source.cause()) {
            tried.extend(try_examples(&rule, &knowledge)?);
        }
        let rows: Vec<[String; 5]> = tried.iter().map(row).collect();
        let failed = tried.iter().filter(|tried| tried.problem.is_some()).count();
        let mut out = anstream::stdout();
        out.write_all(table(&rows).as_bytes())?;
        writeln!(out, "{}: {} passed, {failed} failed", count(tried.len(), "example"), tried.len() - failed)?;
        Ok(if failed > 0 { ExitCode::from(1) } else { ExitCode::SUCCESS })
    }
}

/// A row for an example: passed or failed, the rule, the expectation, the example, and why it failed.
fn row(tried: &ExampleOutcome) -> [String; 5] {
    let outcome = if tried.problem.is_none() { "passed" } else { "FAILED" };
    let what = match &tried.problem {
        None => String::new(),
        Some(problem) => {
            let named: Vec<String> =
                tried.named.iter().map(|(cause, confidence)| format!("{cause} {confidence:.2}")).collect();
            format!("{problem}; verdict {}: {}", tried.verdict, named.join(", "))
        }
    };
    [outcome.to_owned(), tried.rule.to_string(), tried.must.as_str().to_owned(), tried.example.clone(), what]
}
