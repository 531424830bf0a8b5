//! Ray's memory monitor, which kills workers before the kernel does.
//!
//! Mirrors `python/ray/_private/memory_monitor.py` (0.5–2.1: an exception inside the worker) and `src/ray/raylet/node_manager.cc`,
//! `worker_killing_policy*.cc` (2.0–2.60: the raylet kills). `GB` is 2^30 bytes, in the oldest messages 10^9. The raylet chooses its victim
//! by what can be retried and what began last, not by size: the victim is often innocent, and the table shows which processes held the
//! memory. The paragraph that begins `Refer to the documentation on how to address the out of memory issue` is printed only where at least
//! one worker was killed, so it proves the kill even if the rest was cut off.

mod examples;
mod pieces;

use nom::character::complete::u32 as integer;
use nom::combinator::consumed;

use self::pieces::{Clause, ProcessRow, Sentence, Worker};
use super::text::{self, Size};
use super::verl::rank_in_name;
use super::{Example, Follow, Grammar, Joint, Line, Record, wrap};
use crate::model::{
    Bytes, Consumer, Event, Fact, FactValue, Figure, FigureName, Kind, Severity, Shortage, Victim, What, ray_title,
};

/// See the module.
pub struct RayMonitor;

/// The beginning of a kill's details: the node's address in brackets follows, which people leave out.
const DETAILS: &str = "Memory on the node ";
/// The head of the message of a kill of 2.0–2.54, without its full stop, which is lost where somebody copied the sentence.
const SINGLE: &str = "Task was killed due to the node running low on memory";
/// What the heads of all versions have in common.
const HEAD: &str = "killed due to the node running low on memory";
/// Stands before each chosen worker, from 2.56 on.
const CHOSEN: &str = "Selected to kill: ";
/// The head of the table of the largest processes.
const TABLE: &str = "MEM(GB)";
/// The beginning of a message's last paragraph.
const ADVICE: &str = "Refer to the documentation on how to address the out of memory issue: https://";
/// The beginning of the oldest message.
const OLDEST: &str = "RayOutOfMemoryError: ";
/// The head of a task's traceback that ends in the oldest message; the task's process stands behind it.
const TASK_HEAD: &str = "RayTaskError(RayOutOfMemoryError): ";
/// Part of the periodic summary.
const SUMMARY: &str = " Workers (tasks";

impl Grammar for RayMonitor {
    fn producer(&self) -> &'static str {
        "ray_monitor"
    }

    fn anchors(&self) -> &'static [&'static str] {
        &["running low on memory", DETAILS, "due to memory pressure", "OUT_OF_MEMORY", "due to oom", "OutOfMemoryError"]
    }

    fn triggers(&self) -> &'static [&'static str] {
        &[
            "running low on memory",
            DETAILS,
            "RayOutOfMemoryError",
            SUMMARY,
            "address the out of memory issue",
            // A raylet's log names the writer in a message's first line only, and a blank line may end the record, so later parts must
            // trigger too.
            CHOSEN,
            TABLE,
            "ray::",
            "OUT_OF_MEMORY",
            "due to oom",
        ]
    }

    fn is_multiline(&self) -> bool {
        true
    }

    /// The message has several parts with foreign lines between them, and a terminal may have wrapped its lines.
    fn follows(&self, record: &Record, next: &Line<'_>) -> Follow {
        /// Most physical lines between two parts, before the table and within it: the raylet dumps the state of its object store in
        /// between.
        const FARTHEST: [u64; 2] = [64, 8];
        let (text, body) = (record.text(), next.body());
        let begun = text.rfind('\n').map_or(text, |at| &text[at + 1..]);
        if let Some(joint) = goes_on(begun, body) {
            return Follow::Join(joint);
        }
        let distance = next.number.0.saturating_sub(record.last_number().0);
        if text.contains(TASK_HEAD) && !text.contains(OLDEST) {
            return match body.contains(OLDEST) {
                true => Follow::Join(Joint::Line),
                false if distance > FARTHEST[0] || body.contains(TASK_HEAD) => Follow::End,
                false => Follow::Pass,
            };
        }
        let has_table = text.lines().any(pieces::is_row);
        let is_kill =
            [DETAILS, HEAD, OLDEST, SUMMARY, CHOSEN, TABLE].iter().any(|part| text.contains(part)) || has_table;
        if !is_kill || text.contains(ADVICE) || distance > FARTHEST[usize::from(has_table)] {
            return Follow::End;
        }
        let body = body.trim_start();
        let begins_details = body.starts_with(DETAILS) && !text.contains(DETAILS) && !has_table;
        if begins_details || is_part(body) {
            return Follow::Join(Joint::Line);
        }
        match self.triggers().iter().any(|trigger| body.contains(trigger)) {
            true => Follow::End,
            false => Follow::Pass,
        }
    }

    fn parse(&self, record: &Record) -> Vec<Event> {
        let readings = [kill, oldest, head_alone, summary, remains, retry, exit_type];
        readings.iter().find_map(|reading| reading(record)).into_iter().collect()
    }

    fn examples(&self) -> &'static [Example] {
        examples::EXAMPLES
    }
}

