//! From lines to events.
//!
//! The input is the lines that the scanner found worth reading. Each is freed of the prefixes that loggers and launchers added ([`Line`]),
//! the lines of one message of one process are joined into a [`Record`], and the producer's grammar turns the record into [`Event`]s. Each
//! producer has one file and one row in [`GRAMMARS`]. A grammar reads text and nothing else, and never states a figure that the text does
//! not contain. Messages that no grammar knows are judged by the `reader` from general signs.

mod container;
mod cuda;
mod deepspeed;
mod deepspeed_launcher;
mod elastic;
mod extract;
mod failure;
mod host_memory;
mod jax;
mod kernel;
mod line;
mod memory_prints;
mod message;
mod native_stack;
mod nccl;
mod one_line_stack;
mod oom_daemon;
mod ray_job;
mod ray_monitor;
mod ray_notice;
mod ray_store;
mod ray_worker;
mod reader;
mod record;
mod recorder;
mod sglang;
mod shared_memory;
mod shell;
mod slurm;
mod statements;
mod tensorflow;
mod tensorflow_device;
mod torch;
mod traceback;
mod verl;
mod vllm;

pub use extract::{Extractor, Findings, Grammars};
pub(crate) use failure::is_own_exception;
pub use line::Line;
use line::clock;
pub(crate) use line::terminal_code;
pub(crate) use record::origin::process as series_process;
pub use record::text::Size;
pub use record::{Joint, Record};
use record::{origin, signals, statement, table, text, wrap};
pub use statements::{believed, heard, read_whole, stated};

use crate::model::{Bytes, Event};

/// The amount of memory that `words` are: `500GiB`, `1.4 TB` (binary, as training logs count).
pub fn memory_size(words: &str) -> Option<Bytes> {
    let (rest, size) = text::size(words.trim()).ok()?;
    size.bytes.filter(|_| rest.is_empty())
}

/// An amount of memory as a container limit or a scheduler option states it: `64Gi`, `32g`, `100G`. A bare letter is a binary unit (`G` =
/// GiB): exact for docker and Slurm, while Kubernetes means the decimal unit, which is nearly the same.
pub fn granted(words: &str) -> Option<Bytes> {
    let words = words.trim();
    let is_letter = words.ends_with(|c: char| "kKmMgGtT".contains(c));
    let spelled =
        words.strip_suffix('i').or(is_letter.then_some(words)).map(|words| format!("{}iB", words.to_uppercase()));
    memory_size(spelled.as_deref().unwrap_or(words))
}

/// The message formats of one producer.
pub trait Grammar: Sync {
    /// Its name in reports.
    fn producer(&self) -> &'static str;

    /// Literals for which the scanner searches the whole input: few, long, rare, case-sensitive. Empty if the messages matter only near a
    /// failure.
    fn anchors(&self) -> &'static [&'static str] {
        &[]
    }

    /// Literals of which at least one stands in the first line of every message.
    fn triggers(&self) -> &'static [&'static str];

    /// Whether its messages have more than one line.
    fn is_multiline(&self) -> bool {
        false
    }

    /// Whether it gets only the lines that no other grammar's trigger matches.
    fn is_last_resort(&self) -> bool {
        false
    }

    /// Whether a message of `rules/messages/` that matches the same line takes precedence.
    fn yields(&self) -> bool {
        false
    }

    /// Whether the message goes on with `next`, which is either a line of the same process or the directly following line without any
    /// origin.
    fn follows(&self, record: &Record, next: &Line<'_>) -> Follow {
        let _ = (record, next);
        Follow::End
    }

    /// What the message states. It may be cut off or damaged anywhere.
    fn parse(&self, record: &Record) -> Vec<Event>;

    /// Messages of each version and what must be read from them; they serve as tests and as documentation.
    fn examples(&self) -> &'static [Example];
}

/// Whether a message goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Follow {
    /// This line belongs to it.
    Join(Joint),
    /// This line does not belong to it, but a later one may.
    Pass,
    /// The message has ended.
    End,
}

/// A message as its producer writes it, and what it states.
#[derive(Debug, Clone, Copy)]
pub struct Example {
    /// Which versions write so.
    pub version: &'static str,
    /// The message.
    pub text: &'static str,
    /// What must come out: the name of a figure or fact, and the words that state it; or `kind`, `exit`, `failure`,
    /// `series` and the word for it.
    pub states: &'static [(&'static str, &'static str)],
}

