//! Slurm: how its step daemon, `srun` and the accounting report a job's end.
//!
//! Mirrors `src/slurmd/slurmstepd/mgr.c` and `req.c`, `src/plugins/task/cgroup/task_cgroup_memory.c`,
//! `src/interfaces/jobacct_gather.c`, `src/srun/libsrun/` (14.11–25.05), `sacct`, `scontrol`, `seff`. "Exceeded memory
//! limit at some point" is a counter of page-cache reclaims and proves nothing.

use nom::branch::alt;
use nom::bytes::complete::{tag, take_until, take_while1};
use nom::character::complete::one_of;
use nom::combinator::{opt, peek, recognize};
use nom::sequence::{delimited, preceded, separated_pair, terminated};
use nom::{IResult, Parser};

use super::text::{self, Size};
use super::{Example, Grammar, Record, clock, signals, statement};
use crate::model::{Bytes, Event, Exit, FigureName, Kind, OtherFailureName, Victim, What};

const PRODUCER: &str = "slurm";

/// A list of tasks longer than this names no victim.
const MOST_TASKS: u32 = 4096;

/// See the module.
pub struct Slurm;

impl Grammar for Slurm {
    fn producer(&self) -> &'static str {
        PRODUCER
    }

    fn anchors(&self) -> &'static [&'static str] {
        &["slurmstepd", "srun: error", "oom-kill event", "OUT_OF_ME"]
    }

    fn triggers(&self) -> &'static [&'static str] {
        &[
            "oom-kill event",
            "oom_kill event",
            "exceeded memory limit (",
            "exceeded virtual memory limit (",
            "Exceeded job memory limit",
            "Exceeded step memory limit",
            "srun: error: ",
            " CANCELLED AT ",
            "FAILED (non-zero exit code or other failure mode)",
            "OUT_OF_ME",
        ]
    }

    fn parse(&self, record: &Record) -> Vec<Event> {
        let event = oom_kill(record)
            .or_else(|| task(record))
            .or_else(|| over_limit(record))
            .or_else(|| at_some_point(record))
            .or_else(|| cancelled(record))
            .or_else(|| state(record));
        event.into_iter().collect()
    }

    fn examples(&self) -> &'static [Example] {
        EXAMPLES
    }
}

/// `Detected 1 oom_kill event in StepId=41003.0. Some of the step tasks have been OOM Killed.`, before 21.08 `Detected
/// 1 oom-kill event(s) in step 41003.batch cgroup.`: the kernel's counter of the step's memory cgroup.
fn oom_kill(record: &Record) -> Option<Event> {
    let words = text::line(text::spoken(record.text(), "Detected ").next()?);
    let (rest, kills) = kills(words).ok()?;
    let victim = Victim { host: record.origin().host.clone(), ..Victim::default() };
    let mut event = statement::shortage(record, PRODUCER, words, Kind::HostOomCgroup, victim);
    event.facts.push(record.number_fact("slurm.oom_kills", kills, kills.parse().ok()?));
    if let Ok((_, (job, step))) = step(rest) {
        event.facts.push(record.fact("slurm.job", job));
        event.facts.push(record.fact("slurm.step", step));
    }
    Some(event)
}

fn kills(words: &str) -> IResult<&str, &str> {
    let event = (tag(" oom"), one_of("-_"), tag("kill event"));
    terminated(preceded(tag("Detected "), text::digits), event).parse(words)
}

/// ` in StepId=41003.0.`, `(s) in step 41003.batch cgroup`
fn step(words: &str) -> IResult<&str, (&str, &str)> {
    let name = take_while1(|c: char| c.is_ascii_alphanumeric());
    let end = peek(alt((tag("."), tag(" "))));
    let (rest, _) =
        (opt(alt((tag("(s)"), tag("s")))), tag(" in "), alt((tag("StepId="), tag("step ")))).parse(words)?;
    terminated(separated_pair(text::digits, tag("."), name), end).parse(rest)
}

