//! DeepSpeed's launcher, and `torch.distributed.launch` that it was made from.
//!
//! Mirrors `deepspeed/launcher/launch.py` (0.3–0.19), `torch/distributed/launch.py` (≤1.8), pdsh's messages of remote commands. The handler
//! is always called `sigkill_handler`: its name and `Killing subprocess` say only that some child ended with a status other than 0. The
//! status follows the command; the command is that of the last child spawned, not of the one that failed.

use nom::bytes::complete::{tag, take_until};
use nom::character::complete::u32 as integer;
use nom::sequence::{delimited, preceded, terminated};
use nom::{IResult, Parser};

use super::{Example, Follow, Grammar, Joint, Line, Record, signals, statement, text};
use crate::model::{Death, Event, Exit, FigureName, OtherFailureName, Victim, What};

const PRODUCER: &str = "deepspeed_launcher";
const KILLING: &str = "Killing subprocess ";
const STATUS: &str = "exits with return code = ";

/// Most lines of other output between two lines of the handler, which waits for each child to end.
const LONGEST_PAUSE: u64 = 200;

/// See the module.
pub struct DeepSpeedLauncher;

impl Grammar for DeepSpeedLauncher {
    fn producer(&self) -> &'static str {
        PRODUCER
    }

    fn anchors(&self) -> &'static [&'static str] {
        &["Killing subprocess"]
    }

    fn triggers(&self) -> &'static [&'static str] {
        &[
            KILLING,
            STATUS,
            " exits successfully.",
            "Main process received SIG",
            "ssh exited with exit code",
            " spawned with command: [",
        ]
    }

    fn is_multiline(&self) -> bool {
        true
    }

    fn follows(&self, record: &Record, next: &Line<'_>) -> Follow {
        let ended = !record.text().contains(KILLING) || record.last_line().contains(STATUS);
        if ended || next.number.0 > record.last_number().0 + LONGEST_PAUSE {
            return Follow::End;
        }
        match next.body().contains(KILLING) || next.body().contains(STATUS) {
            true => Follow::Join(Joint::Line),
            false => Follow::Pass,
        }
    }

    fn parse(&self, record: &Record) -> Vec<Event> {
        if record.text().contains(KILLING) || record.text().contains(STATUS) {
            return children(record);
        }
        spawned(record).or_else(|| finished(record)).or_else(|| told_to_stop(record)).into_iter().collect()
    }

    fn examples(&self) -> &'static [Example] {
        EXAMPLES
    }
}

/// The ends of the launcher's children.
fn children(record: &Record) -> Vec<Event> {
    let text = record.text();
    let killed: Vec<(&str, &str)> =
        text::spoken(text, KILLING).filter_map(|words| killed(words).ok()).map(|(_, killed)| killed).collect();
    let failed = text::each(text, STATUS).find_map(|words| {
        // The command before it is a printed list; if the line was cut or wrapped, nothing of it may be left.
        let before = text::before(text, words).trim_end();
        let (_, (_, status)) = preceded(tag(STATUS), signals::status).parse(words).ok()?;
        (before.is_empty() || before.ends_with([']', '\'', '"'])).then_some((text::line(words), before, status))
    });
    let lone = killed.len() == 1 && failed.is_some();
    let mut events = Vec::new();
    for (words, pid) in killed.iter().filter(|_| !lone) {
        let number = pid.parse().ok();
        let mut event = statement::death(record, PRODUCER, words, Exit::Stopped, statement::neighbour(record, number));
        event.figures.extend(number.map(|number| record.number(FigureName::VictimPid, words, f64::from(number))));
        events.push(event);
    }
    let Some((words, command, status)) = failed else { return events };
    let only = killed.first().filter(|_| lone);
    let pid: Option<u32> = only.and_then(|(_, pid)| pid.parse().ok());
    let rank = statement::local_rank(command);
    let victim = Victim { rank: statement::only_rank(command), ..statement::neighbour(record, pid) };
    let what = What::Death(Death { exit: Exit::from_status(status), victim, first: true });
    let mut death = statement::event(record, PRODUCER, words, what);
    if let (Some((words, _)), Some(pid)) = (only, pid) {
        death.figures.push(record.number(FigureName::VictimPid, words, f64::from(pid)));
    }
    death
        .facts
        .extend(rank.and_then(|rank| Some(record.number_fact("deepspeed.last_local_rank", rank, rank.parse().ok()?))));
    events.push(death);
    // An only child is the last one that was spawned.
    events.extend(only.zip(rank).and_then(|((_, pid), rank)| statement::launched(record, PRODUCER, pid, rank)));
    events
}

