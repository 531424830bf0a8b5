//! systemd-oomd kills a whole cgroup if its tasks waited for memory too long, or if memory and swap are nearly full.
//!
//! Mirrors `src/oom/oomd-manager.c` and `src/oom/oomd-util.c` of systemd since 248. Its numbers are bytes, its sizes (`7.0G`)
//! powers of two. Pressure is a share of time, not of memory.

use nom::branch::alt;
use nom::bytes::complete::{tag, take_until, take_while1};
use nom::character::complete::char;
use nom::combinator::{opt, recognize};
use nom::sequence::{delimited, preceded, terminated};
use nom::{IResult, Parser};

use crate::model::{Consumer, Event, FigureName, Kind, Severity, Shortage, Victim, What};
use crate::parse::text::{self, Size};
use crate::parse::{Example, Follow, Grammar, Joint, Line, Record};

/// See the module.
pub struct SystemdOomd;

/// Most other lines between the table and the kill.
const PATIENCE: u64 = 8;

impl Grammar for SystemdOomd {
    fn producer(&self) -> &'static str {
        "systemd-oomd"
    }

    fn anchors(&self) -> &'static [&'static str] {
        &["systemd-oomd", "due to memory pressure"]
    }

    fn triggers(&self) -> &'static [&'static str] {
        &[
            "cgroups for killing, top candidates were:",
            " due to memory pressure for ",
            " due to memory used (",
            " due to swap used (",
        ]
    }

    fn is_multiline(&self) -> bool {
        true
    }

    /// The table stands before or after the kill; if the newest lines come first, its lines are reversed.
    fn follows(&self, record: &Record, next: &Line<'_>) -> Follow {
        let parts = || record.text().lines().filter_map(read);
        let is_new = |is_alike: fn(&OomdLine<'_>) -> bool| !parts().any(|part| is_alike(&part));
        let joins = match read(next.body()) {
            _ if next.number.0.saturating_sub(record.last_number().0) > PATIENCE => false,
            None => return Follow::Pass,
            Some(OomdLine::Kill(_)) => is_new(|part| matches!(part, OomdLine::Kill(_))),
            Some(OomdLine::Considered) => is_new(|part| matches!(part, OomdLine::Considered)),
            Some(_) => true,
        };
        if joins { Follow::Join(Joint::Line) } else { Follow::End }
    }

    fn parse(&self, record: &Record) -> Vec<Event> {
        let parts: Vec<OomdLine<'_>> = record.text().lines().filter_map(read).collect();
        let kill = parts.iter().find_map(|part| match part {
            OomdLine::Kill(kill) => Some(**kill),
            _ => None,
        });
        kill.map(|kill| event(record, kill, &candidates(&parts))).into_iter().collect()
    }

    fn examples(&self) -> &'static [Example] {
        EXAMPLES
    }
}

/// The kinds of lines that systemd-oomd prints about a kill.
#[derive(Debug, Clone)]
enum OomdLine<'a> {
    Kill(Box<Kill<'a>>),
    /// The beginning of the table.
    Considered,
    /// A cgroup in the table.
    Path(&'a str),
    /// The memory of that cgroup.
    Usage(Size<'a>),
    /// Another row of the table.
    Row,
}

#[derive(Debug, Clone, Copy)]
struct Kill<'a> {
    words: &'a str,
    cgroup: &'a str,
    reason: Reason<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Reason<'a> {
    /// `/system.slice`, `91.73%` of the time, more than `50.00%`, for `20s`.
    Pressure { cgroup: &'a str, pressure: Share<'a>, limit: Share<'a>, duration: Option<&'a str> },
    /// Memory and swap are nearly full; before 250 only swap counts.
    Full { memory: Option<(Size<'a>, Size<'a>)>, swap: (Size<'a>, Size<'a>), limit: Option<Share<'a>> },
}

/// `50.00%`: the words and the number before the sign.
#[derive(Debug, Clone, Copy)]
struct Share<'a> {
    words: &'a str,
    percent: f64,
}

fn read(line: &str) -> Option<OomdLine<'_>> {
    const ROWS: [&str; 7] = [
        "Memory Pressure Limit: ",
        "Pressure: ",
        "Memory Min: ",
        "Memory Low: ",
        "Pgscan: ",
        "Last Pgscan: ",
        "Swap Usage: ",
    ];
    if let Some(at) = ["Killed /", "Marked /"].iter().find_map(|words| line.find(words)) {
        return kill(&line[at..]).ok().map(|(_, kill)| OomdLine::Kill(Box::new(kill)));
    }
    let line = line.trim();
    if line.starts_with("Considered ") && line.ends_with(" cgroups for killing, top candidates were:") {
        return Some(OomdLine::Considered);
    }
    if let Some(usage) = line.strip_prefix("Current Memory Usage: ") {
        return text::size(usage).ok().map(|(_, size)| OomdLine::Usage(size));
    }
    let path = line.strip_prefix("Path: ").filter(|path| path.starts_with('/')).map(OomdLine::Path);
    path.or_else(|| ROWS.iter().any(|row| line.starts_with(row)).then_some(OomdLine::Row))
}