/// All grammars, in the order in which they are asked.
#[rustfmt::skip]
pub static GRAMMARS: &[&dyn Grammar] = &[
    &torch::Torch,
    &traceback::PythonTraceback,
    &native_stack::NativeStack,
    &one_line_stack::OneLineStack,
    &kernel::Kernel,
    &oom_daemon::SystemdOomd,
    &oom_daemon::EarlyOom,
    &oom_daemon::Talos,
    &oom_daemon::SystemdUnit,
    &deepspeed::DeepSpeed,
    &deepspeed::Workspace,
    &verl::Verl,
    &vllm::VllmFailures,
    &vllm::VllmPrints,
    &sglang::SglangFailures,
    &sglang::SglangPrints,
    &jax::Jax,
    &tensorflow::TensorFlow,
    &tensorflow_device::TensorFlowDevice,
    &memory_prints::Metrics,
    &memory_prints::NvidiaSmi,
    &memory_prints::ProcessMemory,
    &memory_prints::SystemTables,
    &ray_monitor::RayMonitor,
    &ray_worker::RayWorker,
    &ray_store::RayStore,
    &ray_notice::RayNotice,
    &ray_job::RayJob,
    &host_memory::HostMemory,
    &shared_memory::SharedMemory,
    &nccl::Nccl,
    &cuda::Cuda,
    &elastic::Elastic,
    &deepspeed_launcher::DeepSpeedLauncher,
    &slurm::Slurm,
    &container::Container,
    &shell::Shell,
    &recorder::Recorder,
    &failure::Failures,
    &memory_prints::Growing,
];

#[cfg(test)]
pub(crate) mod testing {
    use std::sync::{Arc, LazyLock};

    use super::*;
    use crate::knowledge::Knowledge;
    use crate::model::Basis;
    use crate::scan::RawLine;

    /// Built once, because tests read thousands of inputs.
    static PREPARED: LazyLock<Option<Grammars>> =
        LazyLock::new(|| Grammars::new(GRAMMARS, &Knowledge::shipped().ok()?).ok());

    /// What the grammars alone find in `input`, without the reader's judgements.
    pub(crate) fn find(input: &[u8]) -> Findings {
        let mut findings = find_all(input);
        findings.events.retain(|event| event.basis == Basis::Grammar);
        findings
    }

    /// Everything found in `input`, or nothing where the shipped knowledge does not load (which has a test of its own).
    pub(crate) fn find_all(input: &[u8]) -> Findings {
        let Some(grammars) = &*PREPARED else { return Findings::default() };
        read_whole("job.log", input, grammars)
    }

    /// The events that `grammar` reads from a single message, timeline points included.
    pub(crate) fn parse(grammar: &dyn Grammar, text: &str) -> Vec<Event> {
        let mut record: Option<Record> = None;
        for (at, bytes) in text.split('\n').enumerate() {
            let number = crate::model::LineNumber(1 + at as u64);
            Line::read(
                RawLine { bytes: bytes.as_bytes(), number, column: 0, is_open: false },
                |line| match &mut record {
                    None => {
                        let path = Arc::from("job.log");
                        record = Some(Record::new(path, Default::default(), Default::default(), line.into_owned()));
                    }
                    Some(record) => {
                        if let Follow::Join(joint) = grammar.follows(record, &line) {
                            record.push(joint, line.into_owned());
                        }
                    }
                },
            );
        }
        record.map(|record| grammar.parse(&record)).unwrap_or_default()
    }

    /// The events that grammars find in `input`.
    pub(crate) fn read(input: &[u8]) -> Vec<Event> {
        find(input).events
    }
}

#[cfg(test)]
mod known_messages;

#[cfg(test)]
mod tests {
    use super::statements::statements;
    use super::testing::{find, read};
    use super::*;
    use crate::knowledge::Knowledge;

    #[test]
    fn every_example_states_what_it_should() {
        for grammar in GRAMMARS {
            for example in grammar.examples() {
                let stated = statements(&find(example.text.as_bytes()));
                for (name, words) in example.states {
                    let found = stated.iter().any(|(known, said)| known == name && said == words);
                    assert!(found, "{} {}: no {name} `{words}` in {stated:#?}", grammar.producer(), example.version);
                }
            }
        }
    }

    #[test]
    fn every_failure_is_reached_through_an_anchor() -> Result<(), Box<dyn std::error::Error>> {
        let grammars = Grammars::new(GRAMMARS, &Knowledge::shipped()?)?;
        for grammar in GRAMMARS.iter().filter(|grammar| !grammar.anchors().is_empty()) {
            for example in grammar.examples() {
                let found = grammars.anchors().find(example.text.as_bytes()).next().is_some();
                assert!(found, "{} {}", grammar.producer(), example.version);
            }
        }
        // Beyond 64 literals the search loses its SIMD prefilter.
        assert!(grammars.anchors().literals().len() <= 64, "{:?}", grammars.anchors().literals());
        Ok(())
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]
        #[test]
        fn damage_neither_panics_nor_invents_a_figure(which in 0usize..10_000, cut in 0usize..4000, flip in 0usize..4000, byte: u8) {
            let examples: Vec<&Example> = GRAMMARS.iter().flat_map(|grammar| grammar.examples()).collect();
            let mut text = examples[which % examples.len()].text.as_bytes().to_vec();
            text.truncate(cut.max(1) % (text.len() + 1));
            if !text.is_empty() {
                let at = flip % text.len();
                text[at] = byte;
            }
            let whole = String::from_utf8_lossy(&text).into_owned();
            for event in read(&text) {
                for figure in &event.figures {
                    let cited = figure.derived.as_ref().map_or(vec![&figure.text], |derived| derived.from.iter().map(|cite| &cite.text).collect());
                    for words in cited {
                        proptest::prop_assert!(words.contains('\u{fffd}') || whole.contains(words.as_str()), "{words} in {whole}");
                    }
                }
            }
        }
    }
}
