//! Containers: how Kubernetes, Docker and containerd report that one ended.
//!
//! Mirrors kubernetes' `pkg/kubelet` (1.18–1.34: container states, `oom/oom_watcher_linux.go`, [`eviction`]), `kubectl describe` and `get`,
//! `docker inspect`, `events` and `compose`, containerd's `cri/server/events.go`. `OOMKilled` says that the kernel killed something in the
//! container's cgroup, not necessarily its first process; without it, status 137 is a SIGKILL from an unknown sender.

use nom::branch::alt;
use nom::bytes::complete::{tag, take_till1, take_until, take_while1};
use nom::character::complete::{multispace1, space0};
use nom::combinator::{opt, verify};
use nom::sequence::{delimited, preceded, separated_pair, terminated};
use nom::{IResult, Parser};

use super::text::{self, Size};
use super::{Example, Follow, Grammar, Joint, Line, Record, signals, statement};
use crate::model::{Bytes, CONTAINER_NAME, Event, Exit, Figure, FigureName, Kind, SERVICE_NAME, Victim};

mod described;
mod eviction;
mod examples;
mod inspected;

const PRODUCER: &str = "container";
/// Who says what Kubernetes never does.
const DOCKER: &str = "docker";
const COMPOSE: &str = "compose";
const KILLED: &str = "OOMKilled";

/// See the module.
pub struct Container;

impl Grammar for Container {
    fn producer(&self) -> &'static str {
        PRODUCER
    }

    fn anchors(&self) -> &'static [&'static str] {
        &[KILLED, "low on resource: memory"]
    }

    fn triggers(&self) -> &'static [&'static str] {
        &[
            KILLED,
            "Container killed due to memory usage",
            eviction::RESOURCE,
            eviction::CONDITION,
            eviction::LOCAL_STORAGE[0],
            eviction::LOCAL_STORAGE[1],
            "System OOM encountered",
            "Cgroup OOM encountered",
            "TaskOOM event",
            "container oom ",
            "container die ",
            "terminated with exit code (",
            "exited with code ",
            "Exit Code:",
            "\"ExitCode\":",
            "xitCode\":",
            "exitCode: ",
            "Containers:",
        ]
    }

    fn is_multiline(&self) -> bool {
        true
    }

    /// Joins the rest of what `kubectl` prints about a container, or about all of a pod.
    fn follows(&self, record: &Record, next: &Line<'_>) -> Follow {
        let first = text::line(record.text());
        if described::is_heading(first) {
            return described::follows(next);
        }
        if inspected::asks(first) {
            return if record.text() == first { Follow::Join(Joint::Line) } else { Follow::End };
        }
        if is_status_reason(first) {
            return status_follows(record, next);
        }
        if let Some(joint) = eviction::goes_on(record.text(), next.body()) {
            return Follow::Join(joint);
        }
        const LABELS: [&str; 13] = [
            "Last State:",
            "Reason:",
            "Exit Code:",
            "Signal:",
            "Message:",
            "Started:",
            "Finished:",
            "Ready:",
            "Restart Count:",
            "Limits:",
            "cpu:",
            "memory:",
            "nvidia.com/gpu:",
        ];
        if !first.trim_start().starts_with("Reason:") {
            return Follow::End;
        }
        let next = next.body().trim();
        match LABELS.iter().any(|label| next.starts_with(label)) {
            true => Follow::Join(Joint::Line),
            // Somebody left lines out.
            false if matches!(next, "" | "..." | "[...]" | "…") => Follow::Pass,
            false => Follow::End,
        }
    }

    fn parse(&self, record: &Record) -> Vec<Event> {
        if described::is_heading(text::line(record.text())) {
            return described::events(record);
        }
        if inspected::asks(text::line(record.text())) {
            return inspected::event(record).into_iter().collect();
        }
        let event = eviction::event(record)
            .or_else(|| system(record))
            .or_else(|| runtime(record))
            .or_else(|| terminated_with(record))
            .or_else(|| oom_killed(record))
            .or_else(|| exit_code(record))
            .or_else(|| exited(record));
        event.into_iter().collect()
    }

    fn examples(&self) -> &'static [Example] {
        examples::EXAMPLES
    }
}