/// `Killed {cgroup} due to …`, in the newest `Marked {cgroup} for killing due to …`.
fn kill(text: &str) -> IResult<&str, Kill<'_>> {
    let killed = preceded(tag("Killed "), take_until(" due to "));
    let marked = preceded(tag("Marked "), take_until(" for killing due to "));
    let (rest, cgroup) =
        alt((terminated(marked, tag(" for killing due to ")), terminated(killed, tag(" due to ")))).parse(text)?;
    let (rest, reason) = alt((pressure, full)).parse(rest)?;
    Ok((rest, Kill { words: &text[..text.len() - rest.len()], cgroup, reason }))
}

/// `memory pressure for {cgroup} being 91.73% > 50.00% for > 20s with reclaim activity`
fn pressure(text: &str) -> IResult<&str, Reason<'_>> {
    let (rest, cgroup) = delimited(tag("memory pressure for "), take_until(" being "), tag(" being ")).parse(text)?;
    let (rest, (pressure, _, limit)) = (share, tag(" > "), share).parse(rest)?;
    let (rest, duration) = opt(preceded(tag(" for > "), take_until(" with reclaim activity"))).parse(rest)?;
    Ok((rest, Reason::Pressure { cgroup, pressure, limit, duration }))
}

/// `memory used (5) / total (9) and swap used (3) / total (4) being more than 90.00%`, before 250 from `swap used` on.
fn full(text: &str) -> IResult<&str, Reason<'_>> {
    let bytes = || delimited(char('('), text::plain_bytes, char(')'));
    let pair = |label| (preceded(tag(label), bytes()), preceded(tag(" / total "), bytes()));
    let (rest, memory) = opt(terminated(pair("memory used "), tag(" and "))).parse(text)?;
    let (rest, swap) = pair("swap used ").parse(rest)?;
    let (rest, limit) = opt(preceded(tag(" being more than "), share)).parse(rest)?;
    Ok((rest, Reason::Full { memory, swap, limit }))
}

fn share(text: &str) -> IResult<&str, Share<'_>> {
    let (rest, words) = recognize((take_while1(|c: char| c.is_ascii_digit() || c == '.'), char('%'))).parse(text)?;
    let percent = text::decimal(words)?.1;
    Ok((rest, Share { words, percent }))
}

/// The cgroups of the table and their memory. If the newest lines come first, a cgroup's path follows its usage.
fn candidates<'a>(parts: &[OomdLine<'a>]) -> Vec<(&'a str, Size<'a>)> {
    let is_path = parts.iter().find_map(|part| match part {
        OomdLine::Path(_) => Some(true),
        OomdLine::Usage(_) => Some(false),
        _ => None,
    });
    let (mut path, mut usage, mut found) = (None, None, Vec::new());
    for part in parts {
        match part {
            OomdLine::Path(words) => path = Some(*words),
            OomdLine::Usage(size) => usage = Some(*size),
            _ => continue,
        }
        // The later of the two lines completes the pair.
        if matches!(part, OomdLine::Usage(_)) == (is_path == Some(true))
            && let (Some(path), Some(usage)) = (path.take(), usage.take())
        {
            found.push((path, usage));
        }
    }
    found
}