/// `Killing subprocess 4711`: the words, the pid.
fn killed(words: &str) -> IResult<&str, (&str, &str)> {
    let (rest, pid) = preceded(tag(KILLING), text::digits).parse(words)?;
    Ok((rest, (&words[..words.len() - rest.len()], pid)))
}

/// `process 4711 spawned with command: ['/usr/bin/python', '-u', 'train.py', '--local_rank=0']`
fn spawned(record: &Record) -> Option<Event> {
    let words = text::line(text::spoken(record.text(), "process ").next()?);
    let (command, pid) = spawn(words).ok()?;
    statement::launched(record, PRODUCER, pid, statement::local_rank(command)?)
}

fn spawn(words: &str) -> IResult<&str, &str> {
    delimited(tag("process "), text::digits, tag(" spawned with command: [")).parse(words)
}

/// `Process 4711 exits successfully.`
fn finished(record: &Record) -> Option<Event> {
    let words = text::line(text::spoken(record.text(), "Process ").next()?);
    success(words).ok()?;
    Some(statement::event(record, PRODUCER, words, What::Finished))
}

fn success(words: &str) -> IResult<&str, u32> {
    delimited(tag("Process "), integer, tag(" exits successfully")).parse(words)
}

/// `Main process received SIGTERM, exiting`, `pdsh@head: node3: ssh exited with exit code 137`
fn told_to_stop(record: &Record) -> Option<Event> {
    let text = record.text();
    if let Some(words) = text::spoken(text, "Main process received ").next().map(text::line) {
        let (_, signal) = signals::name(&words["Main process received ".len()..]).ok()?;
        return Some(match signal {
            2 => statement::failure(record, PRODUCER, words, OtherFailureName::Cancelled),
            _ => statement::death(record, PRODUCER, words, Exit::Signal(signal), statement::neighbour(record, None)),
        });
    }
    let (_, (host, status)) = remote(text).ok()?;
    let victim = Victim { host: Some(host.into()), ..Victim::default() };
    Some(statement::death(record, PRODUCER, text::line(text), Exit::from_status(status), victim))
}

fn remote(text: &str) -> IResult<&str, (&str, i32)> {
    let (rest, _) = (tag("pdsh@"), take_until(": "), tag(": ")).parse(text)?;
    let (rest, host) = terminated(take_until(": "), tag(": ssh exited with exit code ")).parse(rest)?;
    let (rest, (_, status)) = signals::status(rest)?;
    Ok((rest, (host, status)))
}