/// The kernel killed a process in the container's cgroup.
fn killed(record: &Record, words: &str, role: Option<&str>) -> Event {
    let victim = Victim { role: role.map(Into::into), host: record.origin().host.clone(), ..Victim::default() };
    statement::shortage(record, PRODUCER, words, Kind::HostOomCgroup, victim)
}

/// `Reason: OOMKilled`, `"OOMKilled": true`, `Reason [OOMKilled]`, a row of `kubectl get pod`.
fn oom_killed(record: &Record) -> Option<Event> {
    let text = record.text();
    let line = text::line(text);
    if let Some(words) = text::spoken(text, "OutOfMemoryError: Container killed due to memory usage").next() {
        return Some(killed(record, text::line(words), None));
    }
    if let Ok((_, pod)) = row(line.trim_start()) {
        return Some(killed(record, line, Some(pod)));
    }
    let words = text::each(line, KILLED).find(|words| {
        let before = text::before(line, words).trim_end();
        let stands = text::may_begin(before)
            || before.ends_with(['[', '(', '{', ','])
            || (words.starts_with("OOMKilled\"") && before.ends_with(['{', ',', '"']));
        // `{reason="OOMKilled"}` selects a series of Prometheus.
        let behind = words[KILLED.len()..].trim_start_matches(['"', '\\']);
        let in_braces = before.rfind('{') > before.rfind('}') && before.ends_with('"');
        let selects = in_braces
            && before.trim_end_matches(['"', '\\']).ends_with('=')
            && behind.starts_with(['}', ','])
            && !behind.contains("} 1");
        // A quotation that goes on after the word only mentions it.
        let quoted = before.ends_with(['"', '\'']);
        stands && !selects && (!quoted || words[KILLED.len()..].starts_with(['"', '\'', '\\']))
    })?;
    let behind = words[KILLED.len()..].trim_start_matches(['"', '\\', ' ']);
    // `docker inspect` prints the flag for every container.
    if let Some(value) = behind.strip_prefix(':').map(str::trim_start) {
        let value = text::token(value, ",}");
        let mut event = match value {
            "true" => killed(record, line, None),
            "false" => statement::notice(record, PRODUCER, line),
            _ => return None,
        };
        event.producer = DOCKER;
        event.facts.push(record.fact("container.oom_killed", value));
        return Some(event);
    }
    let name = record.text().lines().find_map(status_name);
    let mut event = killed(record, line, name);
    event.facts.extend(name.map(|name| record.fact(CONTAINER_NAME, name)));
    event.evidence = record
        .cites(text)
        .into_iter()
        .filter(|cite| cite.text.contains("Exit Code:") || cite.text.contains("memory:"))
        .collect();
    event.figures.extend(limit(record, text));
    Some(event)
}

/// The memory limit of a container that `kubectl describe` prints in `block`.
fn limit(record: &Record, block: &str) -> Option<Figure> {
    let amount = text::after(text::after(block, "Limits:")?, "memory:")?;
    record.figure(FigureName::MemcgLimit, quantity(amount.trim_start()).ok()?.1)
}

/// `reason: OOMKilled` of a container's status as YAML or JSON.
fn is_status_reason(line: &str) -> bool {
    let reason = line.trim().trim_start_matches('"').strip_prefix("reason");
    reason.is_some_and(|reason| reason.trim_matches(['"', ':', ' ', ',']) == KILLED)
}

/// Joins the rest of a container's status, whose keys are sorted, up to the container's name.
fn status_follows(record: &Record, next: &Line<'_>) -> Follow {
    const KEYS: [&str; 5] = ["startedAt", "finishedAt", "signal", "message", "name"];
    let is_brace = |line: &str| matches!(line, "}" | "},");
    let line = next.body().trim();
    let key = line.trim_start_matches('"');
    match status_name(record.last_line()).is_none()
        && (is_brace(line) || KEYS.iter().any(|known| key.starts_with(known)))
    {
        true => Follow::Join(Joint::Line),
        false => Follow::End,
    }
}

