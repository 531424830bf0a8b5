//! earlyoom kills the largest process before the kernel has to; it begins with SIGTERM, so the process ends with status 143.
//!
//! Mirrors `kill.c`, `main.c` and `meminfo.c` of earlyoom 1.0–1.9. Its MiB are 2^20 bytes.

use nom::branch::alt;
use nom::bytes::complete::{tag, take_until, take_while1};
use nom::character::complete::{char, digit1, i32 as signed, space0, u32 as integer};
use nom::combinator::{consumed, map_opt, opt, recognize};
use nom::number::complete::double;
use nom::sequence::{delimited, preceded, separated_pair, terminated};
use nom::{IResult, Parser};

use crate::model::{Bytes, Event, FigureName, Kind, Severity, Shortage, Victim, What};
use crate::parse::text::{self, Size};
use crate::parse::{Example, Follow, Grammar, Joint, Line, Record};

/// See the module.
pub struct EarlyOom;

/// Most other lines between two lines of one kill.
const PATIENCE: u64 = 8;

impl Grammar for EarlyOom {
    fn producer(&self) -> &'static str {
        "earlyoom"
    }

    fn anchors(&self) -> &'static [&'static str] {
        &["earlyoom", "low memory! at or below"]
    }

    fn triggers(&self) -> &'static [&'static str] {
        &[
            "ow memory! ",
            "ow Memory! ",
            "Out of memory! avail: ",
            "mem avail: ",
            "sending SIGTERM to process ",
            "sending SIGKILL to process ",
            "illing process",
        ]
    }

    fn is_multiline(&self) -> bool {
        true
    }

    fn follows(&self, record: &Record, next: &Line<'_>) -> Follow {
        let is_ours = record.origin().role.as_deref() == Some("earlyoom");
        let known: Vec<EarlyoomLine<'_>> = record.text().lines().filter_map(|line| read(line, is_ours)).collect();
        let killed = known.iter().find_map(|part| match part {
            EarlyoomLine::Kill(kill) => Some(kill.pid),
            _ => None,
        });
        let joins = match read(next.body(), is_ours) {
            _ if known.is_empty() || next.number.0.saturating_sub(record.last_number().0) > PATIENCE => false,
            None => return Follow::Pass,
            Some(EarlyoomLine::Kill(kill)) => killed.is_none_or(|pid| pid == kill.pid),
            Some(EarlyoomLine::Outcome(_)) => killed.is_some(),
            Some(EarlyoomLine::Available { .. }) => {
                killed.is_none() && !known.iter().any(|part| matches!(part, EarlyoomLine::Available { .. }))
            }
            Some(EarlyoomLine::Limit(_) | EarlyoomLine::Below(..)) => {
                let is_limit = |part: &EarlyoomLine| matches!(part, EarlyoomLine::Limit(_) | EarlyoomLine::Below(..));
                killed.is_none() && !known.iter().any(is_limit)
            }
        };
        if joins { Follow::Join(Joint::Line) } else { Follow::End }
    }

    fn parse(&self, record: &Record) -> Vec<Event> {
        let is_ours = record.origin().role.as_deref() == Some("earlyoom");
        let parts: Vec<EarlyoomLine<'_>> = record.text().lines().filter_map(|line| read(line, is_ours)).collect();
        let kill = parts.iter().find_map(|part| match part {
            EarlyoomLine::Kill(kill) => Some(*kill),
            _ => None,
        });
        kill.map(|kill| event(record, kill, &parts)).into_iter().collect()
    }

    fn examples(&self) -> &'static [Example] {
        EXAMPLES
    }
}

