//! The CI environment of a step: GitHub Actions, GitLab CI, or none.
//!
//! Variables: <https://docs.github.com/actions/reference/variables-reference>,
//! <https://docs.gitlab.com/ci/variables/predefined_variables/>.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::forge::Forge;
use super::github::GitHub;
use super::gitlab::GitLab;
use super::http::{HttpError, Patience};

/// What a step knows of its pipeline.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// The CI system.
    pub pipeline: Pipeline,
    /// The page of this run.
    pub run: Option<String>,
    /// The commit that is built.
    pub commit: Option<String>,
    /// The job's name, under which its comment is found again.
    pub job: Option<String>,
    /// Whether the job has failed already, as far as the environment tells.
    pub has_failed: bool,
    /// The repository's root.
    pub root: PathBuf,
}

/// The CI system that runs the step.
#[derive(Debug, Default, PartialEq, Eq)]
pub enum Pipeline {
    /// GitHub Actions.
    GitHub {
        /// The file whose Markdown is shown on the run's page.
        summary: Option<PathBuf>,
        /// The pull request to comment on, or what is missing for that.
        conversation: Result<Conversation, Missing>,
    },
    /// GitLab CI.
    GitLab {
        /// The merge request to comment on, or what is missing for that.
        conversation: Result<Conversation, Missing>,
    },
    /// None: a shell.
    #[default]
    Plain,
}

/// A pull or merge request, and how to access it.
#[derive(Clone, PartialEq, Eq)]
pub struct Conversation {
    /// The URL of the REST interface.
    pub api: String,
    /// `owner/name`, or GitLab's project number.
    pub project: String,
    /// The request's number.
    pub number: u64,
    /// The request's page, if it is known.
    pub page: Option<String>,
    /// The token for reading and writing comments.
    pub token: String,
    /// A file of additional certificate authorities for the server, if the pipeline names one.
    pub authorities: Option<PathBuf>,
}

impl std::fmt::Debug for Conversation {
    /// Without the token.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Conversation").field("project", &self.project).field("number", &self.number).finish()
    }
}

/// What is missing for a comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    /// The run does not belong to a request.
    Request,
    /// There is no token.
    Token,
    /// The certificate authorities cannot be read.
    Trust(HttpError),
}

impl Environment {
    /// Reads the environment through `variable`.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Environment {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        if set("GITHUB_ACTIONS").is_some() {
            github(set)
        } else if set("GITLAB_CI").is_some() {
            gitlab(set)
        } else {
            Environment { root: PathBuf::from("."), ..Environment::default() }
        }
    }

    /// The forge to comment on.
    pub fn forge(&self, patience: Patience) -> Result<Box<dyn Forge>, Missing> {
        match &self.pipeline {
            Pipeline::GitHub { conversation, .. } => {
                Ok(Box::new(GitHub::new(conversation.clone()?, patience).map_err(Missing::Trust)?))
            }
            Pipeline::GitLab { conversation } => {
                Ok(Box::new(GitLab::new(conversation.clone()?, patience).map_err(Missing::Trust)?))
            }
            Pipeline::Plain => Err(Missing::Request),
        }
    }
}

fn github(set: impl Fn(&str) -> Option<String>) -> Environment {
    let project = set("GITHUB_REPOSITORY").unwrap_or_default();
    let server = set("GITHUB_SERVER_URL").unwrap_or_else(|| "https://github.com".to_owned());
    let run = set("GITHUB_RUN_ID").map(|id| format!("{server}/{project}/actions/runs/{id}"));
    let number = set("GITHUB_REF")
        .and_then(|reference| reference.strip_prefix("refs/pull/")?.split('/').next()?.parse().ok())
        .or_else(|| pull_request(Path::new(&set("GITHUB_EVENT_PATH")?)));
    let conversation = number.ok_or(Missing::Request).and_then(|number| {
        let token = set("GITHUB_TOKEN").or_else(|| set("GH_TOKEN")).ok_or(Missing::Token)?;
        let api = set("GITHUB_API_URL").unwrap_or_else(|| "https://api.github.com".to_owned());
        let page = Some(format!("{server}/{project}/pull/{number}"));
        Ok(Conversation { api, project: project.clone(), number, page, token, authorities: None })
    });
    Environment {
        pipeline: Pipeline::GitHub { summary: set("GITHUB_STEP_SUMMARY").map(PathBuf::from), conversation },
        run,
        commit: set("GITHUB_SHA"),
        job: set("GITHUB_JOB"),
        has_failed: set("OOMDOC_JOB_STATUS").is_some_and(|status| status != "success"),
        root: set("GITHUB_WORKSPACE").map_or_else(|| PathBuf::from("."), PathBuf::from),
    }
}

