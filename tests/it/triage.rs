//! Comments written to a local server that imitates GitHub and GitLab.

use std::collections::VecDeque;
use std::error::Error;
use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use oomdoc::Language;
use oomdoc::Options;
use oomdoc::internal::source::Input;
use oomdoc::internal::triage::{self, Environment, HttpError, Patience, Posted};
use oomdoc::model::Report;
use serde_json::{Value, json};

use crate::support::requests::{self, Request};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// The state of the server.
#[derive(Debug, Default)]
struct State {
    comments: Vec<(u64, String, String)>,
    /// Statuses (and headers) returned for the next writes, which are then not performed.
    troubles: VecDeque<(u16, &'static str)>,
    /// Performs the next write, but closes the connection before answering.
    breaks_off: bool,
    /// Method and path of each request.
    requests: Vec<(String, String)>,
    messages: Vec<Value>,
}

struct Server {
    address: String,
    state: Arc<Mutex<State>>,
}

const ME: &str = "github-actions[bot]";

impl Server {
    fn start() -> Outcome<Server> {
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        let host = requests::listen(move |stream| serve(stream, &shared))?;
        Ok(Server { address: format!("http://{host}"), state })
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }

    fn bodies(&self) -> Vec<String> {
        self.with(|state| state.comments.iter().map(|(_, _, body)| body.clone()).collect())
    }

    fn github(&self, run: &str) -> Environment {
        let address = self.address.clone();
        let run = run.to_owned();
        Environment::read(move |name| {
            let value = match name {
                "GITHUB_ACTIONS" => "true",
                "GITHUB_REPOSITORY" => "me/it",
                "GITHUB_REF" => "refs/pull/7/merge",
                "GITHUB_TOKEN" => "token-of-the-job",
                "GITHUB_JOB" => "train",
                "GITHUB_API_URL" => &address,
                "GITHUB_RUN_ID" => &run,
                _ => return None,
            };
            Some(value.to_owned())
        })
    }