/// The kinds of lines that earlyoom prints about a kill.
#[derive(Debug, Clone, Copy)]
enum EarlyoomLine<'a> {
    /// `mem avail:  1200 of 17518 MiB ( 6.85%), swap free: 133 of 471 MiB (28.32%)`; until 1.1 without the totals.
    Available {
        memory: Size<'a>,
        total: Option<Size<'a>>,
        swap: Option<Size<'a>>,
    },
    /// `low memory! at or below SIGTERM limits: mem 10.00%, swap 10.00%`
    Limit(&'a str),
    /// `Out of memory! avail: 3157 MiB < min: 3160 MiB` of 0.x: what was available, and the least.
    Below(Size<'a>, Size<'a>),
    Kill(EarlyoomKill<'a>),
    /// How the kill went.
    Outcome(Outcome),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Nothing,
    Other,
}

#[derive(Debug, Clone, Copy)]
struct EarlyoomKill<'a> {
    words: &'a str,
    signal: &'a str,
    /// The words and the number.
    process: &'a str,
    pid: u32,
    name: &'a str,
    score: Option<(&'a str, i32)>,
    adjustment: Option<(&'a str, i32)>,
    rss: Option<Size<'a>>,
    command: Option<&'a str>,
}

/// `is_ours` says that the line's prefix names earlyoom: other programs use the words of its oldest messages, too.
fn read(line: &str, is_ours: bool) -> Option<EarlyoomLine<'_>> {
    let from = |words: &str| line.find(words).map(|at| &line[at..]);
    let kill = ["sending SIGTERM to process ", "sending SIGKILL to process "].iter().find_map(|words| from(words));
    if let Some((_, kill)) = kill.and_then(|text| sending(text).ok()) {
        return Some(EarlyoomLine::Kill(kill));
    }
    let kill = ["Killing process", "killing process"].iter().find_map(|words| from(words));
    if let Some((_, kill)) = kill.and_then(|text| alt((killing, killing_by_name)).parse(text).ok()) {
        return Some(EarlyoomLine::Kill(kill));
    }
    if let Some((_, kill)) = kill.filter(|_| is_ours).and_then(|text| killing_alone(text).ok()) {
        return Some(EarlyoomLine::Kill(kill));
    }
    if let Some((_, part)) = from("mem avail: ").and_then(|text| available(text).ok()) {
        return Some(part);
    }
    if let Some(text) = from("ow memory! ").or_else(|| from("ow Memory! ")) {
        let at = text.find("SIG").or_else(|| text.find("sig"))?;
        return text[at..].contains("limits").then(|| EarlyoomLine::Limit(text[at..].trim_end()));
    }
    if let Some((_, (memory, least))) =
        from("Out of memory! avail: ").filter(|_| is_ours).and_then(|text| below(text).ok())
    {
        return Some(EarlyoomLine::Below(memory, least));
    }
    // An expired timer means that the process got its signal but did not end in time.
    let other = ["escalating to SIGKILL after ", " exited after ", " did not exit", "kill failed: Timer expired"];
    let nothing = ["dryrun, not actually sending any signal", "kill failed: ", "kill() failed: "];
    let says = |words: &[&str]| words.iter().any(|words| line.contains(words));
    let outcome = says(&other).then_some(Outcome::Other).or_else(|| says(&nothing).then_some(Outcome::Nothing));
    outcome.map(EarlyoomLine::Outcome)
}

/// Since 1.3: `sending SIGTERM to process 19 uid 1000 "python": badness 733, VmRSS 51234 MiB`, since 1.8 `oom_score` in the
/// place of `badness`, perhaps `oom_score_adj`, and at the end the command line.
fn sending(text: &str) -> IResult<&str, EarlyoomKill<'_>> {
    let signal = preceded(tag("sending "), alt((tag("SIGTERM"), tag("SIGKILL"))));
    let user = opt((tag(" uid "), digit1));
    let (rest, (signal, _, (process, pid), _, name)) =
        (signal, tag(" to "), process, user, preceded(char(' '), quoted)).parse(text)?;
    let (rest, score) = opt(preceded(tag(": "), score)).parse(rest)?;
    let (rest, adjustment) = opt(preceded(tag(", "), labelled("oom_score_adj "))).parse(rest)?;
    let (rest, rss) = opt(preceded(tag(", VmRSS "), text::size)).parse(rest)?;
    let (rest, command) = opt(preceded(tag(", cmdline "), quoted)).parse(rest)?;
    Ok((rest, EarlyoomKill { words: text, signal, process, pid, name, score, adjustment, rss, command }))
}

/// Between 1.2 and 1.3: `killing process 19 "python" with signal 15: badness 733, VmRSS 51234 MiB`.
fn killing(text: &str) -> IResult<&str, EarlyoomKill<'_>> {
    let signal = preceded(tag(" with "), recognize((tag("signal "), digit1)));
    let (rest, ((process, pid), name, signal)) =
        (preceded(tag("killing "), process), preceded(char(' '), quoted), signal).parse(text)?;
    let (rest, score) = opt(preceded(tag(": "), score)).parse(rest)?;
    let (rest, rss) = opt(preceded(tag(", VmRSS "), text::size)).parse(rest)?;
    Ok((rest, EarlyoomKill { words: text, signal, process, pid, name, score, adjustment: None, rss, command: None }))
}

