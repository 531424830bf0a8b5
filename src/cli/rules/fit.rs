use std::fmt::{self, Write as _};
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;

use crate::cli::error::CliError;
use crate::cli::home::Home;
use crate::fit::{self, Fitted, Forecast, Learn, Tally};
use crate::knowledge::{Calibration, Learned};

/// Fit the weights of signals and the confidence of diagnoses to labelled incidents, and show how well that does on others
#[derive(Debug, Args)]
pub(super) struct Fit {
    /// Folders with one folder a case, each with its logs and its label
    #[arg(value_name = "DIR", required = true)]
    folders: Vec<PathBuf>,
    /// Folders of the same form whose answers must stay right
    #[arg(long, value_name = "DIR")]
    keep: Vec<PathBuf>,
    /// Fit causes only, and leave the weights for phases as they are
    #[arg(long)]
    causes_only: bool,
    /// The label's file name, JSON or TOML [default: truth.json or expected.toml]
    #[arg(long, value_name = "NAME")]
    label: Option<String>,
    /// Write the numbers below RULES: ranking/phases.toml, ranking/causes.toml, calibration.toml
    #[arg(long, value_name = "RULES", num_args = 0..=1, require_equals = true, default_missing_value = "rules")]
    write: Option<PathBuf>,
}

impl Fit {
    pub fn run(self, home: &Home) -> Result<ExitCode, CliError> {
        let learn = if self.causes_only { Learn::Causes } else { Learn::Both };
        let found = fit::fit(&self.folders, &self.keep, self.label.as_deref(), learn, Arc::new(home.load()?))?;
        let page = page(&found).map_err(std::io::Error::other)?;
        anstream::stdout().write_all(page.as_bytes())?;
        if let Some(rules) = self.write {
            let phases = found.phases.as_ref().map(|phases| ("ranking/phases.toml", weights(phases, "phases")));
            let files = [
                ("ranking/causes.toml", weights(&found.causes, "causes")),
                ("calibration.toml", calibration(&found.calibration)),
            ];
            for (name, content) in phases.into_iter().chain(files) {
                write(rules.join(name), &content.map_err(std::io::Error::other)?)?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn write(path: PathBuf, content: &str) -> Result<(), CliError> {
    let made = path.parent().map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| fs::write(&path, content)).map_err(|error| CliError::Write { path, error })
}

/// The result as Markdown.
fn page(found: &Fitted) -> Result<String, fmt::Error> {
    let mut page = String::new();
    let Fitted { cases, fitted, groups, .. } = found;
    writeln!(page, "{cases} cases, {fitted} of them with an incident and labels, of {groups} origins.\n")?;
    writeln!(page, "| right answers | phase | exact | first cause | exact | first three |\n|---|---|---|---|---|---|")?;
    for (name, tally) in [
        ("as written, nothing fitted", &found.written),
        ("on repositories left out", &found.repositories),
        ("on frameworks left out", &found.frameworks),
    ] {
        let Tally { all, phase, phase_exact, cause, cause_exact, cause_of_three } = *tally;
        let share = |count: usize| count as f64 / all.max(1) as f64;
        writeln!(
            page,
            "| {name} | {:.3} | {:.3} | {:.3} | {:.3} | {:.3} |",
            share(phase),
            share(phase_exact),
            share(cause),
            share(cause_exact),
            share(cause_of_three)
        )?;
    }
    writeln!(
        page,
        "\n| first cause, on repositories left out | Brier score | mean confidence | share right |\n|---|---|---|---|"
    )?;
    for (name, forecasts) in
        [("by its share of all odds", &found.before), ("calibrated on the others", &found.calibrated)]
    {
        let mean = |number: fn(&Forecast) -> f64| forecasts.iter().map(number).sum::<f64>() / forecasts.len() as f64;
        let brier = fit::brier(forecasts).unwrap_or(f64::NAN);
        let (said, right) = (mean(|(said, _)| *said), mean(|(_, right)| f64::from(*right)));
        writeln!(page, "| {name} | {brier:.3} | {said:.2} | {right:.2} |")?;
    }
    writeln!(page, "\n| confidence | cases | mean confidence | share right |\n|---|---|---|---|")?;
    for bin in fit::bins(&found.calibrated) {
        writeln!(page, "| {:.1}–{:.1} | {} | {:.2} | {:.2} |", bin.low, bin.high, bin.count, bin.said, bin.right)?;
    }
    Ok(page)
}

const WRITTEN: &str = "Written by `oomdoc rules fit DIR --write`; docs/accuracy.md says how.";

/// The content of `rules/ranking/phases.toml` or `rules/ranking/causes.toml`.
fn weights(learned: &Learned, what: &str) -> Result<String, fmt::Error> {
    let mut rules = format!("# What incidents taught of {what}, beside what is written. {WRITTEN}\n\n");
    writeln!(rules, "answers = {:?}", learned.answers)?;
    for (table, weights) in [("bias", &learned.bias), ("vote", &learned.vote)] {
        writeln!(rules, "\n[{table}]")?;
        for (name, weight) in weights {
            writeln!(rules, "{name:?} = {weight:?}")?;
        }
    }
    writeln!(rules, "\n# For each of the answers, in hundredths.\n[signal]")?;
    for (name, row) in &learned.signal {
        let row: Vec<String> = row.iter().map(i16::to_string).collect();
        writeln!(rules, "{name:?} = [{}]", row.join(", "))?;
    }
    Ok(rules)
}

/// The content of `rules/calibration.toml`.
fn calibration(calibration: &Calibration) -> Result<String, fmt::Error> {
    let mut rules = format!("# How sure to be of a first diagnosis. {WRITTEN}\n");
    writeln!(rules, "slope = {:.3}", calibration.slope)?;
    writeln!(rules, "offset = {:.3}", calibration.offset)?;
    writeln!(rules, "unknown_offset = {:.3}", calibration.unknown_offset)?;
    writeln!(rules, "\n[kind_offset]")?;
    for (kind, offset) in &calibration.kind_offset {
        writeln!(rules, "{kind} = {offset:.3}")?;
    }
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::Knowledge;
    use crate::model::Kind;

    #[test]
    fn what_is_written_reads_back() -> Result<(), Box<dyn std::error::Error>> {
        let sure = Calibration {
            slope: 0.75,
            offset: 1.5,
            unknown_offset: -0.125,
            kind_offset: [(Kind::GpuOom, -0.25), (Kind::HostOomRay, 0.5)].into(),
        };
        let name = "at:\"a\\b.py\":<module>";
        let learned = Learned {
            answers: vec!["backward".into(), "forward".into()],
            bias: [("forward".into(), 0.5)].into(),
            vote: [("mark".into(), -2.0)].into(),
            signal: [(name.to_owned(), vec![0, 125])].into(),
        };
        let (calibration, weights) = (calibration(&sure)?, weights(&learned, "phases")?);
        let files = [("calibration.toml", &*calibration), ("ranking/phases.toml", &*weights)];
        let read = Knowledge::load(files.into_iter())?;
        assert_eq!(read.calibration, sure);
        let phases = &read.ranking.phases;
        assert_eq!((phases.bias("forward"), phases.vote("mark", 3.0), phases.of(name, "forward")), (0.5, 1.0, 1.25));
        Ok(())
    }
}
