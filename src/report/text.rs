//! What a person reads: one screen.

use std::fmt::{self, Write};

use anstyle::{AnsiColor, Style};

use crate::model::{
    Citation, Figure, FigureName, Incident, InputSummary, Kind, OtherFailureName, Phase, Report, Victim,
};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const BAD: Style = AnsiColor::Red.on_default().bold();
const GOOD: Style = AnsiColor::Green.on_default().bold();
const WARN: Style = AnsiColor::Yellow.on_default();

/// Lines of proof, figures, consumers, other incidents that are shown; the rest is counted.
const PROOF: usize = 4;
const FIGURES: usize = 14;
const CONSUMERS: usize = 5;
const FOLLOWERS: usize = 4;
/// A cited line is cut to this many characters.
const WIDTH: usize = 150;

/// The report as text with colours; who prints it to no terminal takes them out.
pub fn text(report: &Report) -> String {
    let mut page = String::new();
    // Writing to a string does not fail.
    let _ = write_page(&mut page, report);
    page
}

fn write_page(page: &mut String, report: &Report) -> fmt::Result {
    match report.incidents.split_first() {
        Some((root, others)) => {
            write_incident(page, root)?;
            write_followers(page, others)?;
        }
        None => write_no_incident(page, report)?,
    }
    write_inputs(page, &report.inputs)
}

fn write_incident(page: &mut String, incident: &Incident) -> fmt::Result {
    let recovered = if incident.recovered { ", and the job went on" } else { "" };
    writeln!(page, "{BAD}{}{recovered}{BAD:#}  {DIM}{}{DIM:#}\n", headline(incident.kind), incident.kind)?;
    if !incident.victim.is_unknown() {
        writeln!(page, "  {BOLD}who{BOLD:#}    {}{}", describe(&incident.victim), others_like_it(incident))?;
    }
    if let Some(failed) = &incident.failed_at {
        writeln!(page, "  {BOLD}when{BOLD:#}   {failed}")?;
    }
    let phase = &incident.phase;
    match (phase.name, &phase.site) {
        (Phase::Unknown, _) => writeln!(page, "  {BOLD}phase{BOLD:#}  cannot be told from this input")?,
        (name, Some(site)) => {
            writeln!(page, "  {BOLD}phase{BOLD:#}  {name}: {site}  {DIM}{}{DIM:#}", surely(phase.confidence))?
        }
        (name, None) => writeln!(page, "  {BOLD}phase{BOLD:#}  {name}")?,
    }
    for cite in phase.evidence.iter().take(2) {
        writeln!(page, "         {DIM}{}  {}{DIM:#}", cite.location, shorten(&cite.text))?;
    }
    write_figures(page, &incident.figures)?;
    write_consumers(page, incident)?;
    writeln!(page, "\n{BOLD}Proof{BOLD:#}")?;
    write_cites(page, &incident.evidence)
}

fn write_figures(page: &mut String, figures: &[Figure]) -> fmt::Result {
    if figures.is_empty() {
        return Ok(());
    }
    writeln!(page, "\n{BOLD}Figures{BOLD:#}")?;
    for figure in figures.iter().take(FIGURES) {
        let amount = match (figure.bytes, figure.value) {
            (Some(bytes), _) => bytes.to_string(),
            (None, Some(value)) => format!("{value}"),
            (None, None) => continue,
        };
        let words = strip(&figure.text);
        let said = if words == amount { String::new() } else { format!("“{words}”  ") };
        writeln!(page, "  {:<34} {amount:>12}  {DIM}{said}{}{DIM:#}", meaning(figure.name), figure.source)?;
    }
    write_rest(page, figures.len(), FIGURES, "more figures in --format json")
}

fn write_consumers(page: &mut String, incident: &Incident) -> fmt::Result {
    if incident.consumers.is_empty() {
        return Ok(());
    }
    writeln!(page, "\n{BOLD}Who held the memory{BOLD:#}")?;
    for consumer in incident.consumers.iter().take(CONSUMERS) {
        let pid = consumer.pid.map(|pid| format!("pid {pid}")).unwrap_or_default();
        let role = consumer.role.as_deref().unwrap_or_default();
        writeln!(
            page,
            "  {:>12}  {pid:<12} {}  {DIM}{}{DIM:#}",
            consumer.bytes.to_string(),
            shorten(role),
            consumer.source
        )?;
    }
    write_rest(page, incident.consumers.len(), CONSUMERS, "more")
}

fn write_followers(page: &mut String, others: &[Incident]) -> fmt::Result {
    if others.is_empty() {
        return Ok(());
    }
    writeln!(page, "\n{BOLD}Also{BOLD:#}")?;
    for other in others.iter().take(FOLLOWERS) {
        let what = if other.recovered { "went on" } else { "followed" };
        let at = other.evidence.first().map(|cite| cite.location.to_string()).unwrap_or_default();
        writeln!(page, "  {}, {what}  {DIM}{at}{DIM:#}", headline(other.kind))?;
    }
    write_rest(page, others.len(), FOLLOWERS, "more")
}

