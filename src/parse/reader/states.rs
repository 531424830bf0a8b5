//! What a message that is believed states: its kind, its amounts and the process that it names.

use std::ops::Range;

use super::amounts;
use super::judge::{Judgement, Message};
use crate::knowledge::{Meaning, MemoryOf, NumberOf, Signs};
use crate::model::What;
use crate::model::{Basis, Event, Exit, Figure, FigureName, Kind, Severity, Victim};
use crate::parse::record::{Record, statement};

const PRODUCER: &str = "reader";

/// The event that the message states.
pub(super) fn event(record: &Record, message: &Message<'_>, judgement: &Judgement, signs: &Signs) -> Event {
    let words = &message.text[judgement.words.clone()];
    let said = message.line.start.min(judgement.words.start)..message.line.end.max(judgement.words.end);
    let number = |wanted| amounts::number(message.text, said.clone(), wanted, signs);
    let rank = number(NumberOf::Rank).map(|(_, rank)| rank);
    let mut event = match judgement.means {
        Meaning::Kill => {
            let pid = number(NumberOf::Pid).filter(is_process);
            let victim = Victim { rank, ..statement::neighbour(record, pid.map(|(_, pid)| pid)) };
            let mut death = statement::death(record, PRODUCER, words, Exit::KILL, victim);
            death.figures = victim_pid(record, pid).into_iter().collect();
            death
        }
        _ => {
            let memory = match judgement.memory {
                MemoryOf::Host if judgement.killed => MemoryOf::Kernel,
                memory => memory,
            };
            let said = amounts::with_rest(message.text, said, message.text.len());
            let (mut figures, mut named) = said_of(memory, record, said.clone(), signs);
            for (line, is_part) in beside(message.text, &said) {
                let tells_victim = is_part && line.start >= said.end;
                let (more, other) = said_of(memory, record, line, signs);
                for figure in more {
                    let is_new = figures.iter().all(|known| known.name != figure.name);
                    if is_new && may_stand_beside(figure.name, tells_victim) {
                        figures.push(figure);
                    }
                }
                if tells_victim {
                    named = named.or(&other);
                }
            }
            let speaker = record.origin().process();
            let victim =
                Victim { pid: named.pid.or(speaker.pid), rank: speaker.rank.or(named.rank), ..named }.or(&speaker);
            let mut event = statement::shortage(record, PRODUCER, words, kind(memory), victim);
            if let What::Shortage(shortage) = &mut event.what
                && judgement.retries
            {
                shortage.severity = Severity::Retried;
            }
            event.figures = figures;
            if memory == MemoryOf::Job {
                event.facts.push(record.fact("limit.exceeded", words));
            }
            event
        }
    };
    event.basis = Basis::Reader;
    event
}

/// Whether a figure counts on a line next to a message. What is free or there in all may be said of a disk, and other messages have figures of
/// their own.
fn may_stand_beside(name: FigureName, tells_victim: bool) -> bool {
    use FigureName::{
        AnonRss, FileRss, GpuIndex, MemcgLimit, MemcgUsage, Requested, ShmemRss, TotalVm, VictimPid, WorkerUsed,
    };
    match name {
        VictimPid | GpuIndex => tells_victim,
        name => {
            matches!(name, Requested | WorkerUsed | MemcgUsage | MemcgLimit | TotalVm | AnonRss | FileRss | ShmemRss)
        }
    }
}

/// The lines of `text` next to `said` in which a program may go on to state amounts, and whether each is a part of the message, so that it may
/// also name the process. Whoever comes next may speak of something else: a line counts if it is a part or tells of a failure, too.
fn beside(text: &str, said: &Range<usize>) -> Vec<(Range<usize>, bool)> {
    const KILLS: &[&str] = &["Killing process ", "Killed process "];
    const FAILURES: &[&str] =
        &["fail", "error", "errno", "unable", "cannot", "could not", "exceed", "out of memory", "exhausted"];
    let before = text[..said.start].trim_end_matches('\n').len();
    let start = text[..before].rfind('\n').map_or(0, |at| at + 1);
    let mut lines = Vec::new();
    let mut add = |range: Range<usize>| {
        let line = &text[range.clone()];
        let is_part = amounts::is_part(line) || KILLS.iter().any(|words| line.trim_start().starts_with(words));
        let small = line.to_ascii_lowercase();
        if is_part || FAILURES.iter().any(|words| small.contains(words)) {
            lines.push((range, is_part));
        }
    };
    let mut at = said.end;
    for line in text[at..].split_inclusive('\n') {
        add(at..at + line.len());
        at += line.len();
    }
    add(start..before);
    lines
}

/// The figures in `range` of a message about a shortage of `memory`, and the victim that its words name.
pub(super) fn said_of(memory: MemoryOf, record: &Record, range: Range<usize>, signs: &Signs) -> (Vec<Figure>, Victim) {
    let number = |wanted| amounts::number(record.text(), range.clone(), wanted, signs);
    let mut figures = amounts::figures(record, range.clone(), memory, signs);
    let mut victim = Victim { rank: number(NumberOf::Rank).map(|(_, rank)| rank), ..Victim::default() };
    match memory {
        MemoryOf::Device => {
            let device = number(NumberOf::Device);
            victim.device = device.map(|(_, device)| device);
            let index = device.map(|(words, device)| record.number(FigureName::GpuIndex, words, f64::from(device)));
            figures.extend(index);
        }
        _ => {
            let pid = number(NumberOf::Pid).filter(is_process);
            victim.pid = pid.map(|(_, pid)| pid);
            figures.extend(victim_pid(record, pid));
        }
    }
    (figures, victim)
}

/// Whether it is the number of a process; 0 is that of none.
fn is_process(&(_, pid): &(&str, u32)) -> bool {
    pid > 0
}

fn victim_pid(record: &Record, pid: Option<(&str, u32)>) -> Option<Figure> {
    pid.map(|(words, pid)| record.number(FigureName::VictimPid, words, f64::from(pid)))
}

fn kind(memory: MemoryOf) -> Kind {
    match memory {
        MemoryOf::Device => Kind::GpuOom,
        MemoryOf::Host => Kind::HostAllocFailure,
        MemoryOf::Kernel => Kind::HostOomKernel,
        MemoryOf::Container => Kind::HostOomCgroup,
        MemoryOf::Daemon | MemoryOf::Job => Kind::HostOomUserspace,
        MemoryOf::Ray => Kind::HostOomRay,
        MemoryOf::Shared => Kind::ShmExhausted,
    }
}

/// The memory that a shortage of this kind is about; `None` if the kind is no shortage.
pub(super) fn memory(of: Kind) -> Option<MemoryOf> {
    use MemoryOf::{Container, Daemon, Device, Host, Kernel, Ray, Shared};
    [Device, Host, Kernel, Container, Daemon, Ray, Shared].into_iter().find(|memory| kind(*memory) == of)
}
