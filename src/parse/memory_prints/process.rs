//! Prints of a process's own memory and of the host's: `VmRSS`, `RSS`, psutil.
//!
//! Mirrors the lines of `/proc/self/status` (`VmRSS:  8388608 kB`), `psutil.virtual_memory()` as Python shows it, and the
//! sentences that scripts make of them: `host memory used 96.25 GB / 251.50 GB (38.3%)`, `host memory 61.5/125.6 GB`.

use nom::branch::alt;
use nom::bytes::complete::{tag, take_until};
use nom::character::complete::{char, multispace0, one_of};
use nom::combinator::{consumed, map, not, opt, peek};
use nom::sequence::{delimited, preceded, separated_pair, terminated};
use nom::{IResult, Parser};

use crate::model::FigureName::{self, HostPercent, HostUsed, NodeTotal, WorkerUsed};
use crate::model::{Bytes, Event, Figure, What};
use crate::parse::text::{self, Size};
use crate::parse::{Example, Grammar, Record, origin};

/// See the module.
pub struct ProcessMemory;

impl Grammar for ProcessMemory {
    fn producer(&self) -> &'static str {
        "process"
    }

    fn triggers(&self) -> &'static [&'static str] {
        &["RSS", "ost memory", "svmem("]
    }

    fn parse(&self, record: &Record) -> Vec<Event> {
        let found = |label: &str, figures: Vec<Figure>, part: Option<&str>| {
            let mut event =
                record.event("process", part?, What::Memory { series: origin::series(label, record.origin()) });
            event.figures = figures;
            Some(event)
        };
        let own = resident(record.text()).and_then(|size| Some((size.text, record.figure(WorkerUsed, size)?)));
        let host = host(record.text());
        let of_host: Vec<Figure> = host.iter().flat_map(|host| host.figures(record)).collect();
        let own = own.and_then(|(part, figure)| found("process", vec![figure], Some(part)));
        own.into_iter().chain(found("host", of_host, host.map(|host| host.used.text))).collect()
    }

    fn examples(&self) -> &'static [Example] {
        EXAMPLES
    }
}

/// `VmRSS 8388608 kB`, `VmRSS: 8388608 kB`, `RSS 4096 MB`, `RSS: 4096.5 MB`, `RSS=1.5GiB`. Lines in which an OOM killer describes its
/// victim do not count.
fn resident(text: &str) -> Option<Size<'_>> {
    if ["sending SIG", "oom_score", "anon-rss"].iter().any(|words| text.contains(words)) {
        return None;
    }
    let of = preceded((tag("RSS"), opt(one_of(":=")), multispace0::<_, nom::error::Error<&str>>), text::size);
    let mut of = terminated(of, peek(not(one_of("/-"))));
    text.match_indices("RSS")
        .filter(|(at, _)| {
            let before = &text[..*at];
            before.ends_with("Vm") || !before.ends_with(|c: char| c.is_alphanumeric() || c == '_')
        })
        .find_map(|(at, _)| of.parse(&text[at..]).ok())
        .map(|(_, size)| size)
}

struct Host<'a> {
    used: Size<'a>,
    total: Size<'a>,
    percent: Option<(&'a str, f64)>,
}

impl Host<'_> {
    fn figures(&self, record: &Record) -> Vec<Figure> {
        let sizes: [(FigureName, Size<'_>); 2] = [(HostUsed, self.used), (NodeTotal, self.total)];
        let sizes = sizes.into_iter().filter_map(|(name, size)| record.figure(name, size));
        sizes.chain(self.percent.map(|(words, share)| record.number(HostPercent, words, share))).collect()
    }
}

fn host(text: &str) -> Option<Host<'_>> {
    let spoken = text::each(text, "ost memory").find_map(|part| spoken(part).ok());
    spoken.or_else(|| text::each(text, "svmem(").find_map(|part| psutil(part).ok())).map(|(_, host)| host)
}