    fn gitlab(&self) -> Environment {
        let address = self.address.clone();
        Environment::read(move |name| {
            let value = match name {
                "GITLAB_CI" => "true",
                "CI_API_V4_URL" => &address,
                "CI_PROJECT_ID" => "12",
                "CI_MERGE_REQUEST_IID" => "7",
                "GITLAB_TOKEN" => "token-of-the-job",
                "CI_JOB_NAME" => "train",
                _ => return None,
            };
            Some(value.to_owned())
        })
    }
}

fn serve(mut stream: TcpStream, shared: &Mutex<State>) -> Outcome {
    let mut reader = BufReader::new(stream.try_clone()?);
    while let Some(request) = Request::read(&mut reader)? {
        let is_allowed = request.credentials().ends_with("token-of-the-job");
        let body = serde_json::from_slice(&request.body).unwrap_or(Value::Null);
        let Request { method, path: target, .. } = request;
        let mut state = shared.lock().map_err(|_| "poisoned")?;
        state.requests.push((method.clone(), target.clone()));
        let is_question = method == "GET" || target == "/graphql";
        let trouble = if is_question { None } else { state.troubles.pop_front() };
        let (status, headers, answer) = match trouble {
            Some((status, headers)) => (status, headers, json!({ "message": "no" })),
            None => {
                let (status, answer) = answer(&mut state, &method, &target, &body, is_allowed);
                (status, "", answer)
            }
        };
        let is_write = method == "POST" && target.ends_with("s");
        if is_write && std::mem::take(&mut state.breaks_off) {
            return Ok(());
        }
        drop(state);
        let answer = if answer.is_null() { String::new() } else { answer.to_string() };
        requests::begin(&mut stream, status, headers, answer.as_bytes())?;
        stream.write_all(answer.as_bytes())?;
    }
    Ok(())
}

/// Performs a request to the forge and returns the answer.
fn answer(state: &mut State, method: &str, target: &str, body: &Value, is_allowed: bool) -> (u16, Value) {
    let path = target.split('?').next().unwrap_or_default();
    if path == "/hook" {
        state.messages.push(body.clone());
        return (200, json!("ok"));
    }
    if !is_allowed {
        return (401, json!({ "message": "Bad credentials" }));
    }
    let is_github = path.starts_with("/repos/");
    let show = |(id, author, body): &(u64, String, String)| match is_github {
        true => json!({ "id": id, "user": { "login": author }, "body": body }),
        false => json!({ "id": id, "author": { "id": if author == ME { 1 } else { 2 } }, "body": body }),
    };
    let text = body["body"].as_str().unwrap_or_default().to_owned();
    let id: u64 = path.rsplit('/').next().and_then(|id| id.parse().ok()).unwrap_or_default();
    let known = state.comments.iter().position(|(known, ..)| *known == id);
    match (method, path) {
        // GitLab names the user of a token; GitHub does not for a workflow's token.
        ("GET", "/user") if state.requests.iter().any(|(_, path)| path.starts_with("/projects")) => {
            (200, json!({ "id": 1 }))
        }
        ("GET", "/user") => (403, json!({ "message": "Resource not accessible by integration" })),
        ("POST", "/graphql") => (200, json!({ "data": { "viewer": { "login": ME } } })),
        ("GET", "/repos/me/it/issues/7/comments" | "/projects/12/merge_requests/7/notes") => {
            let page: usize = target.rsplit("&page=").next().and_then(|page| page.parse().ok()).unwrap_or(1);
            (200, state.comments.iter().skip((page - 1) * 100).take(100).map(show).collect())
        }
        ("POST", "/repos/me/it/issues/7/comments" | "/projects/12/merge_requests/7/notes") => {
            let id = 1 + state.comments.iter().map(|(id, ..)| *id).max().unwrap_or(1000);
            state.comments.push((id, ME.to_owned(), text));
            (201, json!({ "id": id }))
        }
        ("PATCH" | "PUT", _) => match known {
            Some(place) => {
                state.comments[place].2 = text;
                (200, json!({ "id": id }))
            }
            None => (404, json!({ "message": "Not Found" })),
        },
        ("DELETE", _) => match known {
            Some(place) => {
                state.comments.remove(place);
                (204, Value::Null)
            }
            None => (404, json!({ "message": "Not Found" })),
        },
        _ => (404, json!({ "message": "Not Found" })),
    }
}

const OOM: &str = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.00 GiB is free.\n";

fn report(log: &'static str) -> Outcome<Report> {
    let input = Input::new("job.log", log.as_bytes())?;
    Ok(oomdoc::internal::analyze_inputs(vec![input], Vec::new(), &Options::default())?)
}

const HASTE: Patience = Patience {
    attempts: 4,
    first_wait: Duration::from_millis(1),
    longest_wait: Duration::from_millis(20),
    in_all: Duration::from_secs(60),
};

fn comment(environment: &Environment, log: &'static str) -> Outcome<Result<Posted, HttpError>> {
    let forge = environment.forge(HASTE).map_err(|missing| format!("{missing:?}"))?;
    Ok(triage::comment(&*forge, &[report(log)?], Language::En, environment).map(|(posted, _)| posted))
}

#[test]
fn one_comment_is_written_renewed_and_solved() -> Outcome {
    let server = Server::start()?;
    assert_eq!(comment(&server.github("1"), "step 1 loss 0.5\n")??, Posted::Nothing);
    assert_eq!(comment(&server.github("1"), OOM)??, Posted::Created);
    assert_eq!(comment(&server.github("2"), OOM)??, Posted::Updated);
    let bodies = server.bodies();
    assert_eq!(bodies.len(), 1, "{bodies:?}");
    assert!(bodies[0].starts_with("<!-- oomdoc job=train -->\n### GPU out of memory"), "{}", bodies[0]);
    assert!(bodies[0].contains("/me/it/actions/runs/2)"), "{}", bodies[0]);
    assert_eq!(comment(&server.github("3"), "step 1 loss 0.5\n")??, Posted::Solved);
    assert_eq!(comment(&server.github("4"), "step 1 loss 0.5\n")??, Posted::Nothing);
    let bodies = server.bodies();
    assert_eq!(bodies.len(), 1);
    assert!(bodies[0].contains("### Solved") && bodies[0].contains("/runs/3)") && bodies[0].contains("2.00 GiB"));
    assert_eq!(comment(&server.github("5"), OOM)??, Posted::Updated);
    assert!(!server.bodies()[0].contains("Solved"));
    Ok(())
}

#[test]
fn a_log_without_a_line_solves_nothing() -> Outcome {
    let server = Server::start()?;
    comment(&server.github("1"), OOM)??;
    assert_eq!(comment(&server.github("2"), "")??, Posted::Nothing);
    let failed = Environment { has_failed: true, ..server.github("3") };
    assert_eq!(comment(&failed, "step 1 loss 0.5\n")??, Posted::Nothing);
    assert!(!server.bodies()[0].contains("Solved"));
    Ok(())
}

#[test]
fn notes_on_gitlab_too() -> Outcome {
    let server = Server::start()?;
    // Makes the server answer as GitLab.
    server.with(|state| state.requests.push(("GET".to_owned(), "/projects".to_owned())));
    assert_eq!(comment(&server.gitlab(), OOM)??, Posted::Created);
    assert_eq!(comment(&server.gitlab(), OOM)??, Posted::Updated);
    assert_eq!(comment(&server.gitlab(), "step 1 loss 0.5\n")??, Posted::Solved);
    assert_eq!(server.bodies().len(), 1);
    Ok(())
}

#[test]
fn a_comment_of_somebody_else_is_left_alone() -> Outcome {
    let server = Server::start()?;
    let theirs = "<!-- oomdoc job=train -->\nquoted".to_owned();
    server.with(|state| state.comments.push((5, "somebody".to_owned(), theirs.clone())));
    let quoting = "Look: <!-- oomdoc job=train -->".to_owned();
    server.with(|state| state.comments.push((6, ME.to_owned(), quoting.clone())));
    assert_eq!(comment(&server.github("1"), OOM)??, Posted::Created);
    assert_eq!(comment(&server.github("2"), OOM)??, Posted::Updated);
    let bodies = server.bodies();
    assert_eq!((&bodies[0], &bodies[1], bodies.len()), (&theirs, &quoting, 3));
    Ok(())
}

#[test]
fn a_comment_is_found_on_a_later_page() -> Outcome {
    let server = Server::start()?;
    server.with(|state| state.comments.extend((0..150).map(|id| (id, "somebody".to_owned(), "hello".to_owned()))));
    assert_eq!(comment(&server.github("1"), OOM)??, Posted::Created);
    assert_eq!(comment(&server.github("2"), OOM)??, Posted::Updated);
    assert_eq!(server.bodies().len(), 151);
    Ok(())
}

#[test]
fn a_token_that_may_only_read_is_told_from_trouble() -> Outcome {
    let server = Server::start()?;
    server.with(|state| state.troubles.push_back((403, "")));
    let refused = comment(&server.github("1"), OOM)?;
    assert!(matches!(refused, Err(HttpError::NotAllowed(403))), "{refused:?}");
    let stranger = Environment::read(|name| match name {
        "GITHUB_TOKEN" => Some("another".to_owned()),
        "GITHUB_API_URL" => Some(server.address.clone()),
        "GITHUB_ACTIONS" => Some("true".to_owned()),
        "GITHUB_REF" => Some("refs/pull/7/merge".to_owned()),
        _ => None,
    });
    let refused = comment(&stranger, OOM)?;
    assert!(matches!(refused, Err(HttpError::NotAllowed(401))), "{refused:?}");
    Ok(())
}

#[test]
fn trouble_that_passes_is_waited_for() -> Outcome {
    for trouble in [(500, ""), (502, ""), (429, "retry-after: 0\r\n"), (403, "x-ratelimit-remaining: 0\r\n")] {
        let server = Server::start()?;
        server.with(|state| state.troubles.extend([trouble, trouble]));
        assert_eq!(comment(&server.github("1"), OOM)??, Posted::Created, "{trouble:?}");
        assert_eq!(server.bodies().len(), 1, "{trouble:?}");
    }
    Ok(())
}

#[test]
fn trouble_that_stays_ends() -> Outcome {
    let server = Server::start()?;
    server.with(|state| state.troubles.extend([(502, ""); 50]));
    let failed = comment(&server.github("1"), OOM)?;
    assert!(matches!(failed, Err(HttpError::Unavailable(_))), "{failed:?}");
    let writes = server.with(|state| state.requests.iter().filter(|(_, path)| path.ends_with("/comments")).count());
    assert_eq!(writes, HASTE.attempts as usize);
    Ok(())
}

#[test]
fn an_answer_that_was_lost_does_not_write_twice() -> Outcome {
    let server = Server::start()?;
    server.with(|state| state.breaks_off = true);
    assert_eq!(comment(&server.github("1"), OOM)??, Posted::Updated);
    assert_eq!(server.bodies().len(), 1);
    Ok(())
}

#[test]
fn runs_at_once_end_in_one_comment() -> Outcome {
    let server = Server::start()?;
    std::thread::scope(|scope| {
        let runs: Vec<_> = ["1", "2", "3", "4"]
            .map(|run| {
                let environment = server.github(run);
                scope.spawn(move || comment(&environment, OOM).map(|done| done.is_ok()).unwrap_or(false))
            })
            .into_iter()
            .collect();
        for run in runs {
            assert!(run.join().unwrap_or(false));
        }
    });
    assert_eq!(server.bodies().len(), 1, "{:?}", server.bodies());
    Ok(())
}

#[test]
fn a_message_is_sent_once_it_is_taken() -> Outcome {
    let server = Server::start()?;
    server.with(|state| state.troubles.push_back((500, "")));
    triage::notify(&format!("{}/hook", server.address), &report(OOM)?, Language::En, Some("https://ci/1"), HASTE)?;
    let messages = server.with(|state| state.messages.clone());
    assert_eq!(messages.len(), 1);
    let text = messages[0]["text"].as_str().ok_or("no text")?;
    assert!(text.starts_with("GPU out of memory\n") && text.ends_with("https://ci/1"), "{text}");
    assert_eq!(messages[0]["oomdoc"]["verdict"], "gpu_oom");
    Ok(())
}

/// Runs `oomdoc triage` with no environment but `variables`.
fn run(folder: &std::path::Path, variables: &[(&str, &str)], arguments: &[&str]) -> assert_cmd::assert::Assert {
    let mut command = assert_cmd::Command::new(assert_cmd::cargo::cargo_bin!("oomdoc"));
    command
        .env_clear()
        .env("OOMDOC_NO_CONFIG", "1")
        .env("OOMDOC_HOME", folder)
        .envs(variables.iter().copied())
        .current_dir(folder);
    command.arg("triage").args(arguments).assert()
}

/// The environment of a step of GitHub Actions on a pull request.
fn of_github<'v>(server: &'v Server, summary: &'v str) -> [(&'static str, &'v str); 6] {
    [
        ("GITHUB_ACTIONS", "true"),
        ("GITHUB_REPOSITORY", "me/it"),
        ("GITHUB_REF", "refs/pull/7/merge"),
        ("GITHUB_TOKEN", "token-of-the-job"),
        ("GITHUB_API_URL", server.address.as_str()),
        ("GITHUB_STEP_SUMMARY", summary),
    ]
}

