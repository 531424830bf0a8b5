//! Ray's messages about dead workers, actors and nodes; they do not prove why these died.
//!
//! Mirrors `python/ray/exceptions.py`, `python/ray/_private/process_watcher.py`, `src/ray/raylet/node_manager.cc`,
//! `src/ray/gcs/gcs_{worker,actor,node}_manager.cc` and `src/ray/core_worker/` (1.13–2.60). The text after `potential root causes` and
//! `common causes` is a guess that Ray prints for any dead worker, with the OOM killer first. An exit type that names the memory monitor is
//! left to [`super::ray_monitor`].

mod examples;

use nom::branch::alt;
use nom::bytes::complete::{tag, take_while1};
use nom::bytes::streaming;
use nom::character::streaming::digit1;
use nom::combinator::{opt, rest};
use nom::sequence::preceded;
use nom::{IResult, Parser};

use super::verl::rank_in_name;
use super::{Example, Follow, Grammar, Joint, Line, Record, text, wrap};
use crate::model::{Death, Event, Exit, Failure, Figure, FigureName, OtherFailureName, Victim, What};

/// See the module.
pub struct RayWorker;

/// The beginning of the exception for a dead actor.
const ACTOR: &str = "The actor died unexpectedly before finishing this task";
/// The beginning of the raylet's report of a dead worker.
const WORKER: &str = "A worker died or was killed while executing a task";
/// The beginning of the exception for a dead node.
const NODE: &str = "Task failed due to the node ";
/// Printed by the agent when it finds its raylet gone.
const RAYLET: &str = "Raylet is terminated. Termination is unexpected";

impl Grammar for RayWorker {
    fn producer(&self) -> &'static str {
        "ray_worker"
    }

    fn anchors(&self) -> &'static [&'static str] {
        &["died unexpectedly", "SYSTEM_ERROR", "Raylet is terminated", "local raylet died", "too many heartbeats", NODE]
    }

    fn triggers(&self) -> &'static [&'static str] {
        &[
            "The actor died unexpectedly",
            "The worker died unexpectedly",
            "A worker died or was killed",
            "Worker exit type: ",
            "exit_type = ",
            "Raylet is terminated",
            "local raylet died",
            "too many heartbeats",
            NODE,
        ]
    }

    fn is_multiline(&self) -> bool {
        true
    }

    fn follows(&self, record: &Record, next: &Line<'_>) -> Follow {
        let (text, body) = (record.text(), next.body().trim_start());
        if let Some(report) = text.find(WORKER).map(|at| &text[at..]) {
            return wrap::joint(report, next.body(), |text| wrap::progress(text, report_head))
                .map_or(Follow::End, Follow::Join);
        }
        let has_cause = text.lines().any(is_cause);
        let belongs = match (text.contains(ACTOR), text.contains(NODE)) {
            (true, _) => !has_cause && field(body).is_some() || is_cause(body),
            (false, true) => body.starts_with("The node ") && record.len() == 1,
            (false, false) => return Follow::End,
        };
        let is_near = next.number.0.saturating_sub(record.last_number().0) <= 4;
        match (belongs, is_near && !has_cause) {
            (true, _) => Follow::Join(Joint::Line),
            (false, true) => Follow::Pass,
            (false, false) => Follow::End,
        }
    }

    fn parse(&self, record: &Record) -> Vec<Event> {
        let readings = [actor, report, crash, node, raylet, exit];
        readings.iter().map(|reading| reading(record)).find(|events| !events.is_empty()).unwrap_or_default()
    }

    fn examples(&self) -> &'static [Example] {
        examples::EXAMPLES
    }
}

/// `class_name: WorkerDict`, a line of the exception for a dead actor.
fn field(line: &str) -> Option<(&str, &str)> {
    const NAMES: [&str; 6] = ["class_name", "actor_id", "pid", "name", "namespace", "ip"];
    let (name, value) = line.trim().split_once(": ")?;
    NAMES.contains(&name).then_some((name, value.trim()))
}

/// Whether a line of the exception gives the cause of the actor's death.
fn is_cause(line: &str) -> bool {
    const CAUSES: [&str; 4] = [
        "The actor is dead because",
        "The actor died because its node",
        "the actor's node was ",
        "The actor never ran",
    ];
    CAUSES.iter().any(|cause| line.trim_start().starts_with(cause))
}