/// `srun: error: node07: task 3: Out Of Memory`, `srun: error: node07: tasks 0-3: Exited with exit code 1`
fn task(record: &Record) -> Option<Event> {
    let text = record.text();
    let words = text::line(text::spoken(text, "srun: error: ").next()?);
    let (end, (host, tasks)) = tasks(words).ok()?;
    let ranks = ranks(tasks);
    let victim = |rank| Victim { host: Some(host.into()), rank, ..Victim::default() };
    let mut event = if end.starts_with("Out Of Memory") {
        let mut event = statement::shortage(record, PRODUCER, words, Kind::HostOomCgroup, victim(None));
        if let What::Shortage(shortage) = &mut event.what {
            let known = ranks.iter().map(|rank| victim(Some(*rank)));
            shortage.victims = if ranks.is_empty() { vec![victim(None)] } else { known.collect() };
        }
        event
    } else {
        let lone = ranks.first().copied().filter(|_| ranks.len() == 1);
        statement::ended(record, PRODUCER, words, exit(end)?, victim(lone))
    };
    event.facts.push(record.fact("slurm.tasks", tasks));
    Some(event)
}

fn tasks(words: &str) -> IResult<&str, (&str, &str)> {
    let host = delimited(tag("srun: error: "), take_until(": "), tag(": "));
    let tasks = delimited(alt((tag("tasks "), tag("task "))), take_until(": "), tag(": "));
    (host, tasks).parse(words)
}

/// `3`, `0-3,7`
fn ranks(tasks: &str) -> Vec<u32> {
    let range = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        (last.saturating_sub(first) < MOST_TASKS).then_some(first..=last)
    };
    tasks.split(',').filter_map(range).flatten().take(MOST_TASKS as usize).collect()
}

/// `Killed`, `Exited with exit code 137`
fn exit(end: &str) -> Option<Exit> {
    let status = |end| preceded(tag("Exited with exit code "), signals::status).parse(end).ok();
    let status: Option<(&str, (&str, i32))> = status(end);
    let signal = signals::description(end).ok().map(|(_, signal)| Exit::Signal(signal));
    status.map(|(_, (_, status))| Exit::from_status(status)).or(signal)
}

/// `StepId=41003.0 exceeded memory limit (112742891520 > 107374182400), being killed`: Slurm's own polling, not the
/// kernel.
fn over_limit(record: &Record) -> Option<Event> {
    let text = record.text();
    let subject = ["StepId=", "Job ", "Step "].iter().find_map(|head| text::spoken(text, head).next());
    let words = subject.map(text::line)?;
    let (_, (_, kind, used, limit)) = limits(words).ok()?;
    let victim = Victim { host: record.origin().host.clone(), ..Victim::default() };
    let mut event = statement::shortage(record, PRODUCER, words, Kind::HostOomUserspace, victim);
    let names = match kind {
        "memory" => [FigureName::MemcgUsage, FigureName::MemcgLimit],
        _ => [FigureName::Other, FigureName::Other],
    };
    let unit = unit(limit.parse().ok()?);
    for (name, words) in names.into_iter().zip([used, limit]) {
        let bytes = unit.and_then(|unit| Bytes::of(words.parse().ok()?, unit));
        event.figures.extend(record.figure(name, Size { text: words, bytes }));
    }
    let job = words.trim_start_matches(|c: char| !c.is_ascii_digit());
    event.facts.push(record.fact("slurm.job", text::token(job, ".")));
    Some(event)
}

/// The unit of `limit`: bytes from 17.11 on, KiB before. A step's limit is at least 64 MiB and a whole number of MiB. So a number that is
/// too small or no multiple of a MiB counts KiB, a large one counts bytes, and between them the unit is unknown.
fn unit(limit: u64) -> Option<Bytes> {
    const LEAST: u64 = 64 << 20;
    const SURELY_BYTES: u64 = 1 << 30;
    match limit {
        limit if limit >= SURELY_BYTES => Some(Bytes(1)),
        limit if limit < LEAST => Some(Bytes::KIB),
        limit if limit % (1 << 20) != 0 && limit % (1 << 10) == 0 => Some(Bytes::KIB),
        _ => None,
    }
}