#[test]
fn a_step_leaves_report_annotation_summary_and_comment() -> Outcome {
    let server = Server::start()?;
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("job.log"), OOM)?;
    let summary = folder.path().join("summary.md").display().to_string();
    let mut variables = vec![
        ("GITHUB_ACTIONS", "true"),
        ("GITHUB_REPOSITORY", "me/it"),
        ("GITHUB_REF", "refs/pull/7/merge"),
        ("GITHUB_TOKEN", "token-of-the-job"),
        ("GITHUB_API_URL", server.address.as_str()),
        ("GITHUB_STEP_SUMMARY", summary.as_str()),
    ];
    let done = run(folder.path(), &variables, &["job.log"]).code(0);
    let printed = String::from_utf8_lossy(&done.get_output().stdout).into_owned();
    assert!(
        printed.starts_with("::error title=GPU out of memory::") && printed.contains("comment written"),
        "{printed}"
    );
    assert!(std::fs::read_to_string(&summary)?.contains("### GPU out of memory"));
    for name in ["report.json", "report.html", "report.md", "report.sarif"] {
        assert!(std::fs::metadata(folder.path().join("oomdoc-report").join(name))?.len() > 0, "{name}");
    }
    assert!(printed.contains("report.sarif are in oomdoc-report/\n"), "{printed}");
    assert_eq!(server.bodies().len(), 1);
    run(folder.path(), &variables, &["job.log", "--fail-on", "any"]).code(1);
    variables.retain(|(name, _)| *name != "GITHUB_TOKEN");
    let done = run(folder.path(), &variables, &["job.log"]).code(0);
    assert!(String::from_utf8_lossy(&done.get_output().stderr).contains("no token"));
    run(folder.path(), &variables, &["nothing.log"]).code(0);
    Ok(())
}