/// 1.2: `Killing process 'python' with signal 15, pid: 19, badness: 733, VmRSS: 51234 MiB`; 1.1:
/// `Killing process: python, pid: 19, badness: 733, VmRSS: 51234 MiB`.
fn killing_by_name(text: &str) -> IResult<&str, EarlyoomKill<'_>> {
    let signal = preceded(tag(" with "), recognize((tag("signal "), digit1)));
    let named = (delimited(tag(" '"), take_until("'"), char('\'')), signal);
    let older = preceded(tag(": "), take_until(", pid: ")).map(|name| (name, ""));
    let (rest, (name, signal)) = preceded(tag("Killing process"), alt((named, older))).parse(text)?;
    let (rest, (process, pid)) = preceded(tag(", "), consumed(preceded(tag("pid: "), integer))).parse(rest)?;
    let (rest, score) = opt(preceded(tag(", "), score)).parse(rest)?;
    let (rest, rss) = opt(preceded(tag(", VmRSS: "), text::size)).parse(rest)?;
    Ok((rest, EarlyoomKill { words: text, signal, process, pid, name, score, adjustment: None, rss, command: None }))
}

/// Until 1.0: `Killing process 19 python`.
fn killing_alone(text: &str) -> IResult<&str, EarlyoomKill<'_>> {
    let name = take_while1(|c: char| !c.is_whitespace());
    let (rest, (process, pid)) = consumed(preceded(tag("Killing process "), integer)).parse(text)?;
    let (rest, name) = preceded(char(' '), name).parse(rest)?;
    let (score, adjustment, rss, command) = (None, None, None, None);
    Ok((rest, EarlyoomKill { words: text, signal: "", process, pid, name, score, adjustment, rss, command }))
}

fn process(text: &str) -> IResult<&str, (&str, u32)> {
    consumed(preceded(tag("process "), integer)).parse(text)
}

fn quoted(text: &str) -> IResult<&str, &str> {
    delimited(char('"'), take_until("\""), char('"')).parse(text)
}

fn score(text: &str) -> IResult<&str, (&str, i32)> {
    alt((labelled("badness "), labelled("badness: "), labelled("oom_score "))).parse(text)
}

fn labelled<'a>(
    label: &'static str,
) -> impl Parser<&'a str, Output = (&'a str, i32), Error = nom::error::Error<&'a str>> {
    consumed(preceded(tag(label), signed))
}

fn available(text: &str) -> IResult<&str, EarlyoomLine<'_>> {
    let of = |label| (preceded((tag(label), space0), amount), opt(preceded((tag(" of "), space0), text::size)));
    let (rest, (memory, total)) = of("mem avail:").parse(text)?;
    let memory = Size { text: &text[..text.len() - rest.len()], ..memory };
    let memory = match total {
        Some(total) => Size { text: memory.text.split(" of ").next().unwrap_or(total.text), ..memory },
        None => memory,
    };
    let share = (space0, delimited(char('('), take_until(")"), char(')')), tag(", "));
    let swap = preceded(share, consumed(of("swap free:"))).map(|(words, (free, total))| {
        let words = total.map_or(words, |_| words.split(" of ").next().unwrap_or(words));
        Size { text: words, ..free }
    });
    let (rest, swap) = opt(swap).parse(rest)?;
    Ok((rest, EarlyoomLine::Available { memory, total, swap }))
}

fn below(text: &str) -> IResult<&str, (Size<'_>, Size<'_>)> {
    let of = |label| consumed(preceded((tag(label), space0), text::size)).map(|(text, size)| Size { text, ..size });
    preceded(tag("Out of memory! "), separated_pair(of("avail:"), tag(" < "), of("min:"))).parse(text)
}

/// The share of memory below which it kills, in the words of a limit: `mem 10.00%`, `mem: 10 %`.
fn share_of_memory(limits: &str) -> Option<(&str, f64)> {
    let (_, (words, percent)) = consumed(memory_percent).parse(&limits[limits.find("mem")?..]).ok()?;
    Some((words, percent / 100.0))
}

fn memory_percent(text: &str) -> IResult<&str, f64> {
    delimited((tag("mem"), opt(char(':')), space0), double, (space0, char('%'))).parse(text)
}

/// `1200`, whose unit stands after the total, or `1200 MiB`.
fn amount(text: &str) -> IResult<&str, Size<'_>> {
    let bare =
        map_opt(digit1, |digits: &str| Some(Size { text: digits, bytes: Bytes::of(digits.parse().ok()?, Bytes::MIB) }));
    terminated(bare, opt(tag(" MiB"))).parse(text)
}

