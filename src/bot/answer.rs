//! What is said of a job: its log is fetched, analysed and kept as an incident, and becomes a comment and messages.

use serde::{Deserialize, Serialize};

use super::config::BotConfig;
use super::error::Trouble;
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

/// GitHub's comments have 65,536 characters, and a record of the store a little less.
const LONGEST_COMMENT: usize = 40_000;
/// Reports on one log that are told.
const MOST_REPORTS: usize = 8;
/// Earlier incidents that are linked.
const EARLIER: usize = 3;
/// A log that is not there after so many attempts does not come.
const EARLY: u32 = 4;

/// What there is to say of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// What people call the job.
    pub name: String,
    /// The commit that it ran on.
    pub commit: String,
    /// The page that shows it.
    pub page: Option<String>,
    /// The requests that are told.
    pub requests: Vec<Request>,
    /// Why it is not known which those are.
    #[serde(default)]
    pub untold: Option<String>,
    /// What.
    pub says: Says,
}

/// What is said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Says {
    /// Nothing.
    Nothing,
    /// It went through.
    Passed,
    /// It failed, and this is why.
    Failed {
        /// As a comment.
        comment: String,
        /// As messages, one for each failure.
        alerts: Vec<Alert>,
        /// What was kept.
        incidents: Vec<String>,
    },
}

/// Who finds out what to say.
pub(super) struct Reader<'r> {
    pub config: &'r BotConfig,
    pub services: &'r dyn Services,
    pub host: &'r dyn Host,
    pub project: &'r Project,
    /// How often it was tried.
    pub attempts: u32,
}

impl Reader<'_> {
    /// What there is to say of `job`.
    pub fn read(&self, job: &JobTask) -> Result<Answer, Trouble> {
        let facts = self.host.job(job)?;
        let says = match facts.ended {
            Ended::NotYet => return Err(Trouble::passing("the job is not over")),
            Ended::Otherwise => Says::Nothing,
            Ended::Passed => Says::Passed,
            Ended::Failed => self.failed(&facts)?,
        };
        let found = if says == Says::Nothing { Ok(Vec::new()) } else { self.host.requests(&facts) };
        let (requests, untold) = match found {
            Ok(requests) => (requests, None),
            // Others can be told all the same.
            Err(Trouble::Lasting(why)) => (Vec::new(), Some(why)),
            Err(trouble) => return Err(trouble),
        };
        let JobFacts { name, commit, page, .. } = facts;
        Ok(Answer { name, commit, page, requests, untold, says })
    }

    fn failed(&self, job: &JobFacts) -> Result<Says, Trouble> {
        let most = self.config.longest_log.saturating_mul(1 << 20);
        let log = match self.host.log(job.number, most) {
            // Nobody wrote one.
            Err(HttpError::NotAllowed(404)) if job.is_cancelled => return Ok(Says::Nothing),
            Err(HttpError::NotAllowed(404)) if self.attempts < EARLY => {
                return Err(Trouble::passing("the log is not there yet"));
            }
            log => log?,
        };
        let broke = log.broke();
        let broken = |why: &str| Trouble::passing(format!("the log broke off: {why}"));
        let path = format!("{}/{}.log", job.name, job.number);
        let input = Input::new(&path, log).map_err(|error| broken(&error.to_string()))?;
        let reports = self.services.analyze(input).map_err(|error| Trouble::Lasting(error.to_string()))?;
        if let Some(why) = broke.get() {
            return Err(broken(why));
        }
        self.say(job, reports)
    }

    /// Keeps what `reports` tell of, and says it.
    fn say(&self, job: &JobFacts, mut reports: Vec<Report>) -> Result<Says, Trouble> {
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
            return Ok(Says::Nothing);
        }
        let pages = sent.iter().map(|report| report::markdown(report, language));
        let run = report::run(job.page.as_deref(), Some(&job.commit), language);
        let comment = format!("{}\n{run}", fitting(pages.collect(), words(language).cut));
        Ok(Says::Failed { comment, alerts, incidents })
    }

    /// What a channel is told once. Failures that nothing else tells apart are those of one job.
    fn group(&self, report: &Report, job: &JobFacts) -> String {
        let fingerprint = report.incidents.first().map(|root| &root.fingerprint);
        let other = report.other_failure.as_ref().map(|other| other.name.as_str());
        match fingerprint.filter(|fingerprint| fingerprint.is_telling()) {
            Some(fingerprint) => fingerprint.group(),
            None => digest(&[&self.project.name, &job.name, other.unwrap_or(report.verdict.as_str())]),
        }
    }

    /// What people call the job, and where it is shown.
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

    /// Earlier incidents like `record`; without them where they cannot be had.
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

/// As many of `pages` as fit a comment, the first one cut where it alone does not.
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

/// The first lines of `page`, before what is folded away: half of that would stay open for ever.
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