/// How `next` continues `begun`, the last line so far, if that line was wrapped.
fn goes_on(begun: &str, next: &str) -> Option<Joint> {
    let at = |part: &str| begun.find(part).map(|at| &begun[at..]);
    let sentences = [
        (at(DETAILS), Sentence::Details),
        (text::after(begun, OLDEST), Sentence::Oldest),
        (count_before(begun, SUMMARY), Sentence::Summary),
    ];
    if let Some((begun, sentence)) = sentences.into_iter().find_map(|(begun, sentence)| Some((begun?, sentence))) {
        return wrap::joint(begun, next, |text| sentence.progress(text));
    }
    let row = ["(Actor(", "(Task: ", "(Worker with "].iter().find_map(|part| at(part))?;
    wrap::joint(row, next, |text| wrap::progress(text, pieces::worker))
}

/// Whether a line is a part of the message.
fn is_part(line: &str) -> bool {
    const PARTS: &[&str] = &[
        "OOM kill reason:",
        "Ray killed ",
        "Considered workers",
        CHOSEN,
        "(Actor(",
        "(Task: ",
        "(Worker with no lease granted: ",
        "]",
        "Total non-selected idle workers",
        "To see more information about memory usage on this node",
    ];
    let is_listed = PARTS.iter().any(|part| line.starts_with(part));
    let is_head = line.starts_with("Top ") || line.starts_with("PID");
    is_listed || is_head && line.contains("MEM") || line.contains(ADVICE) || pieces::is_row(line)
}

/// `text` from the number directly before `words`.
fn count_before<'a>(text: &'a str, words: &str) -> Option<&'a str> {
    let end = text.find(words)?;
    let start = text[..end].trim_end_matches(|c: char| c.is_ascii_digit()).len();
    (start < end).then(|| &text[start..])
}

/// One or more workers killed, with the sentence about the node or with the head of the message alone.
fn kill(record: &Record) -> Option<Event> {
    let text = record.text();
    let details = text.find(DETAILS).map(|at| &text[at..]);
    let clauses = details.map(|details| Sentence::Details.read(details)).unwrap_or_default();
    let killed = killed(text);
    // Without the node's address others may speak of its memory as well.
    let is_rays =
        |clause: &Clause<'_>| matches!(clause, Clause::Node(_) | Clause::Share(FigureName::NodeThreshold, ..));
    let is_whole =
        details.is_some_and(|details| details.starts_with("Memory on the node (")) || clauses.iter().any(is_rays);
    let is_told = is_whole && clauses.iter().any(|clause| *clause != Clause::Words);
    if !is_told && killed.is_none() && !is_exception(text) {
        return None;
    }
    let chosen = pieces::chosen(text);
    let mut told = Statement::of(record, &clauses, Some(Bytes::GIB));
    told.chosen(record, &chosen);
    let victims = match chosen.is_empty() {
        true => vec![told.victim.clone()],
        false => chosen.iter().map(|worker| victim(worker, &told.victim)).collect(),
    };
    let name = told.name.or_else(|| retried(text).map(|(name, _)| name)).filter(|_| chosen.is_empty());
    told.facts.extend(name.map(|name| record.fact("ray.victim", name)));
    told.facts.extend(killed.map(|(words, count)| record.number_fact("ray.killed", words, f64::from(count))));
    told.facts.extend(version(text).map(|(version, words)| version_fact(record, version, words)));
    let clause = |head: &str| Some(text::after(text, head)?.split(['\n', ';', '\\']).next()?.trim());
    told.facts.extend(clause("because it was the ").map(|words| record.fact("ray.policy", words)));
    told.facts.extend(clause("OOM kill reason: ").map(|words| record.fact("ray.kill_reason", words)));
    let rows = table(text);
    let head = text.find(SINGLE).map(|at| &text[at..]);
    let head = killed.map(|(words, _)| words).or(head).or(details).unwrap_or(text);
    let lines =
        details.into_iter().chain(text::each(text, "OOM kill reason: ")).chain(chosen.iter().map(|worker| worker.row));
    let evidence: Vec<&str> = lines.take(8).collect();
    Some(told.event(record, head, severity(text), victims, &rows, &evidence))
}

