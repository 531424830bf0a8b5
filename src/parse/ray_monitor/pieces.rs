//! The parts of the messages of Ray's memory monitor: clauses of its sentences, rows of its lists and tables.

use nom::branch::alt;
use nom::bytes::complete as whole;
use nom::bytes::streaming::{tag, take_while1};
use nom::character::complete::{multispace0 as spaces, multispace1 as gap};
use nom::character::streaming::{digit1, multispace0, u32 as integer};
use nom::combinator::{complete, consumed, map_opt, opt, recognize, rest, verify};
use nom::sequence::{delimited, preceded, terminated};
use nom::{IResult, Parser};

use crate::model::{Bytes, FigureName};
use crate::parse::text::{self, Giga, Size};
use crate::parse::wrap::Progress;

/// One clause of a sentence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Clause<'a> {
    /// Address or name of the node.
    Node(&'a str),
    TaskId(&'a str),
    /// Name of the task or of the actor's method.
    Name(&'a str),
    Pid(&'a str, u32),
    /// How many workers were killed.
    Killed(&'a str, u32),
    Size(FigureName, Size<'a>),
    /// A share 0–1.
    Share(FigureName, &'a str, f64),
    /// An amount whose unit only the table after it shows: the words and the number.
    Amount(FigureName, &'a str, f64),
    /// Words without a figure.
    Words,
}

/// Sentences of the monitor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sentence {
    /// `Memory on the node (IP: …`
    Details,
    /// `2 Workers (tasks / actors) killed due to memory pressure (OOM), …`
    Summary,
    /// `More than 95% of the memory on node …`
    Oldest,
}

impl Sentence {
    /// The next clause.
    fn clause(self, text: &str) -> IResult<&str, Clause<'_>> {
        match self {
            Sentence::Details => preceded(multispace0, alt((whose, amounts, reason, words))).parse(text),
            Sentence::Summary => preceded(multispace0, summary).parse(text),
            Sentence::Oldest => preceded(multispace0, oldest).parse(text),
        }
    }

    /// The clauses from the beginning of `text` up to the first that cannot be read.
    pub(super) fn read(self, mut text: &str) -> Vec<Clause<'_>> {
        let mut clauses = Vec::new();
        while let Ok((next, clause)) = self.clause(text) {
            clauses.push(clause);
            text = next;
        }
        clauses
    }

    /// How far `text` can be read.
    pub(super) fn progress(self, text: &str) -> Progress {
        let mut rest = text;
        loop {
            match self.clause(rest) {
                Ok((_, Clause::Share(FigureName::NodeThreshold, ..))) if self == Sentence::Details => {
                    return Progress::Ended;
                }
                Ok((_, Clause::Amount(FigureName::NodeTotal, ..))) => return Progress::Ended,
                // A name that was cut off would swallow the text that follows.
                Ok((_, Clause::Name(name))) if name.contains(char::is_whitespace) => {
                    return Progress::Stuck(text.len() - rest.len());
                }
                Ok((next, _)) => rest = next,
                Err(nom::Err::Incomplete(_)) => return Progress::Open(text.len()),
                Err(_) => return Progress::Stuck(text.len() - rest.len()),
            }
        }
    }
}

/// `IP: 10.0.0.7, ID: db89…) where the task (task ID: 4353…, name=train, pid=812, memory used=49.21GB) was running`
fn whose(text: &str) -> IResult<&str, Clause<'_>> {
    let task = alt((tag("task ID: "), tag("actor ID: "), tag("lease ID: ")));
    let used = recognize((tag("memory used="), gigabytes));
    alt((
        delimited(tag("IP: "), address, tag(",")).map(Clause::Node),
        delimited(tag("ID: "), id, tag(")")).map(|_| Clause::Words),
        delimited(task, id, tag(",")).map(Clause::TaskId),
        delimited(tag("name="), until(", pid="), tag(",")).map(Clause::Name),
        delimited(tag("pid="), consumed(integer), tag(",")).map(|(words, pid)| Clause::Pid(words, pid)),
        terminated(used, tag(")")).map(|words| sized(FigureName::WorkerUsed, words)),
    ))
    .parse(text)
}

/// `was 718.30GB / 752.00GB (0.955186), which exceeds the memory usage threshold of 0.95.`, from 2.56 on
/// `was 718.30GB used / 752.00GB limit (0.955186)`
fn amounts(text: &str) -> IResult<&str, Clause<'_>> {
    let used = recognize((gigabytes, opt(tag(" used"))));
    let total = recognize((gigabytes, opt(tag(" limit"))));
    let threshold = preceded(tag("which exceeds the memory usage "), consumed(preceded(tag("threshold of "), share)));
    alt((
        preceded(tag("was "), used).map(|words| sized(FigureName::NodeUsed, words)),
        preceded(tag("/ "), total).map(|words| sized(FigureName::NodeTotal, words)),
        delimited(tag("("), consumed(share), tag(")"))
            .map(|(words, value)| Clause::Share(FigureName::NodeFraction, words, value)),
        threshold.map(|(words, value)| Clause::Share(FigureName::NodeThreshold, words, value)),
    ))
    .parse(text)
}

/// From 2.56 on: `OOM kill reason: Memory usage 771268018995B exceeded threshold of 767096651776B (95.0% of
/// 807453851648B limit)`
fn reason(text: &str) -> IResult<&str, Clause<'_>> {
    let used = recognize((tag("Memory usage "), bytes));
    let threshold = preceded(tag("exceeded "), recognize((tag("threshold of "), bytes)));
    alt((
        tag("OOM kill reason:").map(|_| Clause::Words),
        used.map(|words| sized(FigureName::NodeUsed, words)),
        threshold.map(|words| sized(FigureName::NodeThreshold, words)),
        (tag("("), share, tag("% of ")).map(|_| Clause::Words),
        terminated(recognize((bytes, tag(" limit"))), tag(")")).map(|words| sized(FigureName::NodeTotal, words)),
    ))
    .parse(text)
}

/// The words between the clauses of the details.
fn words(text: &str) -> IResult<&str, Clause<'_>> {
    alt((
        tag("Memory on the node "),
        tag("where the task ("),
        tag("where the lease ("),
        tag("where the task "),
        tag("was running"),
        tag(","),
        tag(";"),
        // Brackets, and what people write in place of addresses that they leave out.
        tag("("),
        tag(")"),
        tag("..."),
        tag("…"),
        // The core worker's log quotes the message.
        tag("\\n"),
    ))
    .map(|_| Clause::Words)
    .parse(text)
}

