//! Shells and simple launchers that report only that a process ended.
//!
//! Mirrors bash's `jobs.c` and `nojobs.c` (4–5), zsh's `jobs.c`, GNU time, PyCharm's console, Open MPI's `orterun`, MPICH's hydra,
//! text-generation-launcher; exceptions of Python's libraries about a child are read by [`python`]. None of them says why the process
//! ended.

use std::sync::LazyLock;

use nom::branch::alt;
use nom::bytes::complete::{tag, take_till, take_until, take_while, take_while1};
use nom::character::complete::{multispace1, space0, space1, u32 as integer};
use nom::combinator::{eof, opt};
use nom::sequence::{delimited, preceded, separated_pair, terminated};
use nom::{IResult, Offset, Parser};

use super::{Example, Follow, Grammar, Joint, Line, Record, signals, statement, text};
use crate::model::{Event, Exit, FigureName, Victim};

mod examples;
mod python;

const PRODUCER: &str = "shell";

/// See the module.
pub struct Shell;

impl Grammar for Shell {
    fn producer(&self) -> &'static str {
        PRODUCER
    }

    fn triggers(&self) -> &'static [&'static str] {
        &TRIGGERS
    }

    fn is_multiline(&self) -> bool {
        true
    }

    /// loky prints its workers' exit codes after a blank line.
    fn follows(&self, record: &Record, next: &Line<'_>) -> Follow {
        let is_pool = record.len() == 1 && record.text().contains(python::POOL_WORKER);
        match next.body().trim() {
            "" if is_pool => Follow::Pass,
            line if is_pool && line.starts_with(python::EXIT_CODES) => Follow::Join(Joint::Line),
            _ => Follow::End,
        }
    }

    fn parse(&self, record: &Record) -> Vec<Event> {
        let python = python::events(record);
        if !python.is_empty() {
            return python;
        }
        let event = job(record).or_else(|| word(record)).or_else(|| mpi(record)).or_else(|| phrase(record));
        event.into_iter().collect()
    }

    fn examples(&self) -> &'static [Example] {
        examples::EXAMPLES
    }
}

/// The end of a process on the writer's machine; `pid` are the digits of its pid.
fn death(record: &Record, words: &str, exit: Exit, pid: Option<&str>) -> Event {
    let number = pid.and_then(|pid| pid.parse().ok());
    let mut event = statement::ended(record, PRODUCER, words, exit, statement::neighbour(record, number));
    let figure = |(pid, number)| record.number(FigureName::VictimPid, pid, f64::from(number));
    event.figures.extend(pid.zip(number).map(figure));
    event
}

/// Words of which each message has one, the C library's among them.
static TRIGGERS: LazyLock<Vec<&str>> = LazyLock::new(|| [TOLD, KILLED].concat());

/// Those that no translation adds.
const TOLD: &[&str] = &[
    "Killed",
    "killed",
    " abort ",
    " segmentation fault",
    "Terminated",
    "terminated",
    "Segmentation fault",
    "Aborted",
    "Bus error",
    "已杀死",
    "Getötet",
    "exit status ",
    "xit code",
    "xitcode",
    "return code",
    "returncode",
    "exited ",
    "signal ",
    "SIGNAL: ",
    "died",
];

/// bash's word for a line of a script, in its translations.
const LINES: &[&str] = &[
    "line",
    "Zeile",
    "ligne",
    "riga",
    "línea",
    "linha",
    "строка",
    "рядок",
    "行",
    "줄",
    "linia",
    "wiersz",
    "regel",
    "rad",
    "řádek",
    "satır",
];

/// Shells' words for signals, in the languages seen in logs.
const WORDS: &[(&str, i32)] = &[
    ("Killed", 9),
    ("已杀死", 9),
    ("Getötet", 9),
    ("Terminated", 15),
    ("Segmentation fault", 11),
    ("Aborted", 6),
    ("Bus error", 7),
];

/// The C library's word for SIGKILL in its other translations (glibc 2.36 `po/*.po`).
const KILLED: &[&str] = &[
    "被殺死",
    "強制結束",
    "強制終了",
    "죽었음",
    "Processus arrêté",
    "Ucciso",
    "Terminado (killed)",
    "Morto",
    "Убито",
    "Вбито",
    "Забіты",
    "Убијен",
    "Unicestwiony",
    "Dödad",
    "Geëlimineerd",
    "Süreç durduruldu",
    "Zabit (SIGKILL)",
    "Dræbt",
    "Drept",
    "Tapettu",
    "Kilőve",
    "Terbunuh",
    "Bị buộc kết thúc",
    "Σκοτώθηκε",
    "Matat",
    "Matado",
    "Zabitý",
    "Pobit",
    "Ubijen",
];

