//! From a job to an answer. In: a job that ended; its log is fetched and analysed, and the incidents are kept. Out: the
//! text of a comment and the alerts for chats. Nothing is posted here.

use serde::{Deserialize, Serialize};

use super::config::BotConfig;
use super::error::StepError;
use super::host::{Ended, Host, JobFacts};
use super::messages::Alert;
use super::services::Services;
use super::texts::words;
use super::work::{JobTask, Project, Request, digest};
use crate::history::{Annotations, Likeness, Note, Record};
use crate::model::{Earlier, Kind, Report};
use crate::report;
use crate::source::Input;
use crate::triage::{self, Environment, HttpError};

/// GitHub allows 65,536 characters in a comment, and a record of the store a little less.
const LONGEST_COMMENT: usize = 40_000;
/// At most this many reports on one log are included in a comment.
const MOST_REPORTS: usize = 8;
/// At most this many earlier incidents are linked.
const EARLIER: usize = 3;
/// After this many attempts a missing log is not waited for any more.
const EARLY: u32 = 4;

/// What the bot has to say about a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The job's name.
    pub name: String,
    /// The commit that it ran on.
    pub commit: String,
    /// The job's page on the forge.
    pub page: Option<String>,
    /// The pull or merge requests to comment on.
    pub requests: Vec<Request>,
    /// Why the requests could not be determined, if so.
    #[serde(default)]
    pub untold: Option<String>,
    /// The verdict.
    pub says: JobVerdict,
}

/// What is said about a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JobVerdict {
    /// Nothing: it was skipped, or its failure is none that is reported.
    Nothing,
    /// The job succeeded: earlier comments on it are marked as solved.
    Passed,
    /// The job failed.
    Failed {
        /// The body of the comment.
        comment: String,
        /// One alert per failure, for chats.
        alerts: Vec<Alert>,
        /// The ids of the incidents that were kept.
        incidents: Vec<String>,
    },
}

/// Fetches and analyses the log of a job.
pub(super) struct JobReader<'r> {
    pub config: &'r BotConfig,
    pub services: &'r dyn Services,
    pub host: &'r dyn Host,
    pub project: &'r Project,
    /// How many attempts failed already.
    pub attempts: u32,
}

