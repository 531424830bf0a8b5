//! Reading hostile inputs takes time in proportion to their size, and cutting a log never makes a wrong figure of part
//! of a number.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs;
#[cfg(target_os = "linux")]
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(target_os = "linux")]
use oomdoc::Options;
use oomdoc::internal::analyze_inputs;
use oomdoc::internal::knowledge::Knowledge;
use oomdoc::internal::model::{Event, What};
use oomdoc::internal::parse::{Extractor, Findings, GRAMMARS, Grammars};
use oomdoc::internal::scan::{Extent, Scanner};
use oomdoc::internal::source::Input;
use oomdoc::model::FigureName;

use crate::support::effort;

type Outcome = Result<(), Box<dyn std::error::Error>>;

const REFUSED: &str = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of \
                       79.15 GiB of which 1.01 GiB is free.";

fn grammars() -> Result<Grammars, Box<dyn std::error::Error>> {
    Ok(Grammars::new(GRAMMARS, &Knowledge::shipped()?).map_err(|error| error.to_string())?)
}

fn read(input: &[u8], grammars: &Grammars) -> Findings {
    let mut extractor = Extractor::new(Arc::from("job.log"), grammars);
    let mut scanner = Scanner::new(grammars.anchors(), Extent::DEFAULT);
    scanner.push(input, &mut extractor);
    scanner.finish(&mut extractor);
    extractor.finish()
}

/// Checks that the whole analysis of `large`, which is eight times as long as `small`, takes time roughly in
/// proportion.
#[cfg(target_os = "linux")]
fn is_in_proportion(small: &str, large: &str) -> Outcome {
    let options = Options::default().threads(1).knowledge(Arc::new(Knowledge::shipped()?));
    let analyze = |log: &str| -> Outcome {
        let input = Input::new("job.log", Cursor::new(log.as_bytes().to_vec()))?;
        analyze_inputs(vec![input], Vec::new(), &options)?;
        Ok(())
    };
    // The first analysis reads the rules; it is not measured.
    analyze(REFUSED)?;
    // Quadratic time would be 64 times as much.
    effort::is_within(24, || analyze(small), || analyze(large))
}

/// One line of a log, by its number.
#[cfg(target_os = "linux")]
type Line = fn(usize) -> String;

/// Forty thousand origins that each reported an OOM once took 23 s, and twice as many 150 s.
#[cfg(target_os = "linux")]
#[test]
fn many_origins_cost_in_proportion() -> Outcome {
    let kinds: [(&str, Line); 5] = [
        ("ranks", |rank| format!("[rank{rank}]: {REFUSED}\n")),
        ("processes", |pid| format!("(Worker pid={pid}, ip=10.0.{}.{}) {REFUSED}\n", pid / 256, pid % 256)),
        ("names", |host| format!("(W{}x pid=7) {REFUSED}\n", letters(host))),
        ("kernels", |pid| {
            format!(
                "2026-03-01T10:00:00 host{pid} kernel: [ 100.5] Out of memory: Killed process {pid} (python3) \
                 total-vm:8000000kB, anon-rss:7000000kB, file-rss:0kB, shmem-rss:0kB\n"
            )
        }),
        ("tasks", |task| format!("srun: error: node{task}: task {task}: Out Of Memory\n")),
    ];
    let long = std::env::var_os("OOMDOC_LONG").is_some();
    let few = if long { 20_000 } else { 200 };
    for (name, line) in kinds {
        let log = |count: usize| (0..count).map(line).collect::<String>();
        is_in_proportion(&log(few), &log(8 * few)).map_err(|error| format!("{few} {name}: {error}"))?;
    }
    Ok(())
}

fn letters(number: usize) -> String {
    number.to_string().bytes().map(|digit| char::from(digit - b'0' + b'a')).collect()
}

/// Of 6000 origins, only a bounded number of events and victims is kept.
#[test]
fn what_is_kept_of_many_origins_is_bounded() -> Outcome {
    let grammars = grammars()?;
    let log: String = (0..6000).map(|host| format!("(W{}x pid={host}) {REFUSED}\n", letters(host))).collect();
    let findings = read(log.as_bytes(), &grammars);
    assert!(findings.events.len() <= 5000, "{}", findings.events.len());
    let victims = |event: &Event| match &event.what {
        What::Shortage(shortage) => shortage.victims.len(),
        _ => 0,
    };
    assert!(findings.events.iter().map(victims).sum::<usize>() >= 4096);
    Ok(())
}

/// 300,000 messages in one line once took 14 s.
#[cfg(target_os = "linux")]
#[test]
fn many_messages_in_a_line_cost_in_proportion() -> Outcome {
    let line = |count: usize| "CUDA out of memory. Tried to allocate 2.00 GiB. ".repeat(count) + "\n";
    is_in_proportion(&line(1500), &line(12_000))
}

/// At a hole in a file, what had been read was once counted again for each byte of the hole.
#[cfg(target_os = "linux")]
#[test]
fn holes_cost_in_proportion() -> Outcome {
    let holes = |length: usize| format!("{}\n", "\0".repeat(length)).repeat(32) + REFUSED + "\n";
    is_in_proportion(&holes(4_000), &holes(32_000))
}