/// `Killed` alone, or glued to the last output of the process: `1/3 [00:02<00:04, 2.1s/it]Killed`, `Solving environment: ...working... Killed`.
/// In a sentence a blank would precede it. Stars around it are those of whoever quoted the line, as is a prompt's sign.
fn word(record: &Record) -> Option<Event> {
    let line = text::line(record.text()).trim_end();
    let bare = line.trim_matches(['*', '_', ' ', '$']);
    // zsh and some notebooks say it in small letters.
    if bare == "killed" {
        return Some(death(record, bare, Exit::KILL, None));
    }
    let line = if WORDS.iter().any(|(word, _)| bare == *word) { bare } else { line };
    if let Some(word) = KILLED.iter().find(|word| line.trim_start() == **word) {
        return Some(death(record, &line[line.len() - word.len()..], Exit::KILL, None));
    }
    let (words, signal) = WORDS.iter().find_map(|(word, signal)| {
        let words = &line[line.rfind(word)?..];
        matches!(&words[word.len()..], "" | " (core dumped)" | ": 9" | ": 11").then_some((words, *signal))
    })?;
    let before = text::before(line, words);
    let glued = before.chars().next_back().is_some_and(|last| !last.is_alphabetic() && !" \t\"'`(".contains(last))
        || before.ends_with("... ");
    (glued || before.trim().is_empty()).then(|| death(record, words, Exit::Signal(signal), None))
}

/// A shell's message about a job, with its pid or its number.
fn job(record: &Record) -> Option<Event> {
    let text = text::line(record.text());
    let mut places = text::each(text, ": ").chain(text::each(text, "："));
    let of_script = places.find_map(|words| script(words).ok()).map(|(_, job)| job);
    let of_job = || background(text.trim_start()).ok().map(|(_, job)| job);
    // A progress bar may precede it without a line feed.
    let glued = || text::each(text, "[").find_map(|words| background(words).ok()).map(|(_, job)| job);
    let of_job = || of_job().or_else(|| glued().filter(|(pid, _)| pid.is_some()));
    let headless = || headless(text.trim_start()).ok().map(|(_, (pid, signal))| (Some(pid), signal));
    let told = of_script.or_else(of_job).or_else(headless);
    let (pid, signal) = told.or_else(|| foreground(text).map(|signal| (None, signal)))?;
    let words = pid.map_or(text, |pid| &text[text.offset(pid)..]);
    Some(death(record, words, Exit::Signal(signal), pid))
}

/// `./run.sh: line 31:  5120 Killed                  python train.py`; where GitHub's page was copied, a link to its line may stand within the
/// pid, of which too little is left: `51[20](https://github.com/…#step:6:58) Killed`.
fn script(words: &str) -> IResult<&str, (Option<&str>, i32)> {
    let label = |text| one_of_words(text, LINES.iter().copied());
    let place = (alt((tag(": "), tag("："))), label, tag(" "), text::digits, space0, tag(":"), space1);
    let link =
        (tag("["), text::digits, tag("](http"), take_till(|c: char| c == ')' || c == ' '), tag(")"), opt(text::digits));
    let pid = delimited(place, (text::digits, opt(link)), tag(" ")).map(|(pid, link)| link.is_none().then_some(pid));
    // macOS adds the number: `Killed: 9`.
    let said = (alt((signals::description, translated)), opt((tag(": "), text::digits)));
    (pid, terminated(said.map(|(signal, _)| signal), alt((multispace1, eof)))).parse(words)
}

/// What is left of a script's message whose head was cut off: `5120 Killed                  python train.py`.
fn headless(line: &str) -> IResult<&str, (&str, i32)> {
    let killed = alt((tag("Killed").map(|_| 9), translated));
    terminated(separated_pair(text::digits, tag(" "), killed), (tag("    "), space1)).parse(line)
}

/// `Ucciso`
fn translated(text: &str) -> IResult<&str, i32> {
    let killed = |text| one_of_words(text, ["已杀死", "Getötet"].into_iter().chain(KILLED.iter().copied()));
    killed.map(|_| 9).parse(text)
}

