use std::process::ExitCode;
use std::str::FromStr;

use crate::model::{Kind, Report};

/// What makes a command fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailOn {
    /// Nothing.
    Never,
    /// Any shortage of memory.
    Any,
    /// One kind of it.
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

/// The exit status that `policy` gives to reports: 1 where one of its rows holds for one of them.
pub(super) fn status(policy: &[FailOn], reports: &[Report]) -> ExitCode {
    let verdicts = || reports.iter().map(|report| report.verdict);
    let fails = policy.iter().any(|fail_on| match fail_on {
        FailOn::Never => false,
        FailOn::Any => verdicts().any(|verdict| verdict != Kind::None),
        FailOn::Kind(kind) => verdicts().any(|verdict| verdict == *kind),
    });
    if fails { ExitCode::from(1) } else { ExitCode::SUCCESS }
}