/// A script of 7.8 MB of short words once took 135 s and 5.7 GB.
#[test]
fn a_script_of_more_words_than_anybody_writes_is_not_read() -> Outcome {
    for body in ["a ".repeat(100_000), "a\n".repeat(100_000), "a;".repeat(100_000)] {
        let script = format!("#!/bin/bash\npython train.py {body}\n");
        let read = oomdoc::internal::config::Document::read("run.sh", &script);
        assert!(read.is_err_and(|error| error.to_string().contains("more words")));
    }
    Ok(())
}

/// The logs of `corpus/`.
fn corpus() -> Result<Vec<PathBuf>, walkdir::Error> {
    let paths = walkdir::WalkDir::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")).into_iter();
    let paths = paths.map(|entry| entry.map(walkdir::DirEntry::into_path)).collect::<Result<Vec<_>, _>>()?;
    let is_log = |path: &PathBuf| path.extension().is_some_and(|end| end == "log" || end == "txt");
    Ok(paths.into_iter().filter(is_log).collect())
}

/// Every stated number with its meaning. `WorkerUsed` is left out: a table that is cut short names a different process
/// as the largest, and so does a chain of remote calls.
fn stated(findings: &Findings) -> HashSet<String> {
    let mut all = HashSet::new();
    let said = |event: &&Event| !matches!(event.what, What::Traceback(_));
    let figures = findings.events.iter().filter(said).flat_map(|event| &event.figures);
    let figures = figures.filter(|figure| figure.name != FigureName::WorkerUsed);
    all.extend(figures.map(|figure| format!("{:?} {:?} {:?}", figure.name, figure.bytes, figure.value)));
    all.extend(findings.timeline.iter().map(|point| format!("{:?} {:?} None", point.name, Some(point.bytes))));
    all
}

/// Where the log ended within the number, `Killed process 6411` was once read as process 6.
#[test]
fn a_log_that_is_cut_off_states_nothing_that_the_whole_does_not() -> Outcome {
    let grammars = grammars()?;
    let mut logs = corpus()?;
    logs.sort();
    let logs: Vec<Vec<u8>> = logs.iter().map(fs::read).collect::<Result<_, _>>()?;
    let logs: Vec<Vec<u8>> = logs.into_iter().filter(|log| log.len() < 20_000).collect();
    let each = if std::env::var_os("OOMDOC_LONG").is_some() { 20_000 / logs.len() + 1 } else { 6 };
    let mut seed: u64 = 0x9e37_79b9_7f4a_7c15;
    let (mut wrong, mut tried) = (String::new(), 0);
    for log in &logs {
        let whole = stated(&read(log, &grammars));
        for _ in 0..each {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            let cut = (seed % log.len().max(1) as u64) as usize;
            tried += 1;
            let part = stated(&read(&log[..cut], &grammars));
            for more in part.difference(&whole) {
                let end = String::from_utf8_lossy(&log[cut.saturating_sub(120)..cut]).into_owned();
                writeln!(wrong, "{more} where it ends with {end:?}")?;
            }
        }
    }
    assert!(tried > 100 && wrong.is_empty(), "{tried} cuts\n{wrong}");
    Ok(())
}

/// Odd spellings of amounts beside words that announce one: each is read whole or not at all.
#[test]
fn odd_amounts_are_read_whole_or_not_at_all() -> Outcome {
    let grammars = grammars()?;
    let numbers = [
        "1,234",
        "-12",
        "12.5e3",
        "12,34",
        "1.2.3",
        "12_000",
        "0x12",
        "1\x00234",
        "7\0\0\u{38}",
        "12-34",
        "1e",
        "+5",
        "٣",
        "1 234",
        "--5",
        "12",
        "12.5",
        "1,234,567",
    ];
    let units = [
        " MB",
        "MB",
        " tokens",
        " minutes",
        " MBps",
        " MB/s",
        " GPUs",
        " keys",
        " M",
        " Mi",
        "\0MB",
        " M\0B",
        " GB_total",
        " passes",
        " Kernels",
        "",
    ];
    let lines = [
        "VmRSS {}",
        "RSS: {}",
        "[rank0] replay {}",
        "RSS={}, next",
        "out of memory: failed to allocate {}",
        "used {} of memory",
    ];
    let mut tried = 0;
    for line in lines {
        for (number, unit) in numbers.iter().flat_map(|number| units.iter().map(move |unit| (number, unit))) {
            let text = line.replace("{}", &format!("{number}{unit}"));
            // Repeated often enough to be read as a series.
            let findings = read(format!("{text}\n").repeat(6).as_bytes(), &grammars);
            tried += 1;
            let is_amount = matches!(*number, "1,234" | "12" | "+5" | "12.5" | "1,234,567" | "-12" | "12.5e3")
                && !unit.starts_with('\0');
            let figures = findings
                .events
                .iter()
                .flat_map(|event| &event.figures)
                .map(|figure| (figure.bytes, figure.text.clone()));
            let points = findings.timeline.iter().map(|point| (Some(point.bytes), point.text.clone()));
            for (bytes, words) in figures.chain(points).filter(|(bytes, _)| bytes.is_some()) {
                let fits =
                    is_amount && (words.starts_with(number) || words.starts_with(number.trim_start_matches('+')));
                let has_unit = [" MB", "MB", " M", " Mi", " M\0B"].contains(unit) || unit.is_empty();
                assert!(fits && has_unit, "{bytes:?} by {words:?} in {text:?}");
            }
        }
    }
    assert!(tried > 1500, "{tried}");
    Ok(())
}
