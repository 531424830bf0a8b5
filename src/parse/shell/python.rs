//! Ended child processes, as exceptions of Python's libraries report them.
//!
//! Mirrors CPython's `subprocess.py` and `concurrent/futures/process.py` (3.6–3.14), torch's
//! `utils/data/_utils/signal_handling.py`, `utils/data/dataloader.py` and `multiprocessing/spawn.py` (0.4–2.15),
//! Paddle's `fluid/imperative/data_loader.cc` (2.0–3.0), joblib's loky, datasets' `utils/py_utils.py`, vLLM's `multiproc_executor.py` and `multiproc_worker_utils.py`.

use nom::branch::alt;
use nom::bytes::complete::{tag, take_until, take_while1};
use nom::character::complete::space0;
use nom::combinator::opt;
use nom::multi::separated_list1;
use nom::sequence::{delimited, preceded, terminated};
use nom::{IResult, Parser};

use super::{PRODUCER, death};
use crate::model::{Event, Exit, Fact, FactValue, Victim, What};
use crate::parse::{Record, signals, statement, text};

/// The ends of child processes that the record states.
pub(super) fn events(record: &Record) -> Vec<Event> {
    let loader = data_loader(record);
    if !loader.is_empty() {
        return loader;
    }
    let event = subprocess(record).or_else(|| spawned(record)).or_else(|| worker(record)).or_else(|| pool(record));
    event.into_iter().collect()
}

/// `DataLoader worker (pid 4711) is killed by signal: Killed.`, `DataLoader worker (pid(s) 4711, 4712) exited unexpectedly`; Paddle's
/// `DataLoader process (pid 4711) exited is killed by signal: Killed.` A bus error is a shortage of shared memory and is read elsewhere.
fn data_loader(record: &Record) -> Vec<Event> {
    let heads = ["DataLoader worker (pid", "DataLoader process (pid"];
    let words = heads.iter().find_map(|head| text::spoken(record.text(), head).next()).map(text::line);
    let Some((words, (pids, exit))) = words.and_then(|words| Some((words, loader(words).ok()?.1))) else {
        return Vec::new();
    };
    let death = |pid: &&str| {
        let mut event = death(record, words, exit, Some(pid));
        if let What::Death(death) = &mut event.what {
            death.victim = statement::worker(record, death.victim.pid);
        }
        let value = FactValue::Text("yes".to_owned());
        event.facts.push(Fact { value, ..record.fact("python.data_loader", words) });
        event
    };
    pids.iter().filter(|_| exit != Exit::Signal(7)).map(death).collect()
}

fn loader(words: &str) -> IResult<&str, (Vec<&str>, Exit)> {
    // People blank pids: `(pid xxx)`.
    let pid = take_while1(|c: char| c.is_ascii_alphanumeric() || "*#.<>".contains(c));
    let pids = separated_list1(tag(", "), preceded(space0, pid));
    let pids = delimited(alt((tag("(pid "), tag("(pid(s) "))), pids, tag(") "));
    let killed = preceded(opt(tag("exited ")), tag("is killed by signal: "));
    let signal = preceded(killed, signals::signal).map(Exit::Signal);
    let codes = alt((tag("exited unexpectedly with exit code "), tag("exited unexpectedly with code ")));
    let code = preceded(codes, signals::status);
    let code = code.map(|(_, status)| Exit::from_status(status));
    // The signal of a line that was cut is not known.
    let gone = alt((tag("exited unexpectedly"), tag("is killed by signal"))).map(|_| Exit::Vanished);
    let name = alt((tag("DataLoader worker "), tag("DataLoader process ")));
    (preceded(name, pids), alt((signal, code, gone))).parse(words)
}

/// `subprocess.CalledProcessError: Command '['torchrun', …]' died with <Signals.SIGKILL: 9>.`, `… returned non-zero
/// exit status 1.`
fn subprocess(record: &Record) -> Option<Event> {
    let text = record.text();
    let heads = ["died with <Signals.", "returned non-zero exit status "];
    let words = heads.iter().find_map(|head| text::each(text, head).next()).map(text::line)?;
    let before = text::before(text, words).trim_end();
    let is_message = before.contains("Command ") && before.ends_with(['\'', '"', ']', ')']);
    let (_, exit) = ended(words).ok().filter(|_| is_message)?;
    let mut event = death(record, words, exit, None);
    if let What::Death(death) = &mut event.what {
        death.victim.rank = statement::only_rank(before);
    }
    Some(event)
}