fn write_no_incident(page: &mut String, report: &Report) -> fmt::Result {
    match &report.other_failure {
        Some(failure) => {
            writeln!(page, "{WARN}Not out of memory: {}{WARN:#}  {DIM}{}{DIM:#}", other(failure.name), failure.name)?;
            writeln!(page, "\n{BOLD}Proof{BOLD:#}")?;
            write_cites(page, &failure.evidence)
        }
        None if report.inputs.iter().all(|input| input.lines == 0) => {
            writeln!(
                page,
                "{WARN}No log line was read{WARN:#}\n\n  Give a job's log, a kernel log, or a folder with either: oomdoc analyze job.log dmesg.log"
            )
        }
        None => writeln!(page, "{GOOD}No sign of a failure, of memory or otherwise{GOOD:#}"),
    }
}

fn write_cites(page: &mut String, cites: &[Citation]) -> fmt::Result {
    for cite in cites.iter().take(PROOF) {
        writeln!(page, "  {DIM}{}{DIM:#}  {}", cite.location, shorten(&cite.text))?;
    }
    write_rest(page, cites.len(), PROOF, "more lines in --format json")
}

fn write_rest(page: &mut String, all: usize, shown: usize, what: &str) -> fmt::Result {
    if all > shown { writeln!(page, "  {DIM}and {} {what}{DIM:#}", all - shown) } else { Ok(()) }
}

fn write_inputs(page: &mut String, inputs: &[InputSummary]) -> fmt::Result {
    const SHOWN: usize = 4;
    writeln!(page, "\n{BOLD}Read{BOLD:#}")?;
    let odd = |input: &&InputSummary| input.warning.is_some();
    let (warned, plain): (Vec<_>, Vec<_>) = inputs.iter().partition(|input| odd(input));
    for input in plain.iter().take(SHOWN) {
        let producers =
            if input.producers.is_empty() { String::new() } else { format!(": {}", input.producers.join(", ")) };
        writeln!(
            page,
            "  {}  {DIM}{}, {}{producers}{DIM:#}",
            input.path,
            role(input),
            crate::model::Bytes(input.bytes as i64)
        )?;
    }
    write_rest(page, plain.len(), SHOWN, "more")?;
    for input in warned {
        writeln!(page, "  {WARN}{}: {}{WARN:#}", input.path, input.warning.as_deref().unwrap_or_default())?;
    }
    Ok(())
}

fn role(input: &InputSummary) -> String {
    let role = format!("{:?}", input.role).to_lowercase();
    if input.lines > 0 { format!("{role}, {} lines", input.lines) } else { role }
}

fn headline(kind: Kind) -> &'static str {
    match kind {
        Kind::GpuOom => "GPU out of memory",
        Kind::HostOomKernel => "Host out of memory: the kernel killed it",
        Kind::HostOomCgroup => "Container or cgroup out of memory: the kernel killed it",
        Kind::HostOomUserspace => "Host out of memory: a memory daemon killed it",
        Kind::HostOomRay => "Node out of memory: Ray's monitor killed it",
        Kind::HostAllocFailure => "An allocation of host memory failed",
        Kind::ShmExhausted => "Shared memory is full",
        Kind::SigkillUnattributed => "Killed, and nothing here proves by whom",
        Kind::None => "No out-of-memory incident",
    }
}

fn other(name: OtherFailureName) -> String {
    name.as_str().replace('_', " ")
}

fn meaning(name: FigureName) -> String {
    name.as_str().replace('_', " ")
}

fn surely(confidence: f64) -> &'static str {
    match confidence {
        0.9.. => "(sure)",
        0.6.. => "(likely)",
        _ => "(perhaps)",
    }
}

fn describe(victim: &Victim) -> String {
    let words = |(name, words): (&'static str, String)| match name {
        "role" => words,
        "host" => format!("on {words}"),
        "device" => format!("GPU {words}"),
        name => format!("{name} {words}"),
    };
    let mut parts: Vec<(&'static str, String)> = victim.iter_words().collect();
    parts.sort_by_key(|(name, _)| ["role", "rank", "device", "pid", "host"].iter().position(|known| known == name));
    parts.into_iter().map(words).collect::<Vec<_>>().join(", ")
}

fn others_like_it(incident: &Incident) -> String {
    match incident.victims.len() {
        0 | 1 => String::new(),
        more => format!("  and {} more", more - 1),
    }
}

fn shorten(text: &str) -> String {
    let words = strip(text);
    let words = words.trim();
    match words.char_indices().nth(WIDTH) {
        Some((cut, _)) => format!("{} …", &words[..cut]),
        None => words.to_owned(),
    }
}

/// A terminal must not obey what stands in a log.
fn strip(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string().chars().filter(|c| !c.is_control() || *c == '\t').collect()
}