#[test]
fn a_fork_gets_the_summary() -> Outcome {
    let server = Server::start()?;
    server.with(|state| state.troubles.extend([(403, ""); 10]));
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("job.log"), OOM)?;
    let summary = folder.path().join("summary.md").display().to_string();
    let variables = of_github(&server, &summary);
    let done = run(folder.path(), &variables, &["job.log"]).code(0);
    assert!(String::from_utf8_lossy(&done.get_output().stderr).contains("forks"));
    let page = std::fs::read_to_string(&summary)?;
    assert!(page.contains("### GPU out of memory") && page.contains("No comment was written"), "{page}");
    assert!(server.bodies().is_empty());
    Ok(())
}

#[test]
fn an_incident_is_kept_and_linked_by_the_next() -> Outcome {
    let server = Server::start()?;
    let folder = tempfile::tempdir()?;
    let stack = "Traceback (most recent call last):\n  File \"/w/train.py\", line 9, in main\n    loss.backward()\n";
    let dated = |date: &str| format!("[{date} 10:00:00,000] [INFO] [engine.py:12:step] ready\n{stack}{OOM}");
    for (name, date) in [("one.log", "2026-10-01"), ("two.log", "2026-10-08")] {
        std::fs::write(folder.path().join(name), dated(date))?;
    }
    let history = |arguments: &[&str]| {
        let mut command = assert_cmd::Command::new(assert_cmd::cargo::cargo_bin!("oomdoc"));
        command.env("OOMDOC_HOME", folder.path()).arg("history").args(arguments).assert().success()
    };
    let listed = || -> Outcome<Value> {
        Ok(serde_json::from_slice(&history(&["list", "--format", "json"]).get_output().stdout)?)
    };
    run(folder.path(), &[], &["one.log", "--no-save"]).code(0);
    assert_eq!(listed()?["total"], 0);
    run(folder.path(), &[], &["one.log"]).code(0);
    assert_eq!(listed()?["total"], 1);
    let kept = listed()?["incidents"][0]["id"].as_str().ok_or("no id")?.to_owned();
    history(&["resolve", &kept, "--knob=--zero_stage=3", "--worked"]);
    let summary = folder.path().join("summary.md").display().to_string();
    let variables = of_github(&server, &summary);
    run(folder.path(), &variables, &["two.log"]).code(0);
    let bodies = server.bodies();
    let link = format!("seen before: `{}`, 2026-10-01: ", &kept[..8]);
    for page in [&std::fs::read_to_string(&summary)?, bodies.first().ok_or("no comment")?] {
        assert!(page.contains(&link) && page.contains("alike), fixed by --zero"), "{page}");
    }
    assert_eq!(listed()?["total"], 2);
    // Where no history can be kept, there is only a warning.
    let done = run(folder.path(), &[("OOMDOC_HOME", "/proc/oomdoc")], &["two.log"]).code(0);
    assert!(String::from_utf8_lossy(&done.get_output().stderr).contains("not kept"));
    Ok(())
}