/// `name: trainer`, `"name": "trainer",`
fn status_name(line: &str) -> Option<&str> {
    let value = line.trim().trim_start_matches('"').strip_prefix("name")?.trim_start_matches('"').strip_prefix(':')?;
    Some(value.trim_matches(['"', ' ', ','])).filter(|name| !name.is_empty())
}

/// `trainer-0   0/1   OOMKilled   3 (2m ago)   12m`
fn row(line: &str) -> IResult<&str, &str> {
    let ready = separated_pair(text::digits, tag("/"), text::digits);
    let word = take_till1(char::is_whitespace);
    let (rest, (pod, _, _, _)) = (word, multispace1, ready, multispace1).parse(line)?;
    let (rest, _) = terminated(tag(KILLED), multispace1).parse(rest)?;
    Ok((rest, pod))
}

/// An amount as Kubernetes writes it: `712Gi`, `64G`, `732012Ki`, `1073741824`.
fn quantity(text: &str) -> IResult<&str, Size<'_>> {
    let unit = alt((
        tag("Ki").map(|_| Bytes::KIB),
        tag("Mi").map(|_| Bytes::MIB),
        tag("Gi").map(|_| Bytes::GIB),
        tag("Ti").map(|_| Bytes::TIB),
        tag("k").map(|_| Bytes(1_000)),
        tag("M").map(|_| Bytes(1_000_000)),
        tag("G").map(|_| Bytes(1_000_000_000)),
        tag("T").map(|_| Bytes(1_000_000_000_000)),
    ));
    let (rest, (words, (amount, unit))) = nom::combinator::consumed((text::decimal, opt(unit))).parse(text)?;
    let words = words.trim_end_matches(['.', ',']);
    Ok((rest, Size { text: words, bytes: Bytes::of(amount, unit.unwrap_or(Bytes(1))) }))
}

/// `System OOM encountered, victim process: python3, pid: 23456`: the kubelet's event for a kill that no container's limit caused;
/// `Cgroup OOM encountered, …` for one that a limit did.
fn system(record: &Record) -> Option<Event> {
    let whose = [("System OOM encountered", Kind::HostOomKernel), ("Cgroup OOM encountered", Kind::HostOomCgroup)];
    let (words, kind) = whose
        .iter()
        .find_map(|(words, kind)| Some((text::each(record.text(), words).next().map(text::line)?, *kind)))?;
    let named = |words| preceded((take_until(", "), tag(", victim process: ")), take_until(", ")).parse(words);
    let named: Option<(&str, &str)> = named(words).map_err(|_: nom::Err<nom::error::Error<&str>>| ()).ok();
    let pid = text::after(words, "pid: ").and_then(|rest| text::digits(rest).ok()).map(|(_, pid)| pid);
    let number: Option<u32> = pid.and_then(|pid| pid.parse().ok());
    let role = named.map(|(_, name)| name.into());
    let victim = Victim { role, ..statement::neighbour(record, number) };
    let mut event = statement::shortage(record, PRODUCER, words, kind, victim);
    event
        .figures
        .extend(pid.zip(number).map(|(pid, number)| record.number(FigureName::VictimPid, pid, f64::from(number))));
    Some(event)
}

/// What containerd says of a cgroup that ran out.
const TASK_OOM: &str = "TaskOOM event ";

/// Events of the runtimes: `TaskOOM event container_id:"…"`, `container oom 4f66… (image=…, name=trainer)`, `container
/// die 4f66… (exitCode=137, …)`; managers of containers keep it as `container oom Container ID: 4f66… Container Name: trainer`.
fn runtime(record: &Record) -> Option<Event> {
    let text = text::line(record.text());
    // A handler of such events is no event: that one names its container at once.
    const NAMES: [&str; 5] = ["container_id", "ContainerID", "&TaskOOM", "{", "for container"];
    let is_named = |words: &&str| {
        let behind = &words[TASK_OOM.len()..];
        NAMES.iter().any(|name| behind.starts_with(name))
    };
    let task = text::each(text, TASK_OOM).find(is_named);
    if let Some(words) = task {
        let mut event = killed(record, words, None);
        let id = words.split(|c: char| !c.is_ascii_hexdigit()).find(|id| id.len() == 64);
        event.facts.extend(id.map(|id| record.fact("container.id", id)));
        return Some(event);
    }
    let words = text::each(text, "container ").find(|words| action(words).is_ok())?;
    let (attributes, (action, id)) = action(words).ok()?;
    let name = text::after(attributes, "name=").map(|rest| text::token(rest, ",)"));
    let name = name.or_else(|| text::after(attributes, "Container Name: ").map(|rest| text::token(rest, "")));
    let mut event = match action {
        "oom" => killed(record, words, name),
        _ => {
            let (_, (_, status)) = signals::status(text::after(attributes, "exitCode=")?).ok()?;
            let victim = Victim { role: name.map(Into::into), ..Victim::default() };
            statement::ended(record, PRODUCER, words, Exit::from_status(status), victim)
        }
    };
    event.producer = DOCKER;
    event.facts.push(record.fact("container.id", id));
    Some(event)
}