fn summary(text: &str) -> IResult<&str, Clause<'_>> {
    let killed = terminated(consumed(integer), tag(" Workers (tasks / actors) killed due to memory pressure (OOM),"));
    alt((
        killed.map(|(words, count)| Clause::Killed(words, count)),
        (integer, tag(" Workers crashed due to other reasons at node (")).map(|_| Clause::Words),
        (tag("ID: "), id, tag(",")).map(|_| Clause::Words),
        delimited(tag("IP: "), address, tag(")")).map(Clause::Node),
        tag("over the last time period.").map(|_| Clause::Words),
    ))
    .parse(text)
}

fn oldest(text: &str) -> IResult<&str, Clause<'_>> {
    let threshold = consumed(delimited(tag("More than "), integer, tag("%")));
    let node = terminated(take_while1(|c: char| !c.is_whitespace()), tag(" is used ("));
    let used = terminated(consumed(share), tag(" /"));
    let total = terminated(consumed(terminated(share, tag(" GB"))), tag(")."));
    alt((
        threshold.map(|(words, percent)| Clause::Share(FigureName::NodeThreshold, words, f64::from(percent) / 100.0)),
        tag("of the memory on node ").map(|_| Clause::Words),
        node.map(Clause::Node),
        used.map(|(words, amount)| Clause::Amount(FigureName::NodeUsed, words, amount)),
        total.map(|(words, amount)| Clause::Amount(FigureName::NodeTotal, words, amount)),
    ))
    .parse(text)
}

