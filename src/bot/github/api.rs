use serde_json::{Value, json};
use ureq::http::Method;

use super::super::config::{GitHubConfig, GitHubLogin};
use super::super::error::StepError;
use super::super::host::{Check, Ended, Host, JobFacts, patience};
use super::super::work::{JobTask, Moment, Project, Request};
use super::app::{Installations, jwt};
use crate::triage::{Client, Conversation, Download, Forge, GitHub, HttpError};

/// Installation tokens, which are kept between pieces of work.
#[derive(Debug, Default)]
pub struct Logins(Installations);

impl Logins {
    /// Forgets all tokens after one was refused.
    pub fn forget(&self) {
        self.0.forget();
    }
}

/// Check runs per page of a list.
const CHECKS: usize = 100;

/// A repository, and a token for it.
pub struct GitHubHost {
    client: Client,
    api: String,
    token: String,
    project: String,
    is_app: bool,
}

/// An HTTP client that sends `token`.
pub(super) fn client(token: &str) -> Result<Client, HttpError> {
    let headers = vec![
        ("authorization", format!("Bearer {token}")),
        ("accept", "application/vnd.github+json".to_owned()),
        ("x-github-api-version", "2022-11-28".to_owned()),
    ];
    Client::new(headers, patience(), None)
}

impl GitHubHost {
    /// Logs in to `project`.
    pub fn of(config: &GitHubConfig, logins: &Logins, project: &Project, now: Moment) -> Result<GitHubHost, StepError> {
        let api = config.api.trim_end_matches('/').to_owned();
        let (token, is_app) = match &config.login {
            GitHubLogin::Token(token) => (token.read()?, false),
            GitHubLogin::App { id, key } => {
                let jwt = jwt(id, &key.read()?, now)?;
                let installation = match project.installation {
                    Some(installation) => installation,
                    None => {
                        let url = format!("{api}/repos/{}/installation", project.name);
                        let there = client(&jwt)?.send(&Method::GET, &url, None)?;
                        there["id"].as_u64().ok_or_else(|| StepError::temporary("an installation without an id"))?
                    }
                };
                (logins.0.token(&api, &jwt, installation, now)?, true)
            }
        };
        let token = token.expose().to_owned();
        Ok(GitHubHost { client: client(&token)?, api, token, project: project.name.clone(), is_app })
    }

    fn repository(&self) -> String {
        format!("{}/repos/{}", self.api, self.project)
    }

    /// The number of the check run with our external id.
    fn known_check(&self, check: &Check<'_>) -> Result<Option<u64>, StepError> {
        for page in 1.. {
            let url = format!(
                "{}/commits/{}/check-runs?filter=all&per_page={CHECKS}&page={page}",
                self.repository(),
                check.commit
            );
            let answer = self.client.send(&Method::GET, &url, None)?;
            let runs = answer["check_runs"].as_array().map(Vec::as_slice).unwrap_or_default();
            let own = runs.iter().find(|run| run["external_id"] == check.id && run["name"] == check.name);
            if own.is_some() || runs.len() < CHECKS {
                return Ok(own.and_then(|run| run["id"].as_u64()));
            }
        }
        Ok(None)
    }
}

impl Host for GitHubHost {
    fn job(&self, job: &JobTask) -> Result<JobFacts, StepError> {
        let url = format!("{}/actions/jobs/{}", self.repository(), job.number);
        let found = self.client.send(&Method::GET, &url, None)?;
        let said = |name: &str| found[name].as_str().map(str::to_owned);
        let ended = match (found["status"].as_str(), found["conclusion"].as_str()) {
            (Some("completed"), Some("success")) => Ended::Passed,
            (Some("completed"), Some("failure" | "timed_out" | "cancelled")) => Ended::Failed,
            (Some("completed"), _) => Ended::Otherwise,
            _ => Ended::NotYet,
        };
        let commit = said("head_sha").filter(|sha| sha.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let name = said("name").unwrap_or_else(|| job.name.clone());
        Ok(JobFacts {
            number: job.number,
            ended,
            is_cancelled: found["conclusion"] == "cancelled",
            // Two workflows may have jobs of the same name.
            name: said("workflow_name").map_or(name.clone(), |workflow| format!("{workflow} / {name}")),
            commit: commit.ok_or_else(|| StepError::temporary("a job without a commit"))?,
            page: said("html_url"),
            time: said("completed_at"),
            requests: job.requests.clone(),
        })
    }

    fn log(&self, job: u64, most: u64) -> Result<Download, HttpError> {
        self.client.download(&format!("{}/actions/jobs/{job}/logs", self.repository()), most)
    }

    fn requests(&self, job: &JobFacts) -> Result<Vec<Request>, StepError> {
        if !job.requests.is_empty() {
            return Ok(job.requests.clone());
        }
        let url = format!("{}/commits/{}/pulls?per_page=100", self.repository(), job.commit);
        let found = self.client.send(&Method::GET, &url, None)?;
        let is_open = |request: &&Value| {
            request["state"] == "open" && request["base"]["repo"]["full_name"].as_str() == Some(&self.project)
        };
        let all = found.as_array().map(Vec::as_slice).unwrap_or_default();
        let numbers = all.iter().filter(is_open).filter_map(|request| request["number"].as_u64());
        Ok(numbers.map(|number| Request { project: self.project.clone(), number }).collect())
    }

    fn conversation(&self, request: &Request) -> Result<Box<dyn Forge>, StepError> {
        let there = Conversation {
            api: self.api.clone(),
            project: request.project.clone(),
            number: request.number,
            page: None,
            token: self.token.clone(),
            authorities: None,
        };
        Ok(Box::new(GitHub::new(there, patience())?))
    }

    fn check(&self, check: &Check<'_>) -> Result<(), StepError> {
        // Only apps may write checks.
        if !self.is_app {
            return Ok(());
        }
        let mut body = json!({
            "name": check.name,
            "head_sha": check.commit,
            "external_id": check.id,
            "status": "completed",
            // The job's own check reports the failure.
            "conclusion": "neutral",
            "output": { "title": check.title, "summary": check.summary },
        });
        if let Some(page) = check.page {
            body["details_url"] = page.into();
        }
        let runs = format!("{}/check-runs", self.repository());
        match self.known_check(check)? {
            Some(id) => self.client.send(&Method::PATCH, &format!("{runs}/{id}"), Some(&body))?,
            None => self.client.send_once(&Method::POST, &runs, Some(&body))?,
        };
        Ok(())
    }

    fn may_write(&self, author: &str) -> Result<bool, StepError> {
        // The login becomes part of a URL.
        if !author.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')) {
            return Ok(false);
        }
        let url = format!("{}/collaborators/{author}/permission", self.repository());
        match self.client.send(&Method::GET, &url, None) {
            Ok(found) => Ok(matches!(found["permission"].as_str(), Some("admin" | "write"))),
            Err(HttpError::NotAllowed(404)) => Ok(false),
            // The token may not ask for permissions. The event's `author_association` was checked already.
            Err(HttpError::NotAllowed(403)) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }
}
