//! The record that `oomdoc run` writes: memory over time, kernel counters, and how processes ended.
//!
//! Mirrors `src/recorder`, which writes one statement a line. A kill that the kernel counted has several lines: the counter, the processes
//! that held the memory just before, and the exit signals that were seen.

mod examples;
mod line;
mod moments;

use super::{Example, Follow, Grammar, Joint, Line, Record};
use crate::model::{
    Consumer, Death, Event, Exit, Failure, FigureName, Kind, NO_OOM_KILL, OtherFailureName, Severity, Shortage, Victim,
    What,
};
use crate::source::record;
use line::{RecordedProcess, RecorderStatement};

const PRODUCER: &str = "recorder";

/// See the module.
pub struct Recorder;

impl Grammar for Recorder {
    fn producer(&self) -> &'static str {
        PRODUCER
    }

    fn triggers(&self) -> &'static [&'static str] {
        &[record::NUMBER]
    }

    fn is_multiline(&self) -> bool {
        true
    }

    fn follows(&self, record: &Record, next: &Line<'_>) -> Follow {
        let begins = line::read(record.text()).is_some_and(|line| matches!(line.statement, RecorderStatement::Kill(_)));
        let goes_on = || {
            line::read(next.body()).is_some_and(|line| {
                matches!(line.statement, RecorderStatement::Held(..) | RecorderStatement::Ended(..))
            })
        };
        match begins && goes_on() {
            true => Follow::Join(Joint::Line),
            false => Follow::End,
        }
    }

    fn parse(&self, record: &Record) -> Vec<Event> {
        let Some(line) = line::read(record.text()) else { return Vec::new() };
        let host = line.host;
        let mut events = match line.statement {
            RecorderStatement::Kill(kill) => vec![shortage(record, &kill, host)],
            RecorderStatement::Ended(process, exit) => ended(record, &process, exit, host).into_iter().collect(),
            RecorderStatement::Stranger(process) => vec![stranger(record, &process, host)],
            RecorderStatement::SharedMemoryFull(process) => vec![shared_memory_full(record, &process, host)],
            RecorderStatement::Held(..) => Vec::new(),
            RecorderStatement::Moment => moments::events(record, line.words),
        };
        for event in &mut events {
            event.origin.host = event.origin.host.take().or_else(|| Some(host.into()));
        }
        events
    }

    fn examples(&self) -> &'static [Example] {
        examples::EXAMPLES
    }
}

fn victim(process: &RecordedProcess<'_>, host: &str) -> Victim {
    Victim {
        host: Some(host.into()),
        rank: process.rank,
        device: None,
        pid: Some(process.pid),
        role: Some(process.name.into()),
    }
}

/// The kernel counted a kill in a cgroup of the job. Only an exit signal tells which process it killed.
fn shortage(record: &Record, kill: &line::CountedKill<'_>, host: &str) -> Event {
    let (mut victims, mut consumers) = (Vec::new(), Vec::new());
    let mut evidence = Vec::new();
    for words in record.text().lines().skip(1) {
        match line::read(words).map(|line| line.statement) {
            Some(RecorderStatement::Held(process, resident)) => {
                let cite = record.cite_line_of(words);
                consumers.extend(resident.bytes.map(|bytes| Consumer {
                    pid: Some(process.pid),
                    role: Some(process.name.to_owned()),
                    bytes,
                    source: cite.location,
                    text: cite.text,
                }));
            }
            Some(RecorderStatement::Ended(process, Some(Exit::KILL))) => {
                victims.push(victim(&process, host));
                evidence.push(record.cite_line_of(words));
            }
            _ => {}
        }
    }
    let severity = Severity::Fatal;
    let kind = kill.kind;
    let words = text_line(record);
    let mut event = record.event(PRODUCER, words, What::Shortage(Shortage { kind, severity, victims, consumers }));
    event.evidence = evidence;
    event.figures.extend(kill.usage.and_then(|size| record.figure(FigureName::MemcgUsage, size)));
    event.figures.extend(kill.limit.and_then(|size| record.figure(FigureName::MemcgLimit, size)));
    event.figures.extend(kill.total.and_then(|size| record.figure(FigureName::NodeTotal, size)));
    event.facts.push(record.fact("kernel.task_memcg", kill.cgroup));
    event.facts.extend(kill.level.map(|level| record.fact("kernel.oom_memcg", level)));
    event
}

fn text_line(record: &Record) -> &str {
    super::text::line(record.text())
}

/// A process ended as the recorder saw it end.
fn ended(record: &Record, process: &RecordedProcess<'_>, exit: Option<Exit>, host: &str) -> Option<Event> {
    let what = match exit? {
        Exit::Code(0) => What::Finished,
        exit => What::Death(Death { exit, victim: victim(process, host), first: true }),
    };
    let mut event = record.event(PRODUCER, text_line(record), what);
    event.figures.push(record.number(FigureName::VictimPid, process.pid_words, f64::from(process.pid)));
    Some(event)
}

/// A process was killed although no counter of kills changed and there was plenty of memory.
fn stranger(record: &Record, process: &RecordedProcess<'_>, host: &str) -> Event {
    let failure = Failure { name: OtherFailureName::Cancelled, follows: false };
    let mut event = record.event(PRODUCER, text_line(record), What::Failure(failure));
    let Victim { rank, pid, role, .. } = victim(process, host);
    (event.origin.rank, event.origin.pid, event.origin.role) = (rank, pid, role);
    event.facts.push(record.number_fact(NO_OOM_KILL, process.pid_words, f64::from(process.pid)));
    event
}

/// A process died of SIGBUS while `/dev/shm` was full.
fn shared_memory_full(record: &Record, process: &RecordedProcess<'_>, host: &str) -> Event {
    let shortage = Shortage {
        kind: Kind::ShmExhausted,
        severity: Severity::Fatal,
        victims: vec![victim(process, host)],
        consumers: Vec::new(),
    };
    record.event(PRODUCER, text_line(record), What::Shortage(shortage))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::testing;

    #[test]
    fn what_only_speaks_of_a_record_states_nothing() {
        for text in ["see oomdoc#12 for more", "2026-11-20T10:00:01.000Z oomdoc#x node7: process 1 a: rss 1.0 MiB"] {
            assert!(testing::parse(&Recorder, text).is_empty(), "{text}");
        }
    }

    #[test]
    fn a_counted_kill_names_whom_an_exit_signal_shows() {
        let text = "2026-11-20T10:00:01.000Z oomdoc#7 n1: oom_kill 0 to 1 in cgroup /a; limit reached: /a, used 64.0 MiB of 64.0 MiB\n\
                    2026-11-20T10:00:01.000Z oomdoc#8 n1: held before: process 12 python rank 3: rss 60.0 MiB\n\
                    2026-11-20T10:00:01.000Z oomdoc#9 n1: ended: process 12 python rank 3: signal 9, last rss 60.0 MiB";
        let events = testing::parse(&Recorder, text);
        let shortages = events.iter().filter_map(|event| match &event.what {
            What::Shortage(shortage) => Some(shortage),
            _ => None,
        });
        let shortages: Vec<&Shortage> = shortages.collect();
        assert_eq!((events.len(), shortages.len()), (1, 1), "{events:#?}");
        let shortage = shortages[0];
        assert_eq!((shortage.kind, shortage.victims.len(), shortage.consumers.len()), (Kind::HostOomCgroup, 1, 1));
        assert_eq!(shortage.victims[0].rank, Some(3));
    }
}