fn limits(words: &str) -> IResult<&str, (&str, &str, &str, &str)> {
    let subject = recognize((alt((tag("StepId="), tag("Job "), tag("Step "))), take_until(" exceeded ")));
    let kind = delimited(tag(" exceeded "), alt((tag("memory"), tag("virtual memory"))), tag(" limit ("));
    let used = terminated(text::digits, (opt(tag(" ")), tag(">"), opt(tag(" "))));
    (subject, kind, used, terminated(text::digits, tag(")"))).parse(words)
}

/// `Exceeded job memory limit` reports a kill by Slurm itself; `… at some point.` does not.
fn at_some_point(record: &Record) -> Option<Event> {
    let text = record.text();
    let heads = ["Exceeded job memory limit", "Exceeded step memory limit"];
    let words = heads.iter().find_map(|head| text::spoken(text, head).next()).map(text::line)?;
    let mut event = match words.len() == heads[0].len() || words.len() == heads[1].len() {
        true => {
            let victim = Victim { host: record.origin().host.clone(), ..Victim::default() };
            statement::shortage(record, PRODUCER, words, Kind::HostOomUserspace, victim)
        }
        false => statement::notice(record, PRODUCER, words),
    };
    event.facts.push(record.fact("slurm.limit_reached", words));
    Some(event)
}

/// `*** JOB 41003 ON node1 CANCELLED AT 2026-03-01T10:00:00 DUE TO TIME LIMIT ***`
fn cancelled(record: &Record) -> Option<Event> {
    let text = record.text();
    let words = text::spoken(text, "*** ").map(text::line).find(|words| notification(words).is_ok())?;
    let (reason, (entity, id, at)) = notification(words).ok()?;
    let of_step = entity == "STEP";
    let reasons = [
        ("DUE TO TIME LIMIT", OtherFailureName::TimeLimit),
        ("DUE TO PREEMPTION", OtherFailureName::Preempted),
        ("DUE TO JOB REQUEUE", OtherFailureName::Preempted),
        ("DUE TO NODE", OtherFailureName::LostNode),
        ("FAILED (", OtherFailureName::Unknown),
    ];
    let named = reasons.iter().find(|(because, _)| reason.contains(because)).map(|(_, name)| *name);
    let name = named.unwrap_or(OtherFailureName::Cancelled);
    // A step is cancelled when one of its tasks failed.
    let follows = of_step && !reason.contains("DUE TO ");
    let mut event = match follows {
        true => statement::consequence(record, PRODUCER, words, name),
        false => statement::failure(record, PRODUCER, words, name),
    };
    event.time = event.time.or(clock::iso(at).ok().map(|(_, time)| time));
    event.facts.push(record.fact("slurm.job", text::token(id, ".")));
    Some(event)
}

