//! systemd's notes about a unit in which an OOM killer killed something. They name neither the process nor the limit.
//!
//! Mirrors `src/core/unit.c` (`unit_check_oom`, `unit_check_oomd_kill`, `unit_log_failure`, `unit_log_resources`) of systemd
//! since 243.

use nom::branch::alt;
use nom::bytes::complete::{tag, take_until};
use nom::character::complete::u32 as integer;
use nom::combinator::rest;
use nom::sequence::{delimited, preceded, terminated};
use nom::{IResult, Parser};

use crate::model::{Event, FigureName, Kind, Severity, Shortage, Victim, What};
use crate::parse::text::{self, Size};
use crate::parse::{Example, Follow, Grammar, Joint, Line, Record};

/// See the module.
pub struct SystemdUnit;

/// Most lines about other units between two lines about one.
const PATIENCE: u64 = 40;

impl Grammar for SystemdUnit {
    fn producer(&self) -> &'static str {
        "systemd"
    }

    fn anchors(&self) -> &'static [&'static str] {
        &["of this unit has been killed by the OOM killer", "oom-kill", "systemd-oomd"]
    }

    fn triggers(&self) -> &'static [&'static str] {
        &[
            ": A process of this unit has been killed by the OOM killer",
            ": Failed with result 'oom-kill'",
            ": systemd-oomd killed ",
        ]
    }

    fn is_multiline(&self) -> bool {
        true
    }

    /// A restarted unit may fail again, so each kind of line belongs to a failure only once.
    fn follows(&self, record: &Record, next: &Line<'_>) -> Follow {
        let Some((unit, _)) = record.text().lines().next().and_then(read) else { return Follow::End };
        if next.number.0.saturating_sub(record.last_number().0) > PATIENCE {
            return Follow::End;
        }
        let Some((_, note)) = read(next.body()).filter(|(name, _)| *name == unit) else { return Follow::Pass };
        let is_alike = |other: &Note<'_>| std::mem::discriminant(other) == std::mem::discriminant(&note);
        let is_repeated = read(record.last_line()).is_some_and(|(_, last)| is_alike(&last));
        let is_known = record.text().lines().filter_map(read).any(|(_, other)| is_alike(&other));
        if is_known && !is_repeated { Follow::End } else { Follow::Join(Joint::Line) }
    }

    fn parse(&self, record: &Record) -> Vec<Event> {
        event(record).into_iter().collect()
    }

    fn examples(&self) -> &'static [Example] {
        EXAMPLES
    }
}

/// A note about a unit.
#[derive(Debug, Clone, Copy)]
enum Note<'a> {
    /// The kernel counted a kill in its cgroup.
    Killed,
    /// systemd-oomd killed this many processes.
    KilledByOomd(Option<u32>),
    /// `code=killed, status=9/KILL`
    MainExited(&'a str),
    /// It failed because of the kill.
    Failed,
    /// Its peak of memory, in newer versions.
    Consumed(Size<'a>),
}

/// The unit's name and the note.
fn read(line: &str) -> Option<(&str, Note<'_>)> {
    const SUFFIXES: [&str; 6] = [".service", ".scope", ".slice", ".mount", ".swap", ".socket"];
    let (at, end) =
        SUFFIXES.iter().find_map(|suffix| line.find(&format!("{suffix}: ")).map(|at| (at, at + suffix.len())))?;
    let start = line[..at].rfind(char::is_whitespace).map_or(0, |blank| blank + 1);
    let (_, note) = note(&line[end + ": ".len()..]).ok()?;
    Some((&line[start..end], note))
}

fn note(text: &str) -> IResult<&str, Note<'_>> {
    let count = alt((integer.map(Some), tag("some").map(|_| None)));
    let peak = preceded((take_until(", "), tag(", ")), text::size);
    let consumed = preceded(tag("Consumed "), terminated(peak, tag(" memory peak")));
    alt((
        tag("A process of this unit has been killed by the OOM killer").map(|_| Note::Killed),
        delimited(tag("systemd-oomd killed "), count, tag(" process(es) in this unit")).map(Note::KilledByOomd),
        preceded(tag("Main process exited, "), rest).map(Note::MainExited),
        tag("Failed with result 'oom-kill'").map(|_| Note::Failed),
        consumed.map(Note::Consumed),
    ))
    .parse(text)
}