/// The number of `2 worker(s) were killed` or `Killing 2 worker(s)`.
fn killed(text: &str) -> Option<(&str, u32)> {
    let behind = count_before(text, " worker(s) were killed due to the node running low on memory");
    let before = text::after(text, "Killing ").filter(|rest| rest.contains(" worker(s), kill details: "));
    text::read(consumed(integer), behind.or(before)?)
}

/// Whether `text` holds the head of the message of 2.0–2.54 as Ray raises or reports it, not as code or prose quotes it.
fn is_exception(text: &str) -> bool {
    text.find(SINGLE).is_some_and(|at| {
        let before = text[..at].trim_end();
        let reporter = ["OutOfMemoryError:", "exit_detail =", "exit detail:", "Error:"];
        let behind = &text[at + SINGLE.len()..];
        !behind.strip_prefix('.').unwrap_or(behind).starts_with(['"', '\\', '`'])
            && (before.is_empty() || reporter.iter().any(|word| before.ends_with(word)))
    })
}

/// `Task train failed due to oom. There are 2 oom retries remaining`: the task, and whether it is tried again.
fn retried(text: &str) -> Option<(&str, bool)> {
    let (before, after) = text.split_once(" failed due to oom. There are ")?;
    let name = &before[before.rfind("Task ")? + "Task ".len()..];
    let left = text::token(after, "");
    Some((name, left == "infinite" || left.parse::<u32>().is_ok_and(|left| left > 0)))
}

fn severity(text: &str) -> Severity {
    match retried(text) {
        Some((_, true)) => Severity::Retried,
        _ => Severity::Fatal,
    }
}

/// The first version of Ray that writes such a message, and the words that show it.
fn version(text: &str) -> Option<(&'static str, &str)> {
    const SIGNS: [(&str, &str); 6] = [
        ("OOM kill reason:", "2.56"),
        ("GB limit (", "2.56"),
        ("based on the killing policy", "2.55"),
        ("where the lease (", "2.50"),
        ("where the task (", "2.2"),
        ("where the task was running", "2.0"),
    ];
    SIGNS.iter().find_map(|(sign, version)| text.find(sign).map(|at| (*version, &text[at..at + sign.len()])))
}

fn version_fact(record: &Record, version: &str, words: &str) -> Fact {
    Fact { key: "ray.generation", value: FactValue::Text(version.to_owned()), at: record.cite(words) }
}

fn victim(worker: &Worker<'_>, known: &Victim) -> Victim {
    Victim { host: known.host.clone(), pid: Some(worker.pid), role: worker.name.map(Into::into), ..Victim::default() }
}

/// The oldest message: an exception inside a worker that asked for the node's memory before it began a task.
fn oldest(record: &Record) -> Option<Event> {
    let text = record.text();
    let message = text::after(text, OLDEST)?;
    let clauses = Sentence::Oldest.read(message);
    let rows = table(message);
    // Since the module is private it counts in units of 2^30, and since then its table says so.
    let counts_gib = text.contains("ray._private.") || rows.iter().any(|row| row.used.text.ends_with("GiB"));
    let mut told = Statement::of(record, &clauses, Some(if counts_gib { Bytes::GIB } else { Bytes(1_000_000_000) }));
    if !clauses.iter().any(|clause| matches!(clause, Clause::Node(_))) {
        return None;
    }
    let origin = record.origin();
    let command = |row: &ProcessRow<'_>| ray_title(row.command).map(str::to_owned);
    // `ray::Sampler.sample() (pid=4711, ip=10.0.0.1)`
    let task = text::after(text, TASK_HEAD).map(text::line).and_then(|task| task.split_once(" (pid="));
    let task_pid = task.and_then(|(_, behind)| integer::<_, ()>(behind).ok()).map(|(_, pid)| pid);
    let pid = task_pid.or(origin.pid);
    let own = rows.iter().find(|row| pid.map_or_else(|| command(row).is_some(), |pid| pid == row.pid));
    told.figures.extend(own.and_then(|row| record.figure(FigureName::WorkerUsed, row.used)));
    let victim = Victim {
        host: told.victim.host.clone(),
        pid: pid.or(own.map(|row| row.pid)),
        role: own
            .and_then(command)
            .or_else(|| task.and_then(|(title, _)| ray_title(title)).map(str::to_owned))
            .map(Into::into)
            .or_else(|| origin.role.clone()),
        ..Victim::default()
    };
    told.facts.extend(own.map(|row| record.fact("ray.victim", row.command)));
    told.facts.push(version_fact(record, "0.x", message));
    let evidence: Vec<&str> = text::each(message, " is used (").take(1).collect();
    Some(told.event(record, message, Severity::Fatal, vec![victim], &rows, &evidence))
}