#[test]
fn the_next_steps_are_told_what_came_out() -> Outcome {
    let server = Server::start()?;
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("job.log"), OOM)?;
    std::fs::write(folder.path().join("fine.log"), "step 1 loss 0.5\n")?;
    let [summary, output] = ["summary.md", "output"].map(|name| folder.path().join(name).display().to_string());
    let variables: Vec<(&str, &str)> =
        of_github(&server, &summary).into_iter().chain([("GITHUB_OUTPUT", output.as_str())]).collect();
    let done = run(folder.path(), &variables, &["job.log", "--output", "out", "--fail-on", "any"]).code(1);
    let page = "https://github.com/me/it/pull/7#issuecomment-1001";
    let printed = String::from_utf8_lossy(&done.get_output().stdout).into_owned();
    assert!(printed.contains(&format!("comment written: {page}")), "{printed}");
    let expected = format!(
        "verdict=gpu_oom\ncause=activations_too_large\nreport-path=out/report.html\nsarif-path=out/report.sarif\ncomment-url={page}\n"
    );
    assert_eq!(std::fs::read_to_string(&output)?, expected);
    // A value with a line end could set another output.
    run(folder.path(), &variables, &["fine.log", "--no-comment", "--output", "a\nverdict=b"]).code(0);
    let told = std::fs::read_to_string(&output)?;
    let told = told.strip_prefix(&expected).ok_or("what was told before is gone")?;
    assert!(told.starts_with("verdict=none\ncause=\nreport-path=") && told.matches("verdict=").count() == 3, "{told}");
    assert!(told.lines().filter(|line| line.starts_with("verdict=")).count() == 1, "{told}");
    // These are all outputs that the action declares.
    let action = std::fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("action.yml"))?;
    for name in expected.lines().filter_map(|line| line.split('=').next()) {
        assert!(action.contains(&format!("steps.triage.outputs.{name} ")), "{name}");
    }
    Ok(())
}