/// A worker that the monitor considered, as listed from 2.55 on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Worker<'a> {
    /// Name of the task or of the method that made the actor; none of an idle worker.
    pub(super) name: Option<&'a str>,
    pub(super) pid: u32,
    pub(super) used: Size<'a>,
    pub(super) row: &'a str,
}

/// `(Task: job ID=01000000, lease ID=00…, task name=tokenize, required resources={CPU: 1}, pid=174, actual memory
/// used=3.02GB, worker ID=9679…)`, `(Actor(c2cc…): …)`, `(Worker with no lease granted: pid=175, …)`
pub(super) fn worker(text: &str) -> IResult<&str, Worker<'_>> {
    let actor = recognize((tag("(Actor("), id, tag("): ")));
    let kind = alt((tag("(Task: "), actor, tag("(Worker with no lease granted: ")));
    let ids = (tag("job ID="), id, tag(", lease ID="), id, tag(", task name="));
    let name = terminated(until(", required resources="), until("pid="));
    let used = delimited(tag(", actual memory used="), map_opt(gigabytes, size), tag(", worker ID="));
    let parts = (preceded(kind, opt(preceded(ids, name))), preceded(tag("pid="), integer), used, id, tag(")"));
    let (rest, (row, (name, pid, used, _, _))) = consumed(parts).parse(text)?;
    Ok((rest, Worker { name, pid, used, row }))
}

/// The chosen workers in `text`: the marked ones if there are any, else all. Largest first.
pub(super) fn chosen(text: &str) -> Vec<Worker<'_>> {
    const MARK: &str = "Selected to kill: ";
    let rows = || text.match_indices('(').filter_map(|(at, _)| Some((at, worker(&text[at..]).ok()?.1)));
    let mut chosen: Vec<Worker<'_>> = match text.contains(MARK.trim_end()) {
        true => {
            rows().filter(|(at, _)| text[..*at].trim_end().ends_with(MARK.trim_end())).map(|(_, row)| row).collect()
        }
        false => rows().map(|(_, row)| row).collect(),
    };
    chosen.sort_by_key(|worker| std::cmp::Reverse(worker.used.bytes));
    chosen
}

/// A row of the table of the largest processes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ProcessRow<'a> {
    pub(super) pid: u32,
    pub(super) used: Size<'a>,
    pub(super) command: &'a str,
}

/// `3048142⇥49.21⇥ray::WorkerDict.actor_rollout_update_actor`; up to 2.1 `28442⇥5.0GB⇥ray_Worker:fit()`, later GiB.
fn row(text: &str) -> IResult<&str, ProcessRow<'_>> {
    let digits = |c: char| c.is_ascii_digit();
    let pid = map_opt(whole::take_while_m_n(1, 10, digits), |pid: &str| pid.parse().ok());
    let number = recognize((whole::take_while1(digits), whole::tag("."), whole::take_while1(digits)));
    let amount = (number, opt(alt((whole::tag("GiB"), whole::tag("GB")))));
    let command = verify(rest, |command: &str| !command.is_empty());
    // The core worker's log quotes the message.
    let gap = || alt((gap, whole::tag("\\t")));
    let (rest, (_, pid, _, used, _, command)) = (spaces, pid, gap(), recognize(amount), gap(), command).parse(text)?;
    let used = Size { text: used, bytes: table_bytes(used) };
    Ok((rest, ProcessRow { pid, used, command }))
}