/// The raylet's report up to the exit type.
fn report_head(text: &str) -> IResult<&str, ()> {
    let id = || streaming::take_while1(|c: char| c.is_ascii_hexdigit());
    let address = streaming::take_while1(|c: char| c.is_alphanumeric() || ".:-_".contains(c));
    let head = (
        streaming::tag(WORKER),
        streaming::tag(
            " by an unexpected system error. To troubleshoot the problem, check the logs for the dead worker. ",
        ),
        alt((streaming::tag("RayTask ID: "), streaming::tag("Lease ID: "))),
    );
    let ids = (id(), streaming::tag(" Worker ID: "), id(), streaming::tag(" Node ID: "), id());
    let place = (streaming::tag(" Worker IP address: "), address, streaming::tag(" Worker port: "), digit1);
    let pid = (streaming::tag(" Worker PID: "), digit1, streaming::tag(" Worker exit type: "));
    let (rest, _) = (head, ids, place, pid, streaming::take_until(" Worker exit detail: ")).parse(text)?;
    Ok((rest, ()))
}

/// An exit type, and the detail without the guesses after it.
struct Ending<'a> {
    kind: &'a str,
    detail: Option<&'a str>,
}

/// How a worker ended, by the first exit type in `text`.
fn ending(text: &str) -> Option<Ending<'_>> {
    const LABELS: [&str; 2] = ["Worker exit type: ", "exit_type = "];
    const GUESSES: [&str; 5] = ["There are some potential", "Some common causes", "The worker may have", "\n", "\\n"];
    let typed = LABELS.iter().find_map(|label| text::after(text, label))?;
    let kind = take_while1(|c: char| c.is_ascii_uppercase() || c == '_');
    let detail = preceded(alt((tag(" Worker exit detail: "), tag(", exit_detail = "))), rest);
    let (kind, detail) = text::read((kind, opt(detail)), typed)?;
    let detail = detail.map(|detail| {
        let end = GUESSES.iter().filter_map(|guess| detail.find(guess)).min().unwrap_or(detail.len());
        detail[..end].trim()
    });
    Some(Ending { kind, detail })
}

impl Ending<'_> {
    /// `None` if it is no death, or if the memory monitor killed the worker.
    fn exit(&self) -> Option<Exit> {
        let code = self.detail.and_then(|detail| text::token(text::after(detail, "exit code ")?, ". ,").parse().ok());
        match self.kind {
            "SYSTEM_ERROR" | "UNEXPECTED_SYSTEM_EXIT" | "SYSTEM_ERROR_EXIT" => {
                Some(code.map_or(Exit::Vanished, Exit::from_status))
            }
            "INTENDED_USER_EXIT" | "INTENDED_SYSTEM_EXIT" | "INTENDED_EXIT" | "IDLE_EXIT" => Some(Exit::Stopped),
            _ => None,
        }
    }
}

/// A death that `part` of the message states, with the exit type and detail as facts.
fn death(record: &Record, part: &str, exit: Exit, victim: Victim, ending: Option<&Ending<'_>>) -> Event {
    let mut event = record.event("ray_worker", part, What::Death(Death { exit, victim, first: false }));
    event.facts.extend(ending.map(|ending| record.fact("ray.exit_type", ending.kind)));
    let detail = ending.and_then(|ending| ending.detail).filter(|detail| !detail.is_empty());
    event.facts.extend(detail.map(|detail| record.fact("ray.exit_detail", detail)));
    event
}

fn victim_pid(record: &Record, pid: &str) -> Option<Figure> {
    Some(record.number(FigureName::VictimPid, pid, pid.parse().ok()?))
}