/// The oldest message of which an excerpt kept only the head of the task's traceback.
fn head_alone(record: &Record) -> Option<Event> {
    let text = record.text();
    let head = text::line(text::after(text, TASK_HEAD).filter(|_| !text.contains(OLDEST))?);
    let (title, behind) = head.split_once(" (pid=")?;
    let (words, pid) = text::read(consumed(integer), behind)?;
    let host = text::after(behind, "ip=").map(|rest| text::token(rest, ",)").into());
    let role = ray_title(title).map(Into::into);
    let victim = Victim { pid: Some(pid), host, role, ..Victim::default() };
    let mut told = Statement::of(record, &[], None);
    told.figures.push(record.number(FigureName::VictimPid, words, f64::from(pid)));
    told.facts.push(version_fact(record, "0.x", head));
    Some(told.event(record, head, Severity::Fatal, vec![victim], &[], &[]))
}

/// The raylet's summary, printed once a minute. It counts workers killed for memory and those that crashed, and appears only if one was
/// killed for memory.
fn summary(record: &Record) -> Option<Event> {
    let message = count_before(record.text(), SUMMARY)?;
    let clauses = Sentence::Summary.read(message);
    let (words, count) = clauses.iter().find_map(|clause| match clause {
        Clause::Killed(words, count) if *count > 0 => Some((*words, *count)),
        _ => None,
    })?;
    let mut told = Statement::of(record, &clauses, None);
    told.facts.push(record.number_fact("ray.killed", words, f64::from(count)));
    let victims = vec![told.victim.clone()];
    Some(told.event(record, message, Severity::Fatal, victims, &[], &[]))
}

/// The end of a message whose head was cut off: chosen workers, rows of the table, the last paragraph.
fn remains(record: &Record) -> Option<Event> {
    let text = record.text();
    let advice = text.find(ADVICE).map(|at| &text[at..]).filter(|advice| !text::is_quoted(text, advice));
    let rows = table(text);
    let table = text.find(TABLE).filter(|_| !rows.is_empty()).map(|at| &text[at..]);
    let chosen = if text.contains(CHOSEN) { pieces::chosen(text) } else { Vec::new() };
    let proof = chosen.first().map(|worker| worker.row).or(advice).or(table)?;
    let mut told = Statement::of(record, &[], None);
    told.chosen(record, &chosen);
    let victims = chosen.iter().map(|worker| victim(worker, &Victim::default())).collect();
    Some(told.event(record, proof, Severity::Fatal, victims, &rows, &[]))
}

/// A task that failed because the monitor killed its worker, as its owner's log counts retries.
fn retry(record: &Record) -> Option<Event> {
    let text = record.text();
    let told = Statement::of(record, &[], None);
    if let Some((name, again)) = retried(text) {
        let severity = if again { Severity::Retried } else { Severity::Fatal };
        let victim = Victim { role: Some(name.into()), ..Victim::default() };
        return Some(told.event(record, name, severity, vec![victim], &[], &[]));
    }
    let (before, after) = text.split_once("oom retries left: ")?;
    let (left, failed) = after.split_once(", task failed due to oom: ")?;
    if failed.trim_end() != "1" {
        return None;
    }
    let id = text::token(text::after(before, "task ")?, "");
    let severity = if left == "0" { Severity::Fatal } else { Severity::Retried };
    let mut event = told.event(record, id, severity, Vec::new(), &[], &[]);
    event.facts.push(record.fact("ray.task_id", id));
    Some(event)
}

