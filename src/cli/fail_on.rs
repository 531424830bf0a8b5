use std::process::ExitCode;

use crate::model::Report;
use crate::triage::FailOn;

/// The exit status: 1 if one of `policy` applies to one of the reports.
pub(super) fn status(policy: &[FailOn], reports: &[Report]) -> ExitCode {
    let fails = reports.iter().any(|report| policy.iter().any(|fail_on| fail_on.holds(report)));
    if fails { ExitCode::from(1) } else { ExitCode::SUCCESS }
}