impl JobReader<'_> {
    /// Finds out what to say about `job`.
    pub fn read(&self, job: &JobTask) -> Result<Answer, StepError> {
        let facts = self.host.job(job)?;
        let says = match facts.ended {
            Ended::NotYet => return Err(StepError::temporary("the job is not over")),
            Ended::Otherwise => JobVerdict::Nothing,
            Ended::Passed => JobVerdict::Passed,
            Ended::Failed => self.failed(&facts)?,
        };
        let found = if says == JobVerdict::Nothing { Ok(Vec::new()) } else { self.host.requests(&facts) };
        let (requests, untold) = match found {
            Ok(requests) => (requests, None),
            // Chats can be told without knowing the requests.
            Err(StepError::Permanent(why)) => (Vec::new(), Some(why)),
            Err(trouble) => return Err(trouble),
        };
        let JobFacts { name, commit, page, .. } = facts;
        Ok(Answer { name, commit, page, requests, untold, says })
    }

    fn failed(&self, job: &JobFacts) -> Result<JobVerdict, StepError> {
        let most = self.config.longest_log.saturating_mul(1 << 20);
        let log = match self.host.log(job.number, most) {
            // A job that was cancelled before it began has no log.
            Err(HttpError::NotAllowed(404)) if job.is_cancelled => return Ok(JobVerdict::Nothing),
            Err(HttpError::NotAllowed(404)) if self.attempts < EARLY => {
                return Err(StepError::temporary("the log is not there yet"));
            }
            log => log?,
        };
        let broke = log.broke();
        let broken = |why: &str| StepError::temporary(format!("the log broke off: {why}"));
        let path = format!("{}/{}.log", job.name, job.number);
        let input = Input::new(&path, log).map_err(|error| broken(&error.to_string()))?;
        let reports = self.services.analyze(input).map_err(|error| StepError::Permanent(error.to_string()))?;
        if let Some(why) = broke.get() {
            return Err(broken(why));
        }
        self.say(job, reports)
    }

    /// Keeps the incidents of `reports` and renders the comment and the alerts.
    fn say(&self, job: &JobFacts, mut reports: Vec<Report>) -> Result<JobVerdict, StepError> {
        let (redactor, language) = (self.services.redactor(), self.services.language());
        let environment = Environment { has_failed: true, ..Environment::default() };
        let (mut sent, mut alerts, mut incidents) = (Vec::new(), Vec::new(), Vec::new());
        for report in &mut reports {
            let record = Record::of(report, redactor)?;
            if let (Some(record), Some(root)) = (&record, report.incidents.first_mut()) {
                root.seen.earlier = self.earlier(record);
            }
            if let Some(mut record) = record {
                let id = record.incident.id.clone();
                record.annotations = self.annotations(job);
                redactor.mask(&mut record.annotations);
                self.services.keep(record)?;
                incidents.push(id);
            }
            let is_told = triage::state(report, &environment) == triage::State::Failed
                && (report.verdict != Kind::None || self.config.other_failures);
            if !is_told || sent.len() == MOST_REPORTS {
                continue;
            }
            let outgoing = report::outgoing(report, redactor).0;
            let title = redactor.text(&format!("{}: {}", self.project.title, job.name)).into_owned();
            let group = self.group(&outgoing, job);
            alerts.push(Alert::new(&report::brief(&outgoing, language), title, job.page.clone(), group));
            sent.push(outgoing);
        }
        if sent.is_empty() {
            return Ok(JobVerdict::Nothing);
        }
        let pages = sent.iter().map(|report| report::markdown(report, language));
        let run = report::run(job.page.as_deref(), Some(&job.commit), language);
        let comment = format!("{}\n{run}", fitting(pages.collect(), words(language).cut));
        Ok(JobVerdict::Failed { comment, alerts, incidents })
    }

    /// The key by which a channel is told about a trouble only once. Failures without a telling fingerprint are grouped
    /// by job.
    fn group(&self, report: &Report, job: &JobFacts) -> String {
        let fingerprint = report.incidents.first().map(|root| &root.fingerprint);
        let other = report.other_failure.as_ref().map(|other| other.name.as_str());
        match fingerprint.filter(|fingerprint| fingerprint.is_telling()) {
            Some(fingerprint) => fingerprint.group(),
            None => digest(&[&self.project.name, &job.name, other.unwrap_or(report.verdict.as_str())]),
        }
    }

    /// The job's name, its project, and a link to its page.
    fn annotations(&self, job: &JobFacts) -> Annotations {
        let link = job.page.clone().zip(job.time.clone());
        let note = link.map(|(link, time)| Note { text: String::new(), link: Some(link), time });
        Annotations {
            job: Some(job.name.clone()),
            tags: vec![self.project.title.clone()],
            notes: note.into_iter().collect(),
            ..Annotations::default()
        }
    }

    /// Earlier incidents similar to `record`; none where the history cannot be searched.
    fn earlier(&self, record: &Record) -> Vec<Earlier> {
        let found = self.services.similar(record, EARLIER).unwrap_or_else(|error| {
            tracing::warn!(%error, "earlier incidents are left out");
            Vec::new()
        });
        let of = |Likeness { incident, score, .. }: Likeness| Earlier {
            likeness: (score * 100.0).clamp(0.0, 100.0) as u8,
            worked: incident.change.filter(|_| incident.worked == Some(true)).into_iter().collect(),
            id: incident.id,
            time: incident.time,
            title: incident.title,
        };
        found.into_iter().map(of).collect()
    }
}

/// Joins as many of `pages` as fit a comment. If the first alone is too long, its head is kept.
fn fitting(pages: Vec<String>, cut: &str) -> String {
    let mut text = String::new();
    for page in &pages {
        let joint = if text.is_empty() { "" } else { "\n---\n\n" };
        if text.len() + joint.len() + page.len() > LONGEST_COMMENT {
            if text.is_empty() {
                text = head(page);
            }
            return format!("{text}\n\n{cut}\n");
        }
        text.push_str(joint);
        text.push_str(page);
    }
    text
}

/// The lines of `page` before the first `<details`: cutting within would leave it unclosed.
fn head(page: &str) -> String {
    let mut text = String::new();
    for line in page.lines().take_while(|line| !line.starts_with("<details")) {
        if text.len() + line.len() + 1 > LONGEST_COMMENT || line.trim_start().starts_with("```") {
            break;
        }
        text.push_str(line);
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_is_never_too_long() {
        let short = "### A\n\nx\n".to_owned();
        assert_eq!(fitting(vec![short.clone(), short.clone()], "cut"), "### A\n\nx\n\n---\n\n### A\n\nx\n");
        let long = format!("### B\n\nwhy\n<details>\n{}</details>\n", "line\n".repeat(20_000));
        assert_eq!(fitting(vec![long.clone()], "cut"), "### B\n\nwhy\n\n\ncut\n");
        assert_eq!(fitting(vec![short, long], "cut"), "### A\n\nx\n\n\ncut\n");
    }
}