fn event(record: &Record, kill: EarlyoomKill<'_>, parts: &[EarlyoomLine<'_>]) -> Event {
    let mut figures = vec![record.number(FigureName::VictimPid, kill.process, f64::from(kill.pid))];
    let mut facts = Vec::new();
    figures.extend(kill.rss.and_then(|rss| record.figure(FigureName::WorkerUsed, rss)));
    figures
        .extend(kill.adjustment.map(|(words, value)| record.number(FigureName::OomScoreAdj, words, f64::from(value))));
    figures.extend(kill.score.map(|(words, value)| record.number(FigureName::Other, words, f64::from(value))));
    if !kill.signal.is_empty() {
        facts.push(record.fact("earlyoom.signal", kill.signal));
    }
    facts.extend(kill.command.map(|command| record.fact("earlyoom.command", command)));
    let mut evidence = Vec::new();
    for part in parts {
        match part {
            EarlyoomLine::Available { memory, total, swap } => {
                figures.extend(total.and_then(|total| record.figure(FigureName::NodeTotal, total)));
                figures.extend(record.figure(FigureName::Other, *memory));
                for (key, size) in [("earlyoom.available", Some(*memory)), ("earlyoom.swap_free", *swap)] {
                    let amount = size.and_then(|size| Some((size.text, size.bytes?)));
                    facts.extend(amount.map(|(words, bytes)| record.number_fact(key, words, bytes.0 as f64)));
                }
                evidence.push(record.cite_line_of(memory.text));
            }
            EarlyoomLine::Limit(words) => {
                facts.push(record.fact("earlyoom.limits", words));
                let threshold = share_of_memory(words);
                figures.extend(threshold.map(|(words, share)| record.number(FigureName::NodeThreshold, words, share)));
                evidence.push(record.cite_line_of(words));
            }
            EarlyoomLine::Below(memory, least) => {
                figures.extend(record.figure(FigureName::NodeThreshold, *least));
                figures.extend(record.figure(FigureName::Other, *memory));
                evidence.push(record.cite_line_of(least.text));
            }
            EarlyoomLine::Kill(_) | EarlyoomLine::Outcome(_) => {}
        }
    }
    let severity = match parts.iter().any(|part| matches!(part, EarlyoomLine::Outcome(Outcome::Nothing))) {
        true => Severity::Pressure,
        false => Severity::Fatal,
    };
    let victim = Victim {
        host: record.origin().host.clone(),
        pid: Some(kill.pid),
        role: Some(kill.name.into()),
        ..Victim::default()
    };
    let shortage = Shortage { kind: Kind::HostOomUserspace, severity, victims: vec![victim], consumers: Vec::new() };
    let mut event = record.event("earlyoom", kill.words, What::Shortage(shortage));
    (event.figures, event.facts, event.evidence) = (figures, facts, evidence);
    event
}