/// The table's head says GB and means GiB; amounts with their own unit are those of the oldest versions, whose GB is 10^9 bytes.
fn table_bytes(used: &str) -> Option<Bytes> {
    match used.trim_end_matches(char::is_alphabetic).len() == used.len() {
        true => Bytes::of(used.parse().ok()?, Bytes::GIB),
        false => text::sized(used, Giga::Decimal).ok()?.1.bytes,
    }
}

/// Whether a line is a row of the table.
pub(super) fn is_row(line: &str) -> bool {
    row(line).is_ok()
}

/// The rows of the table in `text`: one in a line, or several in one line, separated by semicolons, quoted or glued together.
pub(super) fn rows(text: &str) -> Vec<ProcessRow<'_>> {
    text.lines().flat_map(rows_of_line).collect()
}

fn rows_of_line(line: &str) -> Vec<ProcessRow<'_>> {
    const SEPARATORS: [&str; 2] = [";", "\\n"];
    let behind = |separator: &'static str| line.match_indices(separator).map(move |(at, _)| at + separator.len());
    let mut starts: Vec<usize> = SEPARATORS.into_iter().flat_map(behind).filter(|at| is_row(&line[*at..])).collect();
    starts.extend([0, line.len()]);
    starts.sort_unstable();
    let mut rows = Vec::new();
    for span in starts.windows(2) {
        let [start, end] = *span else { continue };
        // The text of the message after its table.
        let ends = ["\\n", "; suggestions: "].iter().filter_map(|end| line[start..].find(end).map(|at| start + at));
        let mut next = row(line[start..ends.min().unwrap_or(end).min(end)].trim_end_matches(';'));
        while let Ok((_, found)) = next {
            // `410728⇥8.47⇥510953⇥7.19⇥ray::fit`: the first process had no name any more.
            next = row(found.command);
            let command = if next.is_ok() { &found.command[..0] } else { found.command };
            rows.push(ProcessRow { command, ..found });
        }
    }
    rows
}

/// `49.21GB`
fn gigabytes(text: &str) -> IResult<&str, &str> {
    recognize((share, tag("GB"))).parse(text)
}

/// `807453851648B`
fn bytes(text: &str) -> IResult<&str, &str> {
    recognize((digit1, tag("B"))).parse(text)
}

/// `0.955186`, `1`
fn share(text: &str) -> IResult<&str, f64> {
    map_opt(recognize((digit1, opt((tag("."), digit1)))), |number: &str| number.parse().ok()).parse(text)
}

/// The text before `end`, which must follow within a few words.
fn until<'a>(end: &'static str) -> impl Parser<&'a str, Output = &'a str, Error = nom::error::Error<&'a str>> {
    const LONGEST: usize = 200;
    move |text: &'a str| match text.find(end) {
        Some(at) if at <= LONGEST => Ok((&text[at..], &text[..at])),
        None if text.len() <= LONGEST && !text.contains(char::is_whitespace) => {
            Err(nom::Err::Incomplete(nom::Needed::Unknown))
        }
        _ => Err(nom::Err::Error(nom::error::Error::new(text, nom::error::ErrorKind::TakeUntil))),
    }
}

/// Hexadecimal digits, or the characters with which people redact them.
fn id(text: &str) -> IResult<&str, &str> {
    take_while1(|c: char| c.is_ascii_hexdigit() || "-*…".contains(c)).parse(text)
}

fn address(text: &str) -> IResult<&str, &str> {
    take_while1(|c: char| c.is_alphanumeric() || ".:-_*".contains(c)).parse(text)
}

/// A clause for the amount in `words`.
fn sized(name: FigureName, words: &str) -> Clause<'_> {
    match size(words) {
        Some(size) => Clause::Size(name, size),
        None => Clause::Words,
    }
}

/// The amount in `words`, cited with all of the words.
fn size(words: &str) -> Option<Size<'_>> {
    let from = words.find(|c: char| c.is_ascii_digit())?;
    let (_, size) = complete(text::size).parse(&words[from..]).ok()?;
    Some(Size { text: words, bytes: size.bytes })
}