/// The exception for a dead actor: its fields, then the cause.
fn actor(record: &Record) -> Vec<Event> {
    let text = record.text();
    let Some(head) = text.find(ACTOR).map(|at| &text[at..]).filter(|head| !text::is_quoted(text, head)) else {
        return Vec::new();
    };
    let fields: Vec<(&str, &str)> = head.lines().take_while(|line| !is_cause(line)).filter_map(field).collect();
    let value = |name| fields.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    // A class defined inside a function is called `make.<locals>.Worker`.
    let class = value("class_name").map(|class| class.rsplit("<locals>.").next().unwrap_or(class));
    let victim = Victim {
        host: value("ip").map(Into::into),
        pid: value("pid").and_then(|pid| pid.parse().ok()),
        role: class.or(value("name")).map(Into::into),
        rank: value("name").and_then(rank_in_name),
        ..Victim::default()
    };
    let cause: Vec<&str> = head.lines().filter(|line| is_cause(line)).collect();
    let says = |words: &str| cause.iter().any(|line| line.contains(words));
    let ending = cause.iter().find_map(|line| ending(line));
    let stopped = [
        "killed by `ray.kill`",
        "its owner has died",
        "references to the actor were removed",
        "terminated expectedly",
        "was preempted",
    ];
    let exit = match &ending {
        Some(ending) => ending.exit(),
        None if stopped.iter().any(|words| says(words)) => Some(Exit::Stopped),
        None => Some(Exit::Vanished),
    };
    let Some(exit) = exit else { return Vec::new() };
    let mut event = death(record, head, exit, victim, ending.as_ref());
    event.evidence.extend(cause.iter().map(|line| record.cite_line_of(line)));
    event.figures.extend(value("pid").and_then(|pid| victim_pid(record, pid)));
    for (key, name) in [("ray.class", "class_name"), ("ray.actor_id", "actor_id"), ("ray.actor_name", "name")] {
        event.facts.extend(value(name).map(|value| record.fact(key, value)));
    }
    let preempted = cause.iter().find(|line| line.contains("node was preempted: "));
    let preempted = preempted.map(|line| {
        let failure = Failure { name: OtherFailureName::Preempted, follows: false };
        record.event("ray_worker", line, What::Failure(failure))
    });
    Vec::from_iter(preempted.into_iter().chain([event]))
}

/// The raylet's report of a dead worker, and GCS' note of it.
fn report(record: &Record) -> Vec<Event> {
    let text = record.text();
    let head = [WORKER, "Reporting worker exit, "].iter().find_map(|head| text.find(head).map(|at| &text[at..]));
    let Some(head) = head.filter(|head| !text::is_quoted(text, head)) else { return Vec::new() };
    let ending = ending(head);
    let Some(exit) = ending.as_ref().map_or(Some(Exit::Vanished), Ending::exit) else { return Vec::new() };
    let word = |label| text::after(head, label).map(|rest| text::token(rest, ","));
    let victim = Victim {
        host: word("Worker IP address: ").or(word(" address = ")).map(Into::into),
        pid: word("Worker PID: ").and_then(|pid| pid.parse().ok()),
        ..Victim::default()
    };
    let mut event = death(record, head, exit, victim, ending.as_ref());
    event.figures.extend(word("Worker PID: ").and_then(|pid| victim_pid(record, pid)));
    event.facts.extend(word("Worker ID: ").or(word("worker id = ")).map(|id| record.fact("ray.worker_id", id)));
    vec![event]
}

/// The exception for a worker that died within a task.
fn crash(record: &Record) -> Vec<Event> {
    let text = record.text();
    let head = text.find("The worker died unexpectedly while executing this task").map(|at| &text[at..]);
    let head = head.filter(|head| !text::is_quoted(text, head));
    Vec::from_iter(head.map(|head| death(record, head, Exit::Vanished, Victim::default(), None)))
}

/// A node that is gone, as GCS or a task's owner reports it.
fn node(record: &Record) -> Vec<Event> {
    let text = record.text();
    let marked = "has been marked dead because the detector has missed too many heartbeats";
    let lost = "death reason = UNEXPECTED_TERMINATION";
    let part = [marked, lost, NODE].iter().find_map(|words| text.find(words).map(|at| &text[at..]));
    let labels = [" and address: ", "node_name=", "The node IP: ", "The node (IP: "];
    let host = labels.iter().find_map(|label| Some(text::token(text::after(text, label)?, ",;")));
    let is_named = text.contains(marked) && text::after(text, "node with node id").is_some_and(|id| id.len() > 8);
    let Some(part) = part.filter(|part| !text::is_quoted(text, part) && (host.is_some() || is_named)) else {
        return Vec::new();
    };
    vec![death(record, part, Exit::Vanished, raylet_on(host), None)]
}