/// The locations of all results in the SARIF file in `folder`.
fn places(folder: &std::path::Path) -> Outcome<Vec<Value>> {
    let log: Value = serde_json::from_slice(&std::fs::read(folder.join("oomdoc-report/report.sarif"))?)?;
    let results = log["runs"][0]["results"].as_array().ok_or("no results")?;
    Ok(results.iter().map(|result| result["locations"][0].clone()).collect())
}

#[test]
fn code_scanning_is_given_a_place_without_a_launch_file() -> Outcome {
    let (folder, elsewhere) = (tempfile::tempdir()?, tempfile::tempdir()?);
    std::fs::create_dir(folder.path().join("logs"))?;
    std::fs::write(folder.path().join("logs/job 1.log"), format!("step 1\n{OOM}"))?;
    let outside = elsewhere.path().join("node.log").display().to_string();
    std::fs::write(&outside, OOM)?;
    let workspace = folder.path().display().to_string();
    let variables = [("GITHUB_ACTIONS", "true"), ("GITHUB_WORKSPACE", workspace.as_str())];
    for (paths, uri, line) in [("logs/job 1.log", "logs/job%201.log", 2), (outside.as_str(), "node.log", 1)] {
        run(folder.path(), &variables, &[paths]).code(0);
        let places = places(folder.path())?;
        let place = &places.first().ok_or("no result")?["physicalLocation"];
        assert_eq!(
            (&place["artifactLocation"]["uri"], &place["region"]["startLine"]),
            (&json!(uri), &json!(line)),
            "{paths}"
        );
    }
    assert_eq!(places(folder.path())?[0]["logicalLocations"][0]["fullyQualifiedName"], json!(outside));
    Ok(())
}