/// Returns the rest, which holds the reason, and the entity, its id and the time.
fn notification(words: &str) -> IResult<&str, (&str, &str, &str)> {
    let entity = alt((tag("JOB"), tag("STEP")));
    let id = take_while1(|c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_');
    let (rest, (entity, id)) = preceded(tag("*** "), separated_pair(entity, tag(" "), id)).parse(words)?;
    let (rest, _) = opt((tag(" ON "), take_until(" "))).parse(rest)?;
    let (reason, at) = alt((
        preceded(tag(" CANCELLED AT "), take_while1(|c: char| c.is_ascii_alphanumeric() || "-:".contains(c))),
        peek(tag(" FAILED (")),
    ))
    .parse(rest)?;
    Ok((reason, (entity, id, at)))
}

/// `JobState=OUT_OF_MEMORY`, `State: OUT_OF_MEMORY (exit code 0)`, a row of `sacct`: `41003.batch  batch  OUT_OF_ME+
/// 0:125`.
fn state(record: &Record) -> Option<Event> {
    let text = text::line(record.text());
    let state = text.split(|c: char| c.is_whitespace() || "|=,".contains(c)).find(|word| {
        let name = word.strip_suffix('+').unwrap_or(word);
        name.len() >= "OUT_OF_ME".len() && "OUT_OF_MEMORY".starts_with(name)
    })?;
    let before = text::before(text, state).trim_end();
    let first = text::token(text.trim_start(), "|");
    let behind_id = first.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_row = behind_id.len() < first.len() && (behind_id.is_empty() || behind_id.starts_with(['.', '_', '+']));
    if !is_row && !before.ends_with("State=") && !before.ends_with("State:") {
        return None;
    }
    let mut event = statement::shortage(record, PRODUCER, text, Kind::HostOomCgroup, Victim::default());
    event.facts.push(record.fact("slurm.state", state));
    event.facts.extend(is_row.then(|| record.fact("slurm.job", text::token(first, "."))));
    Some(event)
}

const EXAMPLES: &[Example] = &[
    Example {
        version: "Slurm ≥21.08",
        text: "slurmstepd: error: Detected 1 oom_kill event in StepId=41003.0. Some of the step tasks have been OOM Killed.\nsrun: error: node07: task 3: Out Of Memory",
        states: &[
            ("kind", "host_oom_cgroup"),
            ("slurm.oom_kills", "1"),
            ("slurm.job", "41003"),
            ("slurm.step", "0"),
            ("host", "node07"),
            ("rank", "3"),
        ],
    },
    Example {
        version: "Slurm ≥21.08, several daemons on a node",
        text: "slurmstepd-node07: error: Detected 2 oom_kill events in StepId=41003.extern. Some of the step tasks have been OOM Killed.",
        states: &[("kind", "host_oom_cgroup"), ("host", "node07"), ("slurm.step", "extern")],
    },
    Example {
        version: "Slurm 17.11–20.11",
        text: "slurmstepd: error: Detected 1 oom-kill event(s) in step 41003.batch cgroup. Some of your processes may have been killed by the cgroup out-of-memory handler.",
        states: &[("kind", "host_oom_cgroup"), ("slurm.job", "41003"), ("slurm.step", "batch")],
    },
    Example {
        version: "Slurm 20.02–21.08, behind other output",
        text: "epoch 12 loss 1.7 (204.5)srun: error: node07: tasks 0-1,3: Out Of Memory\nerror: Detected 1 oom-kill event(s) in StepId=41003.0. Some of your processes may have been killed by the cgroup out-of-memory handler.",
        states: &[("kind", "host_oom_cgroup"), ("rank", "0"), ("rank", "1"), ("rank", "3"), ("slurm.tasks", "0-1,3")],
    },
    Example {
        version: "Slurm ≥17.11, its own polling",
        text: "slurmstepd: error: StepId=41003.0 exceeded memory limit (112742891520 > 107374182400), being killed",
        states: &[
            ("kind", "host_oom_userspace"),
            ("memcg_usage", "112742891520"),
            ("memcg_limit", "107374182400"),
            ("slurm.job", "41003"),
        ],
    },
    Example {
        version: "Slurm 14–17.02, its own polling, in KiB",
        text: "slurmstepd: error: Job 41003 exceeded memory limit (33604124 > 33554432), being killed\nslurmstepd: error: Exceeded job memory limit",
        states: &[("kind", "host_oom_userspace"), ("memcg_limit", "33554432")],
    },
    Example {
        version: "Slurm 14–19, a counter of page-cache reclaims",
        text: "slurmstepd: error: Exceeded step memory limit at some point.",
        states: &[("slurm.limit_reached", "Exceeded step memory limit at some point.")],
    },
    Example {
        version: "Slurm ≥16.05, behind a progress bar",
        text: " 30%|███       | 12/40 [2:00:12<4:40:28, 601.02s/it]slurmstepd: error: *** JOB 41003 ON node1 CANCELLED AT 2026-03-01T10:00:00 DUE TO TIME LIMIT ***",
        states: &[("failure", "time_limit"), ("slurm.job", "41003")],
    },
    Example {
        version: "Slurm ≥16.05",
        text: "slurmstepd: error: *** STEP 41003.0 ON node1 CANCELLED AT 2026-03-01T10:00:00 DUE TO PREEMPTION ***",
        states: &[("failure", "preempted")],
    },
    Example {
        version: "Slurm 14–15",
        text: "slurmstepd: error: *** JOB 41003 CANCELLED AT 2026-03-01T10:00:00 *** on node1",
        states: &[("failure", "cancelled")],
    },
    Example {
        version: "srun",
        text: "srun: error: node07: task 0: Killed\nsrun: error: node08: task 1: Exited with exit code 137\nsrun: error: node09: tasks 2-3: Exited with exit code 1",
        states: &[("exit", "signal 9"), ("host", "node07"), ("rank", "1"), ("exit", "code 1"), ("slurm.tasks", "2-3")],
    },
    Example {
        version: "sacct",
        text: "JobID           JobName  Partition    Account  AllocCPUS      State ExitCode\n41003.batch       batch                  lab            8 OUT_OF_ME+    0:125",
        states: &[("kind", "host_oom_cgroup"), ("slurm.state", "OUT_OF_ME+"), ("slurm.job", "41003")],
    },
    Example {
        version: "scontrol show job",
        text: "   JobState=OUT_OF_MEMORY Reason=OutOfMemory Dependency=(null)",
        states: &[("kind", "host_oom_cgroup"), ("slurm.state", "OUT_OF_MEMORY")],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::testing;

    fn states(text: &str) -> Vec<String> {
        let states = testing::read(text.as_bytes()).into_iter().filter_map(|event| match event.what {
            What::Shortage(shortage) => Some(shortage.kind.to_string()),
            What::Failure(failure) => {
                Some(format!("{}{}", failure.name, if failure.follows { " follows" } else { "" }))
            }
            What::Death(death) => Some(format!("{:?}", death.exit)),
            _ => None,
        });
        states.collect()
    }

    #[test]
    fn a_counter_is_no_kill() {
        assert_eq!(states("slurmstepd: error: Exceeded job memory limit at some point."), Vec::<String>::new());
        assert_eq!(states("slurmstepd: error: Exceeded job memory limit"), ["host_oom_userspace"]);
    }

    #[test]
    fn a_step_is_cancelled_because_of_a_task() {
        let step = "slurmstepd: error: *** STEP 41003.0 ON node1 CANCELLED AT 2026-03-01T10:00:00 ***";
        assert_eq!(states(step), ["cancelled follows"]);
        assert_eq!(states(&step.replace("STEP 41003.0", "JOB 41003")), ["cancelled"]);
        let node = step.replace("00 ***", "00 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***");
        assert_eq!(states(&node), ["lost_node"]);
        assert_eq!(
            states("*** STEP 41003.0 ON node1 FAILED (non-zero exit code or other failure mode) ***"),
            ["unknown follows"]
        );
    }

    #[test]
    fn an_amount_of_unknown_unit_is_none() {
        let text = "slurmstepd: error: Job 41003 exceeded memory limit (534288000 > 524288000), being killed";
        assert!(testing::read(text.as_bytes())[0].figures.is_empty());
        assert_eq!(states(text), ["host_oom_userspace"]);
    }

    #[test]
    fn what_is_cut_off_is_not_invented() {
        assert_eq!(
            states("slurmstepd: error: Job 41003 exceeded memory limit (534288000 > 5242"),
            Vec::<String>::new()
        );
        assert_eq!(states("srun: error: node07: task 3: Out Of"), Vec::<String>::new());
        let cut = testing::read(b"slurmstepd: error: Detected 1 oom_kill event in StepId=4100");
        assert!(cut[0].facts.iter().all(|fact| fact.key != "slurm.job"));
    }

    #[test]
    fn a_mention_is_no_event() {
        for line in [
            "The state OUT_OF_MEMORY means that the job was killed",
            "srun: error: Unable to allocate resources: Invalid qos specification",
            "a job may be shown as CANCELLED AT once",
        ] {
            assert_eq!(states(line), Vec::<String>::new(), "{line}");
        }
    }
}
