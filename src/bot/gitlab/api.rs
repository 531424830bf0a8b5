use std::path::PathBuf;

use serde_json::Value;
use ureq::http::Method;

use super::super::config::GitLabConfig;
use super::super::error::StepError;
use super::super::host::{Check, Ended, Host, JobFacts, patience};
use super::super::work::{JobTask, Project, Request};
use crate::triage::{Client, Conversation, Download, Forge, GitLab, HttpError};

/// The access level of developers, the lowest that may push.
const DEVELOPER: u64 = 30;

/// A project, and a token for it.
pub struct GitLabHost {
    client: Client,
    api: String,
    token: String,
    project: String,
    authorities: Option<PathBuf>,
}

impl GitLabHost {
    /// Logs in to `project`.
    pub fn of(config: &GitLabConfig, project: &Project) -> Result<GitLabHost, StepError> {
        let token = config.token.read()?.expose().to_owned();
        let headers = vec![("private-token", token.clone())];
        Ok(GitLabHost {
            client: Client::new(headers, patience(), config.authorities.as_deref())?,
            api: config.api.trim_end_matches('/').to_owned(),
            token,
            project: project.name.clone(),
            authorities: config.authorities.clone(),
        })
    }

    fn project(&self) -> String {
        format!("{}/projects/{}", self.api, self.project)
    }
}

impl Host for GitLabHost {
    fn job(&self, job: &JobTask) -> Result<JobFacts, StepError> {
        let found = self.client.send(&Method::GET, &format!("{}/jobs/{}", self.project(), job.number), None)?;
        let said = |name: &str| found[name].as_str().map(str::to_owned);
        let ended = match found["status"].as_str() {
            Some("failed" | "canceled") => Ended::Failed,
            Some("success") => Ended::Passed,
            Some("skipped" | "manual") | None => Ended::Otherwise,
            Some(_) => Ended::NotYet,
        };
        let commit = found["commit"]["id"].as_str().or_else(|| found["pipeline"]["sha"].as_str());
        let commit = commit.filter(|sha| sha.bytes().all(|byte| byte.is_ascii_hexdigit())).map(str::to_owned);
        let mut requests = job.requests.clone();
        // A merge request pipeline has a ref `refs/merge-requests/N/…` and belongs to the target project.
        let named =
            said("ref").and_then(|name| name.strip_prefix("refs/merge-requests/")?.split('/').next()?.parse().ok());
        if let (true, Some(number)) = (requests.is_empty(), named) {
            requests.push(Request { project: self.project.clone(), number });
        }
        Ok(JobFacts {
            number: job.number,
            ended,
            is_cancelled: found["status"] == "canceled",
            name: said("name").unwrap_or_else(|| job.name.clone()),
            commit: commit.ok_or_else(|| StepError::temporary("a job without a commit"))?,
            page: said("web_url"),
            time: said("finished_at"),
            requests,
        })
    }

    fn log(&self, job: u64, most: u64) -> Result<Download, HttpError> {
        self.client.download(&format!("{}/jobs/{job}/trace", self.project()), most)
    }

    fn requests(&self, job: &JobFacts) -> Result<Vec<Request>, StepError> {
        if !job.requests.is_empty() {
            return Ok(job.requests.clone());
        }
        let url = format!("{}/repository/commits/{}/merge_requests?per_page=100", self.project(), job.commit);
        let found = self.client.send(&Method::GET, &url, None)?;
        let all = found.as_array().map(Vec::as_slice).unwrap_or_default();
        let read = |request: &Value| {
            let project = request["project_id"].as_u64()?.to_string();
            Some(Request { project, number: request["iid"].as_u64()? })
        };
        Ok(all.iter().filter(|request| request["state"] == "opened").filter_map(read).collect())
    }

    fn conversation(&self, request: &Request) -> Result<Box<dyn Forge>, StepError> {
        let there = Conversation {
            api: self.api.clone(),
            project: request.project.clone(),
            number: request.number,
            page: None,
            token: self.token.clone(),
            authorities: self.authorities.clone(),
        };
        Ok(Box::new(GitLab::new(there, patience())?))
    }

    fn check(&self, _: &Check<'_>) -> Result<(), StepError> {
        Ok(())
    }

    fn may_write(&self, author: &str) -> Result<bool, StepError> {
        let url = format!("{}/members/all/{author}", self.project());
        match self.client.send(&Method::GET, &url, None) {
            Ok(member) => Ok(member["access_level"].as_u64().is_some_and(|level| level >= DEVELOPER)),
            Err(HttpError::NotAllowed(404)) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