fn event(record: &Record, kill: Kill<'_>, candidates: &[(&str, Size<'_>)]) -> Event {
    let (mut figures, mut facts) = (Vec::new(), vec![record.fact("oomd.cgroup", kill.cgroup)]);
    let used = candidates.iter().find(|(path, _)| *path == kill.cgroup);
    figures.extend(used.and_then(|(_, size)| record.figure(FigureName::WorkerUsed, *size)));
    let mut limit = None;
    match kill.reason {
        Reason::Pressure { cgroup, pressure, limit: most, duration } => {
            limit = Some(most);
            figures.push(record.number(FigureName::Other, pressure.words, pressure.percent));
            facts.push(record.fact("oomd.pressure_cgroup", cgroup));
            facts.push(record.number_fact("oomd.pressure", pressure.words, pressure.percent / 100.0));
            facts.extend(duration.map(|duration| record.fact("oomd.duration", duration)));
        }
        Reason::Full { memory, swap, limit: most } => {
            limit = most.or(limit);
            let (node_used, node_total) = memory.unzip();
            figures.extend(node_used.and_then(|size| record.figure(FigureName::NodeUsed, size)));
            figures.extend(node_total.and_then(|size| record.figure(FigureName::NodeTotal, size)));
            for (key, size) in [("oomd.swap_used", swap.0), ("oomd.swap_total", swap.1)] {
                figures.extend(record.figure(FigureName::Other, size));
                facts.extend(size.bytes.map(|bytes| record.number_fact(key, size.text, bytes.0 as f64)));
            }
        }
    }
    figures.extend(limit.map(|limit| record.number(FigureName::NodeThreshold, limit.words, limit.percent / 100.0)));
    let consumer = |(path, size): &(&str, Size<'_>)| {
        let cited = record.cite(size.text);
        Some(Consumer {
            pid: None,
            role: Some(name(path).to_owned()),
            bytes: size.bytes?,
            source: cited.location,
            text: cited.text,
        })
    };
    let mut consumers: Vec<Consumer> = candidates.iter().filter_map(consumer).collect();
    consumers.sort_by_key(|consumer| std::cmp::Reverse(consumer.bytes));
    let victim =
        Victim { host: record.origin().host.clone(), role: Some(name(kill.cgroup).into()), ..Victim::default() };
    let shortage =
        Shortage { kind: Kind::HostOomUserspace, severity: Severity::Fatal, victims: vec![victim], consumers };
    let mut event = record.event("systemd-oomd", kill.words, What::Shortage(shortage));
    event.evidence = used
        .map(|(path, size)| [record.cite_line_of(path), record.cite_line_of(size.text)])
        .into_iter()
        .flatten()
        .collect();
    (event.figures, event.facts) = (figures, facts);
    event
}

/// The unit at the end of a cgroup's path.
fn name(path: &str) -> &str {
    path.rsplit('/').find(|name| !name.is_empty()).unwrap_or(path)
}

