use std::process::ExitCode;

use crate::model::Report;
use crate::triage::FailOn;

/// The exit status that `policy` gives to reports: 1 where one of its rows holds for one of them.
pub(super) fn status(policy: &[FailOn], reports: &[Report]) -> ExitCode {
    let fails = reports.iter().any(|report| policy.iter().any(|fail_on| fail_on.holds(report)));
    if fails { ExitCode::from(1) } else { ExitCode::SUCCESS }
}
