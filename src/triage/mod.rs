//! What happens to a report in a pipeline.
//!
//! In: a report that may leave the machine, and the pipeline's environment. Out: a comment on the pull or merge
//! request, and a message. A server that is down, busy or unwilling costs the comment but never the report, which is on
//! disk and in the step's summary before.

mod comment;
#[cfg(feature = "cli")]
mod download;
mod environment;
mod fail_on;
mod forge;
mod github;
mod gitlab;
mod http;
mod notify;
mod proxies;
mod trust;

use crate::knowledge::Language;
use crate::model::{Kind, Report};
use crate::report;

pub use comment::{Posted, marker, say, solve};
#[cfg(feature = "cli")]
pub use download::Download;
#[cfg(feature = "stores")]
pub use download::origin;
pub use environment::{Conversation, Environment, Missing, Pipeline};
pub use fail_on::FailOn;
pub use forge::{Comment, Forge};
pub use github::GitHub;
pub use gitlab::GitLab;
pub use http::{Client, HttpError, Patience};
pub use notify::notify;
#[cfg(feature = "stores")]
pub use proxies::Proxies;

/// The trusted certificate authorities: those in `$SSL_CERT_FILE`, or the built-in ones.
#[cfg(feature = "stores")]
pub fn trusted_roots() -> Result<ureq::tls::RootCerts, HttpError> {
    trust::roots(None)
}

/// The state of a job according to its report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It failed for a known reason.
    Failed,
    /// It succeeded.
    Passed,
    /// It failed for a reason that is accepted.
    Accepted,
    /// Unknown: no log was read, or it failed for no known reason.
    Unknown,
}

/// The state of a job according to `report` and the pipeline.
pub fn state(report: &Report, environment: &Environment) -> State {
    let is_read = report::has_log(report);
    let is_accepted = report.incidents.first().is_some_and(|root| root.ignored.is_some());
    if is_accepted && report.verdict != Kind::None {
        return State::Accepted;
    }
    match (report.verdict, &report.other_failure) {
        (Kind::None, None) if is_read && !environment.has_failed => State::Passed,
        (Kind::None, None) => State::Unknown,
        _ => State::Failed,
    }
}

/// The state of all jobs of the pipeline's logs together.
pub fn state_of_jobs(reports: &[Report], environment: &Environment) -> State {
    let states = || reports.iter().map(|report| state(report, environment));
    match (states().any(|state| state == State::Failed), states().all(|state| state == State::Passed)) {
        (true, _) => State::Failed,
        (false, true) => State::Passed,
        (false, false) => State::Unknown,
    }
}

/// Creates, updates or solves the one comment on the failed jobs among `reports`, which must be masked. Returns what
/// was done and the comment's URL.
pub fn comment(
    forge: &dyn Forge,
    reports: &[Report],
    language: Language,
    environment: &Environment,
) -> Result<(Posted, Option<String>), HttpError> {
    let marker = marker(environment.job.as_deref().unwrap_or("default"));
    let run = (environment.run.as_deref(), environment.commit.as_deref());
    match state_of_jobs(reports, environment) {
        State::Failed => {
            let failed = reports.iter().filter(|report| state(report, environment) == State::Failed);
            let failed: Vec<Report> = failed.cloned().collect();
            let page =
                format!("{}\n{}", report::markdown_of_jobs(&failed, language), report::run(run.0, run.1, language));
            say(forge, &marker, &page).map(|(posted, id)| (posted, forge.address(id)))
        }
        State::Passed => {
            let (text, summary) = report::solved(run.0, run.1, language);
            let solved = solve(forge, &marker, &text, summary)?;
            Ok(solved.map_or((Posted::Nothing, None), |id| (Posted::Solved, forge.address(id))))
        }
        State::Accepted | State::Unknown => Ok((Posted::Nothing, None)),
    }
}
