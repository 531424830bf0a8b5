//! The list of containers that `kubectl describe pod` prints.
//!
//! Mirrors `describeContainers` of kubectl's `pkg/describe/describe.go` (1.18–1.34): each container's name stands alone on a line, and what
//! is known about it stands indented below. Of the containers of a pod, only the name tells which one ended.

use nom::Offset;

use super::{exit_code_line, killed, limit};
use crate::model::{CONTAINER_NAME, Event, Exit, Victim};
use crate::parse::record::statement;
use crate::parse::{Follow, Joint, Line, Record};

const HEADINGS: [&str; 3] = ["Containers:", "Init Containers:", "Ephemeral Containers:"];

/// Whether a list begins with `line`.
pub(super) fn is_heading(line: &str) -> bool {
    HEADINGS.contains(&line.trim_end())
}

/// Joins the lines below the heading, all of which are indented.
pub(super) fn follows(next: &Line<'_>) -> Follow {
    match next.body() {
        "" => Follow::Pass,
        body if body.starts_with([' ', '\t']) => Follow::Join(Joint::Line),
        _ => Follow::End,
    }
}

/// What ended each container of the list.
pub(super) fn events(record: &Record) -> Vec<Event> {
    containers(record.text()).into_iter().filter_map(|(name, block)| ended(record, name, block)).collect()
}

fn ended(record: &Record, name: &str, block: &str) -> Option<Event> {
    let mut lines = block.lines().map(str::trim_start);
    let mut event = match lines.find(|line| is_reason(line)) {
        Some(reason) => {
            let mut event = killed(record, reason.trim_end(), Some(name));
            event.evidence.push(record.cite(name));
            let status = lines.next().filter(|line| line.starts_with("Exit Code:"));
            event.evidence.extend(status.map(|status| record.cite(status.trim_end())));
            event.figures.extend(limit(record, block));
            event
        }
        None => {
            let (line, status) = exit_code_line(block)?;
            let victim = Victim { role: Some(name.into()), ..Victim::default() };
            statement::death(record, super::PRODUCER, line, Exit::from_status(status), victim)
        }
    };
    event.facts.push(record.fact(CONTAINER_NAME, name));
    event.facts.push(record.fact("container.of_pod", name));
    let image = block.lines().find_map(|line| line.trim().strip_prefix("Image:"));
    event.facts.extend(image.map(|image| record.fact("container.image", image.trim())));
    event.facts.extend(lifetime(block).map(|(end, seconds)| record.number_fact("container.lived", end, seconds)));
    Some(event)
}

/// How many seconds the run lasted that ended last, with the words that state its end.
fn lifetime(block: &str) -> Option<(&str, f64)> {
    let (_, last) = block.split_once("Last State:")?;
    let moment = |label: &str| {
        let words = last.lines().find_map(|line| line.trim().strip_prefix(label))?.trim();
        Some((words, jiff::fmt::rfc2822::parse(words).ok()?.timestamp().as_second()))
    };
    let ((_, start), (words, end)) = (moment("Started:")?, moment("Finished:")?);
    (end >= start).then_some((words, (end - start) as f64))
}

fn is_reason(line: &str) -> bool {
    line.strip_prefix("Reason:").is_some_and(|reason| reason.trim() == super::KILLED)
}

/// The containers' names and the lines about each.
fn containers(list: &str) -> Vec<(&str, &str)> {
    let below = list.split_once('\n').map_or("", |(_, below)| below);
    let Some(outermost) = below.lines().filter(|line| !line.trim().is_empty()).map(indent).min() else {
        return Vec::new();
    };
    let is_name = |line: &&str| indent(line) == outermost && line.trim_end().ends_with(':');
    let mut names = below.lines().filter(is_name).peekable();
    let mut found = Vec::new();
    while let Some(name) = names.next() {
        let end = names.peek().map_or(below.len(), |next| below.offset(next));
        found.push((name.trim().trim_end_matches(':'), &below[below.offset(name)..end]));
    }
    found
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

#[cfg(test)]
mod tests {
    use crate::model::{FactValue, What};
    use crate::parse::testing;

    const POD: &str = "Name:             llama70b-0\nContainers:\n  metrics:\n    Image:          prom/pushgateway:v1.8.0\n    State:          Waiting\n      Reason:       CrashLoopBackOff\n    Last State:     Terminated\n      Reason:       OOMKilled\n      Exit Code:    137\n    Ready:          False\n    Limits:\n      memory:  128Mi\n  vllm:\n    State:          Running\n    Last State:     Terminated\n      Reason:       Error\n      Exit Code:    1\n    Limits:\n      memory:          64Gi\nConditions:\n  Type              Status\n";

    #[test]
    fn each_container_of_a_pod_ends_by_itself() {
        let ends: Vec<String> = testing::read(POD.as_bytes())
            .into_iter()
            .map(|event| {
                let limit: Vec<String> = event.figures.iter().map(|figure| figure.text.clone()).collect();
                match event.what {
                    What::Shortage(shortage) => {
                        let role = shortage.victims.into_iter().find_map(|victim| victim.role);
                        format!("{} {} {}", shortage.kind, role.unwrap_or_default(), limit.join(" "))
                    }
                    What::Death(death) => format!("{:?} {}", death.exit, death.victim.role.unwrap_or_default()),
                    what => format!("{what:?}"),
                }
            })
            .collect();
        assert_eq!(ends, ["host_oom_cgroup metrics 128Mi", "Code(1) vllm"]);
    }

    #[test]
    fn a_pod_tells_its_image_and_how_long_its_last_run_lasted() {
        let pod = POD.replace(
            "      Exit Code:    137\n",
            "      Exit Code:    137\n      Started:      Mon, 02 Mar 2026 08:00:00 +0000\n      Finished:     Wed, 04 Mar 2026 08:00:30 +0000\n",
        );
        let facts: Vec<(String, FactValue)> = testing::read(pod.as_bytes())
            .into_iter()
            .flat_map(|event| event.facts)
            .filter(|fact| matches!(fact.key, "container.image" | "container.lived"))
            .map(|fact| (fact.key.to_owned(), fact.value))
            .collect();
        let expected = [
            ("container.image".to_owned(), FactValue::Text("prom/pushgateway:v1.8.0".into())),
            ("container.lived".to_owned(), FactValue::Number(172_830.0)),
        ];
        assert_eq!(facts, expected);
    }

    #[test]
    fn a_list_that_lost_its_indentation_is_read_line_by_line() {
        let flat: String = POD.lines().map(|line| format!("{}\n", line.trim_start())).collect();
        let kinds: Vec<bool> =
            testing::read(flat.as_bytes()).iter().map(|event| matches!(event.what, What::Shortage(_))).collect();
        assert_eq!(kinds.first(), Some(&true), "{kinds:?}");
    }
}