const EXAMPLES: &[Example] = &[
    Example {
        version: "deepspeed 0.3–0.19",
        text: "[2026-03-01 10:39:58,000] [INFO] [launch.py:319:sigkill_handler] Killing subprocess 5101\n[2026-03-01 10:39:58,100] [INFO] [launch.py:319:sigkill_handler] Killing subprocess 5102\n[2026-03-01 10:40:00,000] [ERROR] [launch.py:325:sigkill_handler] ['/usr/bin/python', '-u', 'train.py', '--local_rank=1', '--deepspeed', 'ds.json'] exits with return code = -9",
        states: &[
            ("exit", "stopped"),
            ("pid", "5102"),
            ("victim_pid", "Killing subprocess 5102"),
            ("exit", "signal 9"),
            ("deepspeed.last_local_rank", "1"),
        ],
    },
    Example {
        version: "deepspeed 0.3–0.19, one process: it is the one that failed",
        text: "[2026-03-01 10:39:58,000] [INFO] [launch.py:319:sigkill_handler] Killing subprocess 5101\n[2026-03-01 10:40:00,000] [ERROR] [launch.py:325:sigkill_handler] ['/usr/bin/python', '-u', 'train.py', '--local_rank=0'] exits with return code = -9",
        states: &[
            ("exit", "signal 9"),
            ("pid", "5101"),
            ("victim_pid", "Killing subprocess 5101"),
            ("launcher.pid", "5101"),
            ("launcher.local_rank", "0"),
        ],
    },
    Example {
        version: "deepspeed ≥0.9, multi-node",
        text: "node3: [2026-03-01 10:40:00,000] [INFO] [launch.py:253:main] process 5101 spawned with command: ['/usr/bin/python', '-u', 'train.py', '--local_rank=3']\nnode3: [2026-03-01 10:40:00,000] [INFO] [launch.py:319:sigkill_handler] Killing subprocess 5101\nnode3: [2026-03-01 10:40:00,000] [INFO] [launch.py:319:sigkill_handler] Killing subprocess 5102\nnode3: [2026-03-01 10:40:00,000] [ERROR] [launch.py:325:sigkill_handler] ['/usr/bin/python', '-u', 'train.py', '--local_rank=7'] exits with return code = 1\npdsh@head: node3: ssh exited with exit code 1",
        states: &[
            ("launcher.pid", "5101"),
            ("launcher.local_rank", "3"),
            ("exit", "code 1"),
            ("host", "node3"),
            ("deepspeed.last_local_rank", "7"),
        ],
    },
    Example {
        version: "torch.distributed.launch ≤1.8",
        text: "Killing subprocess 5101\nKilling subprocess 5102\nTraceback (most recent call last):",
        states: &[("exit", "stopped"), ("pid", "5101"), ("pid", "5102")],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::testing;

    fn exits(text: &str) -> Vec<(Exit, Option<u32>)> {
        let exits = testing::read(text.as_bytes()).into_iter().filter_map(|event| match event.what {
            What::Death(death) => Some((death.exit, death.victim.pid)),
            What::Finished => Some((Exit::Code(0), None)),
            _ => None,
        });
        exits.collect()
    }

    #[test]
    fn the_ends_that_are_none_of_a_child() {
        let log = |words: &str| format!("[2026-03-01 10:40:00,000] [INFO] [launch.py:460:main] {words}");
        assert_eq!(exits(&log("Process 5101 exits successfully.")), [(Exit::Code(0), None)]);
        assert_eq!(exits(&log("Main process received SIGTERM, exiting")), [(Exit::Signal(15), None)]);
        let cancelled = testing::read(log("Main process received SIGINT, exiting").as_bytes());
        assert!(matches!(&cancelled[0].what, What::Failure(failure) if failure.name == OtherFailureName::Cancelled));
        assert_eq!(exits("pdsh@head: node3: ssh exited with exit code 137"), [(Exit::KILL, None)]);
    }

    #[test]
    fn other_output_between_the_lines_changes_nothing() {
        let text = "Killing subprocess 5101\nwandb: Waiting for the process to finish\n['/usr/bin/python', '--local_rank=0'] exits with return code = 247";
        assert_eq!(exits(text), [(Exit::KILL, Some(5101))]);
    }

    #[test]
    fn what_is_cut_off_is_not_invented() {
        assert_eq!(exits("Killing subprocess "), []);
        assert_eq!(exits("['/usr/bin/python', '--local_rank=0', '--num_wor"), []);
        assert_eq!(exits("['/usr/bin/python'] exits with return code = "), []);
    }

    #[test]
    fn a_mention_is_no_event() {
        assert_eq!(exits("When it exits with return code = -9 the host is out of memory"), []);
        assert_eq!(exits("    logger.info(f\"Killing subprocess {process.pid}\")"), []);
    }
}