const EXAMPLES: &[Example] = &[
    Example {
        version: "systemd ≥248, pressure, with its table",
        text: "10:52:29 node1 systemd-oomd[1261]: Considered 60 cgroups for killing, top candidates were:\n\
            10:52:29 node1 systemd-oomd[1261]:         Path: /system.slice/trainer.service\n\
            10:52:29 node1 systemd-oomd[1261]:                 Memory Pressure Limit: 0.00%\n\
            10:52:29 node1 systemd-oomd[1261]:                 Pressure: Avg10: 81.06 Avg60: 33.20 Avg300: 8.41 Total: 31s\n\
            10:52:29 node1 systemd-oomd[1261]:                 Current Memory Usage: 41.2G\n\
            10:52:29 node1 systemd-oomd[1261]:                 Memory Min: 0B\n\
            10:52:29 node1 systemd-oomd[1261]:                 Memory Low: 0B\n\
            10:52:29 node1 systemd-oomd[1261]:                 Pgscan: 410982\n\
            10:52:29 node1 systemd-oomd[1261]:                 Last Pgscan: 401166\n\
            10:52:29 node1 systemd-oomd[1261]:         Path: /system.slice/docker.service\n\
            10:52:29 node1 systemd-oomd[1261]:                 Current Memory Usage: 611.5M\n\
            10:52:29 node1 systemd-oomd[1261]: Killed /system.slice/trainer.service due to memory pressure for /system.slice being 84.12% > 60.00% for > 20s with reclaim activity",
        states: &[
            ("kind", "host_oom_userspace"),
            ("host", "node1"),
            ("role", "trainer.service"),
            ("worker_used", "41.2G"),
            ("consumer", "611.5M"),
            ("other", "84.12%"),
            ("node_threshold", "60.00%"),
            ("oomd.cgroup", "/system.slice/trainer.service"),
            ("oomd.pressure_cgroup", "/system.slice"),
            ("oomd.duration", "20s"),
        ],
    },
    Example {
        version: "systemd ≥250, memory and swap full",
        text: "2026-08-27T15:51:41+1000 ws7 systemd-oomd[709]: Considered 41 cgroups for killing, top candidates were:\n\
            2026-08-27T15:51:41+1000 ws7 systemd-oomd[709]:         Path: /user.slice/user-1002.slice/session-4.scope\n\
            2026-08-27T15:51:41+1000 ws7 systemd-oomd[709]:                 Swap Usage: 2.5G\n\
            2026-08-27T15:51:41+1000 ws7 systemd-oomd[709]: Killed /user.slice/user-1002.slice/session-4.scope due to memory used (30064771072) / total (33285996544) and swap used (7730941132) / total (8589934592) being more than 90.00%",
        states: &[
            ("kind", "host_oom_userspace"),
            ("role", "session-4.scope"),
            ("node_used", "30064771072"),
            ("node_total", "33285996544"),
            ("other", "7730941132"),
            ("other", "8589934592"),
            ("node_threshold", "90.00%"),
        ],
    },
    Example {
        version: "systemd 249, swap full",
        text: "Oct 12 03:54:03 node1 systemd-oomd[701]: Killed /system.slice/trainer.service due to swap used (7730941132) / total (8589934592) being more than 90.00%",
        states: &[("kind", "host_oom_userspace"), ("oomd.swap_used", "7730941132"), ("node_threshold", "90.00%")],
    },
    Example {
        version: "the newest systemd, marked before it is killed",
        text: "systemd-oomd[701]: Marked /user.slice/user-1000.slice/tmux.scope for killing due to memory pressure for /user.slice/user-1000.slice being 61.20% > 50.00% for > 1min 30s with reclaim activity",
        states: &[
            ("kind", "host_oom_userspace"),
            ("role", "tmux.scope"),
            ("other", "61.20%"),
            ("node_threshold", "50.00%"),
            ("oomd.duration", "1min 30s"),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::testing;

    #[test]
    fn newest_first_the_table_is_read_from_below() {
        let lines = [
            "10:52:29 n1 systemd-oomd[12]: Killed /a/one.service due to memory pressure for /a being 84.12% > 60.00% for > 20s with reclaim activity",
            "10:52:29 n1 systemd-oomd[12]:                 Current Memory Usage: 2.0G",
            "10:52:29 n1 systemd-oomd[12]:         Path: /a/two.service",
            "10:52:29 n1 systemd-oomd[12]:                 Current Memory Usage: 3.0G",
            "10:52:29 n1 systemd-oomd[12]:         Path: /a/one.service",
            "10:52:29 n1 systemd-oomd[12]: Considered 2 cgroups for killing, top candidates were:",
        ];
        let events = testing::read(lines.join("\n").as_bytes());
        let used = events[0].figures.iter().find(|figure| figure.name == FigureName::WorkerUsed);
        assert_eq!((events.len(), used.map(|figure| figure.text.as_str())), (1, Some("3.0G")));
    }

    #[test]
    fn a_mention_is_no_event() {
        for line in [
            "log_notice(\"Killed %s due to memory pressure for %s being %lu.%02lu%%\")",
            "Killed /a/b due to memory pressure for",
            "(raylet) 2 Workers (tasks / actors) killed due to memory pressure (OOM)",
        ] {
            assert!(testing::read(line.as_bytes()).is_empty(), "{line}");
        }
    }
}