fn event(record: &Record) -> Option<Event> {
    let lines: Vec<(&str, &str, Note<'_>)> =
        record.text().lines().filter_map(|line| read(line).map(|(unit, note)| (line, unit, note))).collect();
    let place = |note: &Note<'_>| match note {
        Note::KilledByOomd(_) => Some(0),
        Note::Killed => Some(1),
        Note::Failed => Some(2),
        Note::MainExited(_) | Note::Consumed(_) => None,
    };
    let proofs = lines.iter().filter_map(|(line, unit, note)| Some((place(note)?, *line, *unit)));
    let (first, proof, unit) = proofs.min_by_key(|(place, ..)| *place)?;
    let (mut figures, mut facts, mut evidence) = (Vec::new(), vec![record.fact("systemd.unit", unit)], Vec::new());
    for (line, _, note) in &lines {
        match note {
            Note::KilledByOomd(count) => {
                facts.extend(count.map(|count| record.number_fact("systemd.processes", line, f64::from(count))));
            }
            Note::MainExited(how) => facts.push(record.fact("systemd.main_process", how)),
            Note::Consumed(peak) => {
                figures.extend(record.figure(FigureName::Other, *peak));
                facts.extend(
                    peak.bytes.map(|bytes| record.number_fact("systemd.memory_peak", peak.text, bytes.0 as f64)),
                );
            }
            Note::Killed | Note::Failed => {}
        }
        if place(note).is_some() && !std::ptr::eq(*line, proof) {
            evidence.push(record.cite_line_of(line));
        }
    }
    let kind = if first == 0 { Kind::HostOomUserspace } else { Kind::HostOomKernel };
    let victim = Victim { host: record.origin().host.clone(), role: Some(unit.into()), ..Victim::default() };
    let shortage = Shortage { kind, severity: Severity::Fatal, victims: vec![victim], consumers: Vec::new() };
    let mut event = record.event("systemd", proof, What::Shortage(shortage));
    (event.figures, event.facts, event.evidence) = (figures, facts, evidence);
    Some(event)
}

const EXAMPLES: &[Example] = &[
    Example {
        version: "systemd ≥243",
        text: "Sep 23 14:09:18 node1 systemd[1]: vllm.service: A process of this unit has been killed by the OOM killer.\n\
            Sep 23 14:09:19 node1 systemd[1]: vllm.service: Main process exited, code=killed, status=9/KILL\n\
            Sep 23 14:09:19 node1 systemd[1]: vllm.service: Failed with result 'oom-kill'.\n\
            Sep 23 14:09:19 node1 systemd[1]: vllm.service: Consumed 2h 45min 3.204s CPU time.",
        states: &[
            ("kind", "host_oom_kernel"),
            ("host", "node1"),
            ("role", "vllm.service"),
            ("systemd.main_process", "code=killed, status=9/KILL"),
        ],
    },
    Example {
        version: "newer systemd, with its peak",
        text: "Oct 03 16:24:28 node2 systemd[1162]: run-u41.scope: Failed with result 'oom-kill'.\n\
            Oct 03 16:25:58 node2 systemd[1162]: run-u41.scope: Consumed 2h 45min 3.204s CPU time, 31.5G memory peak, 0B memory swap peak.",
        states: &[("kind", "host_oom_kernel"), ("role", "run-u41.scope"), ("other", "31.5G")],
    },
    Example {
        version: "systemd ≥248, systemd-oomd",
        text: "Oct 03 16:24:28 node2 systemd[1162]: tmux.scope: systemd-oomd killed 29 process(es) in this unit.\n\
            Oct 03 16:24:28 node2 systemd[1162]: tmux.scope: Failed with result 'oom-kill'.",
        states: &[("kind", "host_oom_userspace"), ("role", "tmux.scope")],
    },
    Example {
        version: "systemd ≥248, systemd-oomd, uncounted; newest first",
        text: "16:24:29 systemd: tmux.scope: Failed with result 'oom-kill'.\n\
            16:24:28 systemd: tmux.scope: systemd-oomd killed some process(es) in this unit.",
        states: &[("kind", "host_oom_userspace"), ("role", "tmux.scope")],
    },
];

#[cfg(test)]
mod tests {
    use crate::parse::testing;

    #[test]
    fn each_failure_of_a_unit_is_an_event() {
        let lines = [
            "systemd[1]: a.service: A process of this unit has been killed by the OOM killer.",
            "systemd[1]: a.service: A process of this unit has been killed by the OOM killer.",
            "systemd[1]: user.slice: A process of this unit has been killed by the OOM killer.",
            "systemd[1]: a.service: Failed with result 'oom-kill'.",
            "systemd[1]: a.service: Scheduled restart job, restart counter is at 1.",
            "systemd[1]: a.service: A process of this unit has been killed by the OOM killer.",
            "systemd[1]: a.service: Failed with result 'oom-kill'.",
        ];
        assert_eq!(testing::read(lines.join("\n").as_bytes()).len(), 3);
    }

    #[test]
    fn a_mention_is_no_event() {
        for line in [
            "systemctl shows \"A process of this unit has been killed by the OOM killer\"",
            "(1) the process was killed by the OOM killer due to high memory usage",
            "a.service: Failed with result 'exit-code'.",
            "a.service: Main process exited, code=killed, status=9/KILL # not 'oom-kill'",
            "if unit.Result == 'oom-kill': # a.service: see systemd-oomd killed",
        ] {
            assert!(testing::read(line.as_bytes()).is_empty(), "{line}");
        }
    }
}