fn action(words: &str) -> IResult<&str, (&str, &str)> {
    let id = verify(take_while1(|c: char| c.is_ascii_hexdigit()), |id: &str| id.len() >= 12);
    let action = preceded(tag("container "), alt((tag("oom"), tag("die"))));
    let label = (tag(" "), opt(tag("Container ID: ")));
    terminated(separated_pair(action, label, id), alt((tag(" ("), tag(" Container Name: ")))).parse(words)
}

/// `[train-n0-0] terminated with exit code (137). Reason [Error]. Message: `
fn terminated_with(record: &Record) -> Option<Event> {
    let text = record.text();
    let words = text::each(text, "terminated with exit code (").next().map(text::line)?;
    let (reason, (_, status)) = status_in_brackets(words).ok()?;
    let before = text::before(text, words).trim_end();
    let pod = before.strip_suffix(']').and_then(|before| before.rsplit_once('[')).map(|(_, pod)| pod);
    let victim = Victim { role: pod.map(Into::into), ..Victim::default() };
    Some(match reason.contains(KILLED) {
        true => killed(record, words, pod),
        false => statement::ended(record, PRODUCER, words, Exit::from_status(status), victim),
    })
}

fn status_in_brackets(words: &str) -> IResult<&str, (&str, i32)> {
    delimited(tag("terminated with exit code ("), signals::status, tag(")")).parse(words)
}

/// `Exit Code: 137`, `"exitCode": 137,`: the end of a container, without a word about memory.
fn exit_code(record: &Record) -> Option<Event> {
    let (line, status) = exit_code_line(record.text())?;
    Some(statement::death(record, PRODUCER, line, Exit::from_status(status), Victim::default()))
}

/// The first line that states a status other than 0, which a running container has too.
fn exit_code_line(text: &str) -> Option<(&str, i32)> {
    let status = |line| labelled_status(line).ok().map(|(_, (_, status))| status);
    text.lines().map(str::trim_start).find_map(|line| Some((line, status(line).filter(|status| *status != 0)?)))
}

fn labelled_status(line: &str) -> IResult<&str, (&str, i32)> {
    let label = alt((tag("Exit Code:"), tag("\"ExitCode\":"), tag("\"exitCode\":"), tag("exitCode:")));
    preceded((label, space0), signals::status).parse(line)
}

/// `trainer-1 exited with code 137` of docker compose.
fn exited(record: &Record) -> Option<Event> {
    let line = text::line(record.text()).trim();
    let (rest, (service, status)) = service(line).ok()?;
    let victim = Victim { role: Some(service.into()), ..Victim::default() };
    if !rest.trim_matches(['.', ' ']).is_empty() {
        return None;
    }
    let mut event = statement::ended(record, COMPOSE, line, Exit::from_status(status), victim);
    if status != 0 {
        event.facts.push(record.fact(SERVICE_NAME, service));
    }
    Some(event)
}

fn service(line: &str) -> IResult<&str, (&str, i32)> {
    let name = take_while1(|c: char| c.is_ascii_alphanumeric() || "-_.".contains(c));
    let (rest, (name, (_, status))) = separated_pair(name, tag(" exited with code "), signals::status).parse(line)?;
    Ok((rest, (name, status)))
}
