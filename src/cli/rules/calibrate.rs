use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::calibrate::{self, Calibrated, Forecast};
use crate::cli::error::CliError;
use crate::cli::home::Home;
use crate::knowledge::Calibration;

/// Fits how sure diagnoses are on labelled incidents, and shows how well that does
#[derive(Debug, Args)]
pub(super) struct Calibrate {
    /// A folder with one folder a case, each with its logs and its label
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The label's file name, JSON or TOML [default: truth.json or expected.toml]
    #[arg(long, value_name = "NAME")]
    label: Option<String>,
    /// Write the numbers to FILE
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "rules/calibration.toml")]
    write: Option<PathBuf>,
}

impl Calibrate {
    pub fn run(self, home: &Home) -> Result<ExitCode, CliError> {
        let found = calibrate::calibrate(&self.folder, self.label.as_deref(), home.load()?)?;
        let page = page(&found).map_err(std::io::Error::other)?;
        anstream::stdout().write_all(page.as_bytes())?;
        if let Some(path) = self.write {
            let rules = rules(&found.calibration).map_err(std::io::Error::other)?;
            std::fs::write(&path, rules).map_err(|error| CliError::Write { path, error })?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The result in Markdown.
fn page(found: &Calibrated) -> Result<String, fmt::Error> {
    let mut page = String::new();
    let fitted_on = found.fitted.len();
    writeln!(
        page,
        "{} cases, {fitted_on} of them with an incident and a labelled cause, of {} origins.\n",
        found.cases, found.groups
    )?;
    writeln!(page, "| first diagnosis | Brier score | mean confidence | share right |\n|---|---|---|---|")?;
    for (name, forecasts) in [
        ("by its share of all odds", &found.before),
        ("calibrated on all cases", &found.fitted),
        ("calibrated on the cases of other origins", &found.left_out),
    ] {
        let mean = |number: fn(&Forecast) -> f64| forecasts.iter().map(number).sum::<f64>() / forecasts.len() as f64;
        let brier = calibrate::brier(forecasts).unwrap_or(f64::NAN);
        let (said, right) = (mean(|(said, _)| *said), mean(|(_, right)| f64::from(*right)));
        writeln!(page, "| {name} | {brier:.3} | {said:.2} | {right:.2} |")?;
    }
    for (name, forecasts) in
        [("By its share of all odds", &found.before), ("Calibrated on the cases of other origins", &found.left_out)]
    {
        writeln!(page, "\n{name}:\n\n| confidence | cases | mean confidence | share right |\n|---|---|---|---|")?;
        for bin in calibrate::bins(forecasts) {
            writeln!(page, "| {:.1}–{:.1} | {} | {:.2} | {:.2} |", bin.low, bin.high, bin.count, bin.said, bin.right)?;
        }
    }
    Ok(page)
}

/// `rules/calibration.toml`.
fn rules(calibration: &Calibration) -> Result<String, fmt::Error> {
    let mut rules = String::from(
        "# How sure to be of a first diagnosis. Written by `oomdoc rules calibrate DIR --write`; docs/accuracy.md says how.\n",
    );
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
        let calibration = Calibration {
            slope: 0.75,
            offset: 1.5,
            unknown_offset: -0.125,
            kind_offset: [(Kind::GpuOom, -0.25), (Kind::HostOomRay, 0.5)].into(),
        };
        let written = rules(&calibration)?;
        let read = Knowledge::load([("calibration.toml", &*written)].into_iter())?;
        assert_eq!(read.calibration, calibration);
        Ok(())
    }
}