/// The number of the pull request in the payload of an event.
fn pull_request(event: &Path) -> Option<u64> {
    let event: Value = serde_json::from_str(&fs::read_to_string(event).ok()?).ok()?;
    let of_issue = || event["issue"].get("pull_request").and(event["issue"]["number"].as_u64());
    let of_run = || event["workflow_run"]["pull_requests"][0]["number"].as_u64();
    event["pull_request"]["number"].as_u64().or_else(of_issue).or_else(of_run)
}

fn gitlab(set: impl Fn(&str) -> Option<String>) -> Environment {
    let number = set("CI_MERGE_REQUEST_IID").and_then(|number| number.parse().ok());
    let conversation = number.ok_or(Missing::Request).and_then(|number| {
        // GitLab's job token may not write notes.
        let token = set("OOMDOC_GITLAB_TOKEN").or_else(|| set("GITLAB_TOKEN")).ok_or(Missing::Token)?;
        let api = set("CI_API_V4_URL").unwrap_or_else(|| "https://gitlab.com/api/v4".to_owned());
        let project = set("CI_MERGE_REQUEST_PROJECT_ID").or_else(|| set("CI_PROJECT_ID")).unwrap_or_default();
        // The authorities that the runner itself trusts.
        let authorities = set("CI_SERVER_TLS_CA_FILE").map(PathBuf::from);
        let page = set("CI_MERGE_REQUEST_PROJECT_URL").or_else(|| set("CI_PROJECT_URL"));
        let page = page.map(|page| format!("{page}/-/merge_requests/{number}"));
        Ok(Conversation { api, project, number, page, token, authorities })
    });
    Environment {
        pipeline: Pipeline::GitLab { conversation },
        run: set("CI_JOB_URL"),
        commit: set("CI_COMMIT_SHA"),
        job: set("CI_JOB_NAME"),
        has_failed: set("CI_JOB_STATUS").is_some_and(|status| status != "success"),
        root: set("CI_PROJECT_DIR").map_or_else(|| PathBuf::from("."), PathBuf::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Environment {
        Environment::read(|name| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn a_pull_request_is_known_by_its_ref() {
        let found = read(&[
            ("GITHUB_ACTIONS", "true"),
            ("GITHUB_REPOSITORY", "me/it"),
            ("GITHUB_REF", "refs/pull/7/merge"),
            ("GITHUB_TOKEN", "secret"),
        ]);
        let Pipeline::GitHub { conversation: Ok(there), .. } = &found.pipeline else {
            unreachable!("{found:?}");
        };
        assert_eq!((there.number, there.project.as_str(), there.api.as_str()), (7, "me/it", "https://api.github.com"));
        assert!(!format!("{found:?}").contains("secret"));
    }

    #[test]
    fn what_is_missing_is_said() {
        let missing = |pairs: &[(&str, &str)]| read(pairs).forge(Patience::default()).err();
        assert_eq!(missing(&[]), Some(Missing::Request));
        assert_eq!(missing(&[("GITHUB_ACTIONS", "true"), ("GITHUB_REF", "refs/heads/main")]), Some(Missing::Request));
        let request = [("GITLAB_CI", "true"), ("CI_MERGE_REQUEST_IID", "3"), ("CI_JOB_TOKEN", "x")];
        assert_eq!(missing(&request), Some(Missing::Token));
    }
}
