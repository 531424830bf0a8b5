use serde_json::Value;

use super::super::command;
use super::super::error::Refusal;
use super::super::event::{is_recent, text};
use super::super::queue::NewWork;
use super::super::work::{CommentTask, ForgeName, JobTask, Moment, Project, Request, Task, Work};

/// The work that `event` causes; none for most. `name` is the bot's name.
pub fn read(event: &str, body: &Value, name: &str, now: Moment) -> Result<Vec<NewWork>, Refusal> {
    let action = body["action"].as_str().unwrap_or_default();
    match (event, action) {
        ("workflow_job", "completed") => job(body, &body["workflow_job"], &body["workflow_job"]["head_branch"], now),
        // Logs of other apps' checks are not on GitHub. A check of GitHub Actions has its job's number.
        ("check_run", "completed") if body["check_run"]["app"]["slug"] == "github-actions" => {
            job(body, &body["check_run"], &body["check_run"]["check_suite"]["head_branch"], now)
        }
        ("issue_comment", "created") => comment(body, event, &body["issue"]["number"], name, now),
        ("pull_request_review_comment", "created") => comment(body, event, &body["pull_request"]["number"], name, now),
        _ => Ok(Vec::new()),
    }
}

fn project(body: &Value) -> Result<Project, Refusal> {
    let name = text(&body["repository"]["full_name"]).filter(|name| is_repository(name));
    let name = name.ok_or(Refusal::Lacks("repository.full_name"))?.to_owned();
    let installation = body["installation"]["id"].as_u64();
    Ok(Project { forge: ForgeName::GitHub, title: name.clone(), name, installation })
}

/// Whether `name` is `owner/name`: it becomes part of URLs.
fn is_repository(name: &str) -> bool {
    let is_name = |part: &str| {
        let is_inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        !part.is_empty() && part != "." && part != ".." && part.chars().all(is_inner)
    };
    name.split_once('/').is_some_and(|(owner, name)| is_name(owner) && is_name(name))
}

fn job(body: &Value, job: &Value, branch: &Value, now: Moment) -> Result<Vec<NewWork>, Refusal> {
    let project = project(body)?;
    let number = job["id"].as_u64().ok_or(Refusal::Lacks("id"))?;
    let name = text(&job["name"]).ok_or(Refusal::Lacks("name"))?.to_owned();
    let has_failed = match job["conclusion"].as_str().ok_or(Refusal::Lacks("conclusion"))? {
        "failure" | "timed_out" | "cancelled" => true,
        "success" => false,
        _ => return Ok(Vec::new()),
    };
    if !is_recent(&job["completed_at"], now) {
        return Ok(Vec::new());
    }
    let named = job["pull_requests"].as_array().map(Vec::as_slice).unwrap_or_default();
    let of_here = |request: &&Value| {
        let base = request["base"]["repo"]["url"].as_str().unwrap_or_default();
        base.ends_with(&format!("/repos/{}", project.name))
    };
    let numbers = named.iter().filter(of_here).filter_map(|request| request["number"].as_u64());
    let requests = numbers.map(|number| Request { project: project.name.clone(), number }).collect();
    let branch = text(branch).unwrap_or_default().to_owned();
    let workflow = text(&job["workflow_name"]).map(str::to_owned);
    let task = Task::Job(JobTask { number, name, workflow, branch, requests });
    Ok(vec![NewWork { work: Work::new(project, task, now), has_failed }])
}

fn comment(body: &Value, sort: &str, number: &Value, name: &str, now: Moment) -> Result<Vec<NewWork>, Refusal> {
    let comment = &body["comment"];
    let written = comment["body"].as_str().unwrap_or_default();
    let (author, association) = (&comment["user"], comment["author_association"].as_str().unwrap_or_default());
    // Programs are not answered: two bots would never stop.
    let is_program = author["type"] == "Bot" || comment["performed_via_github_app"].is_object();
    let is_member = matches!(association, "OWNER" | "MEMBER" | "COLLABORATOR");
    let lines = command::lines(written, name);
    if lines.is_empty() || is_program || !is_member || !is_recent(&comment["created_at"], now) {
        return Ok(Vec::new());
    }
    let project = project(body)?;
    let number = number.as_u64().ok_or(Refusal::Lacks("number"))?;
    let task = Task::Comment(CommentTask {
        sort: sort.to_owned(),
        number: comment["id"].as_u64().ok_or(Refusal::Lacks("comment.id"))?,
        request: Request { project: project.name.clone(), number },
        author: text(&author["login"]).ok_or(Refusal::Lacks("comment.user.login"))?.to_owned(),
        lines,
    });
    Ok(vec![NewWork { work: Work::new(project, task, now), has_failed: false }])
}
