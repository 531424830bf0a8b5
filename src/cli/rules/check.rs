use std::path::PathBuf;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use clap::Args;

use super::count;
use crate::cli::error::CliError;
use crate::cli::home::Home;
use crate::rulebase::{Checked, Finding, Severity, check};

/// Find rules that can never fire, name what is not known, or fail their own examples
#[derive(Debug, Args)]
pub(super) struct Check {
    /// A file or folder of rules [default: the shipped and the imported ones]
    path: Option<PathBuf>,
}

impl Check {
    pub fn run(self, home: &Home) -> Result<ExitCode, CliError> {
        let checked = check(&super::sources(self.path.as_ref(), home)?)?;
        print(&checked);
        Ok(if checked.fails() { ExitCode::from(1) } else { ExitCode::SUCCESS })
    }
}

/// Prints the findings like a compiler, then a summary.
pub(super) fn print(checked: &Checked) {
    const ERROR: Style = AnsiColor::Red.on_default().bold();
    const WARNING: Style = AnsiColor::Yellow.on_default().bold();
    const HINT: Style = AnsiColor::Cyan.on_default();
    for Finding { severity, file, line, problem, advice } in &checked.findings {
        let line = line.map(|line| format!(":{line}")).unwrap_or_default();
        match severity {
            Severity::Error => anstream::println!("{file}{line}: {ERROR}error{ERROR:#}: {problem}"),
            Severity::Warning => anstream::println!("{file}{line}: {WARNING}warning{WARNING:#}: {problem}"),
        }
        anstream::println!("  {HINT}hint{HINT:#}: {advice}");
    }
    let errors = checked.findings.iter().filter(|finding| finding.severity == Severity::Error).count();
    let found = [count(errors, "error"), count(checked.findings.len() - errors, "warning")].join(", ");
    let mut looked_at = vec![count(checked.rules, "rule")];
    let others = [(checked.knobs, "knob"), (checked.messages, "message")];
    looked_at.extend(others.into_iter().filter(|(number, _)| *number > 0).map(|(number, what)| count(number, what)));
    looked_at.push(count(checked.examples, "example"));
    anstream::println!("{}: {found}", looked_at.join(", "));
}