/// A worker's exit type, if nothing else of the message is left.
fn exit_type(record: &Record) -> Option<Event> {
    let text = record.text();
    let proof = ["exit type: ", "exit_type = ", "exits, type="].iter().find_map(|label| {
        let value = text::after(text, label)?;
        ["NODE_OUT_OF_MEMORY", "OUT_OF_MEMORY"]
            .iter()
            .find(|kind| value.starts_with(*kind))
            .map(|kind| &value[..kind.len()])
    })?;
    let pid = text::after(text, "Worker PID: ").and_then(|rest| text::token(rest, ",").parse().ok());
    let host = text::after(text, "Worker IP address: ").or_else(|| text::after(text, "address = "));
    let host = host.map(|rest| text::token(rest, ",").into());
    let victim = Victim { host, pid, ..Victim::default() };
    Some(Statement::of(record, &[], None).event(record, proof, Severity::Fatal, vec![victim], &[], &[]))
}

/// The rows of the table, one for each pid.
fn table(text: &str) -> Vec<ProcessRow<'_>> {
    let mut rows: Vec<ProcessRow<'_>> = Vec::new();
    for row in pieces::rows(text) {
        if !rows.iter().any(|known| known.pid == row.pid) {
            rows.push(row);
        }
    }
    rows
}

/// What a message states.
#[derive(Default)]
struct Statement<'a> {
    victim: Victim,
    name: Option<&'a str>,
    figures: Vec<Figure>,
    facts: Vec<Fact>,
}

impl<'a> Statement<'a> {
    /// What `clauses` state; amounts without a unit are counted in `unit`.
    fn of(record: &Record, clauses: &[Clause<'a>], unit: Option<Bytes>) -> Statement<'a> {
        let mut told = Statement::default();
        for clause in clauses {
            match *clause {
                Clause::Node(node) => {
                    told.victim.host = Some(node.into());
                    told.facts.push(record.fact("ray.node_ip", node));
                }
                Clause::TaskId(id) => told.facts.push(record.fact("ray.task_id", id)),
                Clause::Name(name) => {
                    told.victim.role = Some(name.into());
                    told.victim.rank = rank_in_name(name);
                    told.name = Some(name);
                }
                Clause::Pid(words, pid) => {
                    told.victim.pid = Some(pid);
                    told.figures.push(record.number(FigureName::VictimPid, words, f64::from(pid)));
                }
                Clause::Size(name, size) => told.figures.extend(record.figure(name, size)),
                Clause::Share(name, words, value) => told.figures.push(record.number(name, words, value)),
                Clause::Amount(name, words, amount) => {
                    let bytes = unit.and_then(|unit| Bytes::of(amount, unit));
                    told.figures.extend(record.figure(name, Size { text: words, bytes }));
                }
                Clause::Killed(..) | Clause::Words => {}
            }
        }
        told
    }

    /// Adds what the largest chosen worker used, and the first name among them.
    fn chosen(&mut self, record: &Record, chosen: &[Worker<'a>]) {
        self.figures.extend(chosen.first().and_then(|worker| record.figure(FigureName::WorkerUsed, worker.used)));
        let name = chosen.iter().find_map(|worker| worker.name);
        self.facts.extend(name.map(|name| record.fact("ray.victim", name)));
    }

    /// The shortage of the node's memory that `head` states. The process that prints it is not the one that was killed: if the message
    /// names nobody, the victim is unknown.
    fn event(
        mut self,
        record: &Record,
        head: &str,
        severity: Severity,
        victims: Vec<Victim>,
        rows: &[ProcessRow<'_>],
        evidence: &[&str],
    ) -> Event {
        let victims = if victims.is_empty() { vec![Victim::default()] } else { victims };
        let sum = rows.iter().filter_map(|row| row.used.bytes).sum::<Bytes>();
        self.facts.extend(rows.first().map(|row| record.number_fact("ray.sum_of_table", row.used.text, sum.0 as f64)));
        let consumers = rows.iter().filter_map(|row| consumer(record, row)).collect();
        let shortage = Shortage { kind: Kind::HostOomRay, severity, victims, consumers };
        let mut event = record.event("ray_monitor", head, What::Shortage(shortage));
        let lines = evidence.iter().copied().chain(rows.iter().take(2).map(|row| row.used.text));
        for line in lines.map(|line| record.cite_line_of(line)) {
            if line != event.at && !event.evidence.contains(&line) {
                event.evidence.push(line);
            }
        }
        event.figures = self.figures;
        event.facts = self.facts;
        event
    }
}

fn consumer(record: &Record, row: &ProcessRow<'_>) -> Option<Consumer> {
    let at = record.cite(row.used.text);
    let role = (!row.command.is_empty()).then(|| row.command.trim_end().to_owned());
    Some(Consumer { pid: Some(row.pid), role, bytes: row.used.bytes?, source: at.location, text: at.text })
}

#[cfg(test)]
mod tests;
