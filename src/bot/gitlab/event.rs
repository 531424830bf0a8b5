use serde_json::Value;

use super::super::command;
use super::super::error::Refusal;
use super::super::event::{is_recent, text};
use super::super::queue::NewWork;
use super::super::work::{CommentTask, ForgeName, JobTask, Moment, Project, Request, Task, Work};

/// The work that an event causes; none for most. `name` is the bot's name.
pub fn read(body: &Value, name: &str, now: Moment) -> Result<Vec<NewWork>, Refusal> {
    match body["object_kind"].as_str().ok_or(Refusal::Lacks("object_kind"))? {
        "build" => job(body, now),
        "pipeline" => pipeline(body, now),
        "note" => note(body, name, now),
        _ => Ok(Vec::new()),
    }
}

fn project(body: &Value, number: &Value) -> Result<Project, Refusal> {
    let name = number.as_u64().ok_or(Refusal::Lacks("project id"))?.to_string();
    let title = text(&body["project"]["path_with_namespace"]).or_else(|| text(&body["project_name"]));
    let title = title.unwrap_or(&name).to_owned();
    Ok(Project { forge: ForgeName::GitLab, name, title, installation: None })
}

/// Whether a job failed or succeeded; `None` for any other status.
fn has_failed(status: &Value) -> Option<bool> {
    match status.as_str()? {
        "failed" | "canceled" => Some(true),
        "success" => Some(false),
        _ => None,
    }
}

fn news(project: Project, job: JobTask, has_failed: bool, now: Moment) -> NewWork {
    NewWork { work: Work::new(project, Task::Job(job), now), has_failed }
}

fn job(body: &Value, now: Moment) -> Result<Vec<NewWork>, Refusal> {
    let Some(has_failed) = has_failed(&body["build_status"]) else { return Ok(Vec::new()) };
    if !is_recent(&body["build_finished_at"], now) {
        return Ok(Vec::new());
    }
    let number = body["build_id"].as_u64().ok_or(Refusal::Lacks("build_id"))?;
    let name = text(&body["build_name"]).ok_or(Refusal::Lacks("build_name"))?.to_owned();
    let branch = text(&body["ref"]).unwrap_or_default().to_owned();
    let task = JobTask { number, name, workflow: None, branch, requests: Vec::new() };
    Ok(vec![news(project(body, &body["project_id"])?, task, has_failed, now)])
}

fn pipeline(body: &Value, now: Moment) -> Result<Vec<NewWork>, Refusal> {
    let project = project(body, &body["project"]["id"])?;
    let branch = text(&body["object_attributes"]["ref"]).unwrap_or_default();
    let of = &body["merge_request"];
    let request = || {
        let target = of["target_project_id"].as_u64()?.to_string();
        Some(Request { project: target, number: of["iid"].as_u64()? })
    };
    let requests: Vec<Request> = request().into_iter().collect();
    let builds = body["builds"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut all = Vec::new();
    for build in builds {
        let Some(has_failed) = has_failed(&build["status"]).filter(|_| is_recent(&build["finished_at"], now)) else {
            continue;
        };
        let number = build["id"].as_u64().ok_or(Refusal::Lacks("builds.id"))?;
        let name = text(&build["name"]).ok_or(Refusal::Lacks("builds.name"))?.to_owned();
        let task = JobTask { number, name, workflow: None, branch: branch.to_owned(), requests: requests.clone() };
        all.push(news(project.clone(), task, has_failed, now));
    }
    // Earlier attempts of a job have lower numbers and come first.
    all.sort_by_key(|news| match &news.work.task {
        Task::Job(job) => job.number,
        Task::Comment(comment) => comment.number,
    });
    Ok(all)
}

fn note(body: &Value, name: &str, now: Moment) -> Result<Vec<NewWork>, Refusal> {
    let note = &body["object_attributes"];
    let lines = command::lines(note["note"].as_str().unwrap_or_default(), name);
    let is_new = matches!(note["action"].as_str(), None | Some("create")) && is_recent(&note["created_at"], now);
    if lines.is_empty() || note["noteable_type"] != "MergeRequest" || note["system"] == true || !is_new {
        return Ok(Vec::new());
    }
    let project = project(body, &body["project_id"])?;
    let request = body["merge_request"]["iid"].as_u64().ok_or(Refusal::Lacks("merge_request.iid"))?;
    let author = note["author_id"].as_u64().or_else(|| body["user"]["id"].as_u64());
    let task = Task::Comment(CommentTask {
        sort: "note".to_owned(),
        number: note["id"].as_u64().ok_or(Refusal::Lacks("object_attributes.id"))?,
        request: Request { project: project.name.clone(), number: request },
        author: author.ok_or(Refusal::Lacks("author_id"))?.to_string(),
        lines,
    });
    Ok(vec![NewWork { work: Work::new(project, task, now), has_failed: false }])
}