/// The first of `words` with which `text` begins.
fn one_of_words(text: &str, mut words: impl Iterator<Item = &'static str>) -> IResult<&str, &'static str> {
    let found = words.find_map(|word| Some((text.strip_prefix(word)?, word)));
    found.ok_or_else(|| nom::Err::Error(nom::error::Error::new(text, nom::error::ErrorKind::Tag)))
}

/// `zsh: killed     python train.py`
fn foreground(line: &str) -> Option<i32> {
    let words = line.trim_start().strip_prefix("zsh: ")?;
    let (_, signal) = terminated(zsh, tag("  ")).parse(words).ok()?;
    Some(signal)
}

/// The words of zsh for a signal.
fn zsh(words: &str) -> IResult<&str, i32> {
    alt((
        tag("killed").map(|_| 9),
        tag("terminated").map(|_| 15),
        tag("segmentation fault").map(|_| 11),
        tag("abort").map(|_| 6),
        tag("bus error").map(|_| 7),
    ))
    .parse(words)
}

/// `[1]+  Killed                  python train.py` of bash, `[1]  + 4711 killed     python train.py` of zsh.
fn background(line: &str) -> IResult<&str, (Option<&str>, i32)> {
    let number = (delimited(tag("["), text::digits, tag("]")), take_while(|c| "+- ".contains(c)));
    let pid = opt(terminated(text::digits, space1));
    let said = terminated(alt((zsh, signals::description)), opt(tag(" (core dumped)")));
    terminated(preceded(number, (pid, said)), tag("  ")).parse(line)
}

/// `mpirun noticed that process rank 3 with PID 4711 on node node1 exited on signal 9 (Killed).` of Open MPI, `=
/// KILLED BY SIGNAL: 9 (Killed)` of hydra.
fn mpi(record: &Record) -> Option<Event> {
    let text = text::line(record.text());
    if let Some((_, (victim, pid, signal))) = text::each(text, "process rank ").find_map(|words| noticed(words).ok()) {
        let number = victim.pid.map(|number| record.number(FigureName::VictimPid, pid, f64::from(number)));
        let mut event = statement::death(record, PRODUCER, text, Exit::Signal(signal), victim);
        event.figures.extend(number);
        return Some(event);
    }
    let words = text::after(text, "KILLED BY SIGNAL: ")?;
    let (_, signal) = signals::signal(words).ok()?;
    Some(statement::death(record, PRODUCER, text, Exit::Signal(signal), Victim::default()))
}

fn noticed(words: &str) -> IResult<&str, (Victim, &str, i32)> {
    let host = take_while1(|c: char| c.is_alphanumeric() || "-_.".contains(c));
    let rank = preceded(tag("process rank "), integer);
    let pid = delimited(tag(" with PID "), nom::combinator::consumed(integer), tag(" on node "));
    let (rest, (rank, (said, pid), host)) = (rank, pid, host).parse(words)?;
    let (rest, signal) = preceded(tag(" exited on signal "), signals::signal).parse(rest)?;
    // Open MPI prints pid 0 for a process that it no longer knows.
    let pid = Some(pid).filter(|pid| *pid != 0);
    Ok((rest, (Victim { host: Some(host.into()), rank: Some(rank), pid, ..Victim::default() }, said, signal)))
}

/// A status or a signal in one of the phrases that tools and scripts use.
fn phrase(record: &Record) -> Option<Event> {
    let text = text::line(record.text()).trim();
    let exit = whole(text).ok().map(|(_, exit)| exit).or_else(|| at_the_end(text))?;
    let pid = text::each(text, "pid").find_map(|words| pid(words).ok()).map(|(_, pid)| pid);
    Some(death(record, text, exit, pid))
}

/// A line that consists only of the phrase.
fn whole(line: &str) -> IResult<&str, Exit> {
    let label = alt((
        tag("exit status "),
        tag("exit code: "),
        tag("Exit code: "),
        tag("exit code "),
        tag("exited with status "),
        tag("Process finished with exit code "),
        tag("Command exited with non-zero status "),
    ));
    let status = preceded(label, signals::status).map(|(_, status)| Exit::from_status(status));
    // PyCharm explains the number in brackets.
    let explained = opt((tag(" (interrupted by signal "), take_until(")"), tag(")")));
    terminated(status, (explained, eof)).parse(line)
}

/// `worker 3 (pid 7) ended: signal 9`, `Command terminated by signal 9`, `rank 2 failed with returncode -9`, `Shard
/// process was signaled to shutdown with signal 9`
fn at_the_end(text: &str) -> Option<Exit> {
    const SIGNALS: [&str; 6] = [
        "terminated by signal ",
        "killed by signal ",
        "ended: signal ",
        "exited on signal ",
        "died with signal ",
        "signaled to shutdown with signal ",
    ];
    const STATUSES: [&str; 5] = ["returncode ", "returncode=", "returncode: ", "return code ", "return code: "];
    let ends = |rest: &str| {
        let rest = rest.trim_start_matches([')', '\'', '"', '}', '.', ' ']);
        rest.is_empty() || rest.starts_with([',', ';', '(']) || rest.starts_with("rank=")
    };
    let signal = SIGNALS.iter().find_map(|label| {
        let (end, signal) = signals::signal(text::after(text, label)?).ok()?;
        ends(end).then_some(Exit::Signal(signal))
    });
    signal.or_else(|| {
        STATUSES.iter().find_map(|label| {
            let (end, (_, status)) = signals::status(text::after(text, label)?).ok()?;
            // Only a status that means a signal is distinctive enough.
            let exit = Exit::from_status(status);
            (ends(end) && matches!(exit, Exit::Signal(_))).then_some(exit)
        })
    })
}

/// `pid 4711`, `pid=4711`, `pid: 4711`
fn pid(words: &str) -> IResult<&str, &str> {
    preceded((tag("pid"), opt(alt((tag("="), tag(":")))), space0), text::digits).parse(words)
}