const EXAMPLES: &[Example] = &[
    Example {
        version: "0.x",
        text: "Jul 04 19:52:50 node1 earlyoom[699]: Out of memory! avail: 1217 MiB < min: 1600 MiB\n\
            Jul 04 19:52:50 node1 earlyoom[699]: Killing process 20118 (chrome)",
        states: &[
            ("kind", "host_oom_userspace"),
            ("victim_pid", "Killing process 20118"),
            ("node_threshold", "min: 1600 MiB"),
            ("other", "avail: 1217 MiB"),
        ],
    },
    Example {
        version: "≤1.0",
        text: "Oct 12 03:54:03 node1 earlyoom[811]: Killing process 19855 python",
        states: &[
            ("kind", "host_oom_userspace"),
            ("victim_pid", "Killing process 19855"),
            ("role", "python"),
            ("host", "node1"),
        ],
    },
    Example {
        version: "1.1",
        text: "earlyoom[812]: Killing process: python3, pid: 19855, badness: 733, VmRSS: 51234 MiB",
        states: &[("kind", "host_oom_userspace"), ("victim_pid", "pid: 19855"), ("worker_used", "51234 MiB")],
    },
    Example {
        version: "1.2",
        text: "earlyoom[812]: Low Memory! At or below sigterm limits (mem: 10 %, swap: 10 %)\n\
            earlyoom[812]: mem avail: 2011 of 64300 MiB ( 3 %), swap free:   12 of 2047 MiB ( 0 %)\n\
            earlyoom[812]: Killing process 'python3' with signal 15, pid: 19855, badness: 733, VmRSS: 51234 MiB",
        states: &[
            ("kind", "host_oom_userspace"),
            ("worker_used", "51234 MiB"),
            ("node_total", "64300 MiB"),
            ("other", "mem avail: 2011"),
            ("earlyoom.swap_free", "swap free:   12"),
            ("earlyoom.signal", "signal 15"),
            ("earlyoom.limits", "sigterm limits (mem: 10 %, swap: 10 %)"),
        ],
    },
    Example {
        version: "1.3",
        text: "earlyoom[812]: killing process 19855 \"python3\" with signal 9: badness 733, VmRSS 51234 MiB",
        states: &[("kind", "host_oom_userspace"), ("victim_pid", "process 19855"), ("earlyoom.signal", "signal 9")],
    },
    Example {
        version: "1.4–1.7",
        text: "earlyoom[812]: mem avail:  3201 of 64300 MiB ( 4.98%), swap free:    0 of 2047 MiB ( 0.00%)\n\
            earlyoom[812]: low memory! at or below SIGTERM limits: mem 5.00%, swap 10.00%\n\
            earlyoom[812]: sending SIGTERM to process 1985588 uid 1000 \"python\": badness 733, VmRSS 51234 MiB\n\
            earlyoom[812]: escalating to SIGKILL after 0.5 seconds\n\
            earlyoom[812]: process exited after 0.7 seconds",
        states: &[
            ("kind", "host_oom_userspace"),
            ("pid", "1985588"),
            ("role", "python"),
            ("worker_used", "51234 MiB"),
            ("other", "badness 733"),
            ("other", "mem avail:  3201"),
            ("node_total", "64300 MiB"),
            ("earlyoom.limits", "SIGTERM limits: mem 5.00%, swap 10.00%"),
            ("node_threshold", "mem 5.00%"),
            ("earlyoom.signal", "SIGTERM"),
        ],
    },
    Example {
        version: "≥1.8",
        text: "2026-09-10T21:54:23-04:00 ms2 earlyoom[904]: sending SIGKILL to process 2232 uid 1000 \"vllm\": oom_score 712, oom_score_adj 0, VmRSS 4514 MiB, cmdline \"python -m vllm serve\"",
        states: &[
            ("kind", "host_oom_userspace"),
            ("host", "ms2"),
            ("worker_used", "4514 MiB"),
            ("oom_score_adj", "oom_score_adj 0"),
            ("other", "oom_score 712"),
            ("earlyoom.command", "python -m vllm serve"),
        ],
    },
    Example {
        version: "1.3–1.8, a process that took longer than it was given",
        text: "earlyoom[812]: sending SIGTERM to process 2232 uid 1000 \"vllm\": badness 712, VmRSS 4514 MiB\n\
            earlyoom[812]: kill failed: Timer expired",
        states: &[("kind", "host_oom_userspace"), ("worker_used", "4514 MiB")],
    },
    Example {
        version: "≥1.6, only asked what it would do",
        text: "earlyoom[904]: sending SIGTERM to process 2232 uid 1000 \"vllm\": badness 712, VmRSS 4514 MiB\n\
            earlyoom[904]: dryrun, not actually sending any signal",
        states: &[("pressure", "host_oom_userspace"), ("worker_used", "4514 MiB")],
    },
];

#[cfg(test)]
mod tests {
    use crate::parse::testing;

    #[test]
    fn two_processes_are_two_events_and_one_killed_twice_is_one() {
        let lines = [
            "earlyoom[9]: sending SIGTERM to process 41 uid 0 \"a\": badness 7, VmRSS 45 MiB",
            "earlyoom[9]: sending SIGKILL to process 41 uid 0 \"a\": badness 7, VmRSS 45 MiB",
            "earlyoom[9]: process 41 exited after 0.1 seconds",
            "earlyoom[9]: sending SIGTERM to process 42 uid 0 \"b\": badness 7, VmRSS 45 MiB",
        ];
        assert_eq!(testing::read(lines.join("\n").as_bytes()).len(), 2);
    }

    #[test]
    fn a_mention_is_no_event() {
        for line in [
            "earlyoom[1]: sending SIGTERM when mem avail <= 10.00% and swap free <= 10.00%,",
            "earlyoom[1]: mem avail: 21701 of 23909 MiB (90.77%), swap free:    0 of    0 MiB ( 0.00%)",
            "earlyoom[1]: low memory! at or below SIGTERM limits: mem 10.00%, swap 10.00%",
            "earlyoom[1]: Could not find a process to kill. Sleeping 1 second.",
            "warn(\"sending %s to process %d uid %d \\\"%s\\\": badness %d, VmRSS %lld MiB\\n\",",
            "tmux.scope: Killing process 3317461 (pi) with signal SIGKILL.",
            "Killing process 12 python # earlyoom",
        ] {
            assert!(testing::read(line.as_bytes()).is_empty(), "{line}");
        }
    }
}