/// `host memory used 96.25 GB / 251.50 GB (38.3%)`, `Host memory: 61.5/125.6 GB`
fn spoken(text: &str) -> IResult<&str, Host<'_>> {
    let words = (tag("ost memory"), opt(char(':')), opt(tag(" used")), opt(char(':')), multispace0);
    let divided = || (multispace0, char('/'), multispace0);
    let both = separated_pair(text::size, divided(), text::size);
    // The unit after the second number holds for the first one, too.
    let one = map(separated_pair(consumed(text::decimal), divided(), text::size), |((words, amount), total)| {
        let unit = total.bytes.zip(text::decimal(total.text).ok()).map(|(bytes, (_, of))| bytes.0 as f64 / of);
        (Size { text: words, bytes: unit.and_then(|unit| Bytes::of(amount * unit, Bytes(1))) }, total)
    });
    let percent = delimited(tag(" ("), consumed(terminated(text::decimal, char('%'))), char(')'));
    map(preceded(words, (alt((both, one)), opt(percent))), |((used, total), percent)| Host { used, total, percent })
        .parse(text)
}

/// `svmem(total=270582939648, available=81604378624, percent=69.8, used=187904819200, free=…`: memory that is not available is in use, so
/// `percent` and not `used` tells how full the host is.
fn psutil(text: &str) -> IResult<&str, Host<'_>> {
    let total = preceded((tag("svmem("), tag("total=")), terminated(text::plain_bytes, char(',')));
    let percent = preceded((take_until("percent="), tag("percent=")), consumed(text::decimal));
    let used = preceded((take_until(" used="), tag(" used=")), terminated(text::plain_bytes, char(',')));
    map((total, percent, used), |(total, percent, used)| Host { used, total, percent: Some(percent) }).parse(text)
}

const EXAMPLES: &[Example] = &[
    Example {
        version: "scripts, by psutil",
        text: "(TrainActor pid=4711) [rank 3] step 8 host memory used 96.25 GB / 251.50 GB (38.3%), RSS 4096 MB",
        states: &[
            ("series", "process rank 3"),
            ("worker_used", "4096 MB"),
            ("series", "host rank 3"),
            ("host_used", "96.25 GB"),
            ("node_total", "251.50 GB"),
        ],
    },
    Example {
        version: "scripts, by psutil, one unit",
        text: "[rank2] step 7 loss 2.125 host memory 61.5/125.6 GB",
        states: &[("host_used", "61.5"), ("node_total", "125.6 GB")],
    },
    Example {
        version: "/proc/self/status",
        text: "step 12/500 loss=2.25 VmRSS 8192000 kB\nVmRSS:\t 8388608 kB",
        states: &[("worker_used", "8192000 kB"), ("worker_used", "8388608 kB")],
    },
    Example {
        version: "psutil 5–7, as Python shows it",
        text: "svmem(total=270582939648, available=81604378624, percent=69.8, used=187904819200, free=12884901888, active=3221225472)",
        states: &[("node_total", "270582939648"), ("host_used", "187904819200")],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::testing;

    #[test]
    fn the_share_of_the_host_is_kept() {
        let events = testing::parse(&ProcessMemory, EXAMPLES[0].text);
        let percent = events.iter().flat_map(|event| &event.figures).find(|figure| figure.name == HostPercent);
        assert_eq!(percent.map(|figure| (figure.text.as_str(), figure.value)), Some(("38.3%", Some(38.3))));
    }

    #[test]
    fn a_killers_words_and_other_abbreviations_are_no_moment() {
        for text in [
            "sending SIGTERM to process 4711 uid 1000 \"python\": badness 700, VmRSS 40960 MiB",
            "MaxRSS 200 MB",
            "RSS feed 3 of 7",
            "RSS 12",
            "host memory is low",
        ] {
            assert!(testing::parse(&ProcessMemory, text).is_empty(), "{text}");
        }
    }
}