fn ended(words: &str) -> IResult<&str, Exit> {
    let signal = delimited(tag("died with <Signals."), signals::name, tag(":")).map(Exit::Signal);
    let status = delimited(tag("returned non-zero exit status "), signals::status, tag("."));
    alt((signal, status.map(|(_, status)| Exit::from_status(status)))).parse(words)
}

/// `torch.multiprocessing.spawn.ProcessExitedException: process 0 terminated with signal SIGKILL`
fn spawned(record: &Record) -> Option<Event> {
    let words = text::spoken(record.text(), "process ").map(text::line).find(|words| process(words).is_ok())?;
    let (_, (index, exit)) = process(words).ok()?;
    let mut event = death(record, words, exit, None);
    event.facts.push(record.number_fact("python.process_index", index, index.parse().ok()?));
    Some(event)
}

fn process(words: &str) -> IResult<&str, (&str, Exit)> {
    let index = delimited(tag("process "), text::digits, tag(" terminated with "));
    let signal = preceded(tag("signal "), signals::name).map(Exit::Signal);
    let code = preceded(tag("exit code "), signals::status).map(|(_, status)| Exit::from_status(status));
    (index, alt((signal, code))).parse(words)
}

/// `Worker proc VllmWorker-1 died unexpectedly (exit code: -9), shutting down executor.`, `Worker VllmWorkerProcess pid
/// 4711 died, exit code: -15`
fn worker(record: &Record) -> Option<Event> {
    let words = text::spoken(record.text(), "Worker ").map(text::line).find(|words| engine_worker(words).is_ok())?;
    let (_, (role, pid, exit)) = engine_worker(words).ok()?;
    let victim = Victim { role: Some(role.into()), ..statement::neighbour(record, pid.parse().ok()) };
    Some(statement::death(record, PRODUCER, words, exit, victim))
}

fn engine_worker(words: &str) -> IResult<&str, (&str, &str, Exit)> {
    let status = |text| signals::status.map(|(_, status)| Exit::from_status(status)).parse(text);
    let code = delimited(tag(" died unexpectedly (exit code: "), status, tag(")"));
    let gone = tag(" died unexpectedly").map(|_| Exit::Vanished);
    let new = (preceded(tag("Worker proc "), take_until(" died")), alt((code, gone)));
    let pid = terminated(text::digits, tag(" died, exit code: "));
    let old = (preceded(tag("Worker "), terminated(take_until(" pid "), tag(" pid "))), pid, status);
    alt((new.map(|(role, exit)| (role, "", exit)), old)).parse(words)
}

/// loky's message about a lost worker, and the beginning of the line with the exit codes.
pub(super) const POOL_WORKER: &str = "A worker process managed by the executor was unexpectedly terminated";
pub(super) const EXIT_CODES: &str = "The exit codes of the workers are {";

/// Process pools that lost a worker.
fn pool(record: &Record) -> Option<Event> {
    const GONE: [&str; 3] = [
        "A process in the process pool was terminated abruptly",
        "A child process terminated abruptly, the process pool is not usable",
        POOL_WORKER,
    ];
    const SUBPROCESS: &str = "One of the subprocesses has";
    const MAPPED: &str = "abruptly died during map operation";
    let text = record.text();
    // loky: `The exit codes of the workers are {SIGKILL(-9), SIGTERM(-15)}`
    if let Some(words) = text::spoken(text, EXIT_CODES)
        .next()
        .or_else(|| text::each(text, EXIT_CODES).find(|_| GONE.iter().any(|gone| text.contains(gone))))
    {
        let codes = words.split(|c| "(){}".contains(c)).filter_map(|code| code.parse().ok());
        let exits: Vec<Exit> = codes.map(Exit::from_status).collect();
        let kill = exits.iter().find(|exit| **exit == Exit::KILL);
        return kill.or(exits.first()).map(|exit| death(record, text::line(words), *exit, None));
    }
    let mapped = || text::spoken(text, SUBPROCESS).find(|words| text::line(words).contains(MAPPED));
    let words = GONE.iter().find_map(|head| text::spoken(text, head).next()).or_else(mapped)?;
    Some(death(record, text::line(words), Exit::Vanished, None))
}