/// A raylet that is gone, as its agent or a task reports it.
fn raylet(record: &Record) -> Vec<Event> {
    let text = record.text();
    let words = [RAYLET, "The task's local raylet died. Check raylet.out"];
    let part = words.iter().find_map(|words| text.find(words).map(|at| &text[at..]));
    let part = part.filter(|part| !text::is_quoted(text, part));
    let host = record.origin().host.as_deref();
    Vec::from_iter(part.map(|part| death(record, part, Exit::Vanished, raylet_on(host), None)))
}

fn raylet_on(host: Option<&str>) -> Victim {
    Victim { host: host.map(Into::into), role: Some("raylet".into()), ..Victim::default() }
}

/// An exit type without the message around it. Many workers end as they should.
fn exit(record: &Record) -> Vec<Event> {
    let Some(ending) = ending(record.text()) else { return Vec::new() };
    let exit = ending.exit().filter(|exit| *exit != Exit::Stopped);
    Vec::from_iter(exit.map(|exit| death(record, ending.kind, exit, Victim::default(), Some(&ending))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::testing;

    fn deaths(lines: &[&str]) -> Vec<Death> {
        let events = testing::read(lines.join("\n").as_bytes()).into_iter();
        events
            .filter_map(|event| match event.what {
                What::Death(death) => Some(death),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn a_guess_is_no_shortage() {
        for example in examples::EXAMPLES {
            let events = testing::read(example.text.as_bytes());
            assert!(!events.iter().any(|event| matches!(event.what, What::Shortage(_))), "{}", example.version);
        }
    }

    #[test]
    fn a_report_cut_by_the_terminals_width_is_read_whole() {
        let found = deaths(&[
            "(raylet) A worker died or was killed while executing a task by an unexpected system error. To trouble",
            "shoot the problem, check the logs for the dead worker. RayTask ID: ffffffff4b84 Worker ID: 195713e97a",
            "8a Node ID: 147925ec3d4b Worker IP address: 10.0.0.6 Worker port: 43959 Worker PID: 22",
            "20 Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a connection err",
            "or code 2. End of file.",
        ]);
        let [death] = &found[..] else { unreachable!("{found:?}") };
        assert_eq!((death.victim.pid, death.exit), (Some(2220), Exit::Vanished));
    }

    #[test]
    fn a_block_cut_off_says_what_it_can() {
        let found = deaths(&[
            "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.",
            "\tclass_name: WorkerDict",
            "\tactor_id: 0ebd7e5c628a",
        ]);
        let [death] = &found[..] else { unreachable!("{found:?}") };
        assert_eq!((death.victim.role.as_deref(), death.victim.pid), (Some("WorkerDict"), None));
    }

    #[test]
    fn a_worker_that_the_monitor_killed_is_left_to_the_monitor() {
        let block = [
            "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.",
            "\tclass_name: WorkerDict",
            "\tpid: 812",
            "The actor is dead because its worker process has died. Worker exit type: NODE_OUT_OF_MEMORY Worker exit detail: Task was killed due to the node running low on memory.",
        ];
        assert!(deaths(&block).is_empty());
    }

    #[test]
    fn a_mention_or_an_end_as_it_should_be_is_no_death() {
        for line in [
            "    BASE_ERROR_MSG = \"The actor died unexpectedly before finishing this task.\"",
            "            \"The worker died unexpectedly while executing this task. \"",
            "    msg = \"Raylet is terminated. Termination is unexpected. Possible reasons include\"",
            "Raylet is terminated. Termination is graceful.",
            "raylet_ipc_client.cc:133: RayletIpcClient::Disconnect, exit_type=INTENDED_USER_EXIT, exit_detail=Shutdown by ray.shutdown().",
            "Force kill actor request has received. exiting immediately... The actor is dead because its owner has died. Owner worker exit type: INTENDED_USER_EXIT Worker exit detail: Owner's worker process has crashed.",
            "gcs_node_manager.cc:734: , death reason = EXPECTED_TERMINATION, death message = received SIGTERM node_id=821a node_name=10.0.0.2",
            "The actor died because of an error raised in its creation task, ray::Worker.__init__() (pid=812, ip=10.0.0.7)",
            "Worker exit type: INTENDED_SYSTEM_EXIT Worker exit detail: Worker exits because it was idle.",
            "Cluster 3 has missed too many heartbeats. (7)",
        ] {
            assert!(deaths(&[line]).is_empty(), "{line}");
        }
    }
}
