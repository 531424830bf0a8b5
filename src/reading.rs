//! Reads inputs, each as what it is: logs into findings, configurations into documents.

use std::io::{self, Cursor, Read as _};
use std::sync::Arc;

use crate::Options;
use crate::config::{self, Document};
use crate::incident::Read;
use crate::knowledge::Knowledge;
use crate::model::{InputSummary, LineNumber, Role};
use crate::parse::{Extractor, Grammars};
use crate::scan::{Extent, Scanner, Totals};
use crate::source::{Input, Keep};

/// What all inputs held.
#[derive(Default)]
pub(crate) struct Reading {
    /// What each input was.
    pub summaries: Vec<InputSummary>,
    /// What the logs state.
    pub reads: Vec<Read>,
    /// The user's own configurations.
    pub files: Vec<Document>,
    /// The beginnings of the job's logs, where it prints its configuration.
    beginnings: Vec<(Arc<str>, Vec<u8>)>,
}

/// A file with more bytes is no configuration.
const LARGEST_FILE: u64 = 8 << 20;
/// As many bytes of a log's beginning are kept.
const BEGINNING: usize = 1 << 20;
/// As many bytes of all logs' beginnings together.
const BEGINNINGS: usize = 8 << 20;

impl Reading {
    /// Reads one more.
    pub fn add(&mut self, mut input: Input, grammars: &Grammars, knowledge: &Knowledge, options: &Options) {
        let (role, path, warning) = (input.role, input.path.clone(), input.warning.take());
        let (bytes, lines, producers) = (input.size.unwrap_or(0), 0, Vec::new());
        let mut summary = InputSummary { path, role, bytes, lines, producers, warning };
        match role {
            Role::Log | Role::Kernel => self.log(input, grammars, knowledge, options, &mut summary),
            Role::Config | Role::Script => self.file(input, grammars, knowledge, options, &mut summary),
            Role::Other => {}
        }
        self.summaries.push(summary);
    }

    fn log(
        &mut self,
        input: Input,
        grammars: &Grammars,
        knowledge: &Knowledge,
        options: &Options,
        summary: &mut InputSummary,
    ) {
        let kept: usize = self.beginnings.iter().map(|(_, kept)| kept.len()).sum();
        let is_of_job = input.role == Role::Log;
        let most = if is_of_job { BEGINNING.min(BEGINNINGS.saturating_sub(kept)) } else { 0 };
        let mut input = Keep::first(most, input);
        let path = &summary.path;
        let mut extractor = Extractor::new(path.clone(), grammars, knowledge);
        let mut scanner = Scanner::new(grammars.anchors(), Extent::DEFAULT);
        loop {
            match scanner.read_from(&mut input, options.block, &mut extractor) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) => {
                    summary.warning = Some(cut_short(&error));
                    break;
                }
            }
        }
        Totals { bytes: summary.bytes, lines: summary.lines } = scanner.finish(&mut extractor);
        let findings = extractor.finish();
        summary.producers = findings.producers.iter().map(|producer| (*producer).to_owned()).collect();
        self.reads.push(Read { path: path.clone(), role: summary.role, findings });
        self.beginnings.push((path.clone(), input.into_kept()));
    }

    fn file(
        &mut self,
        input: Input,
        grammars: &Grammars,
        knowledge: &Knowledge,
        options: &Options,
        summary: &mut InputSummary,
    ) {
        let mut bytes = Vec::new();
        if let Err(error) = input.take(LARGEST_FILE).read_to_end(&mut bytes) {
            summary.warning = Some(cut_short(&error));
        }
        summary.bytes = bytes.len() as u64;
        // An edit must give back what it does not change, so what is no text is not edited.
        let read = str::from_utf8(&bytes).map_err(|_| "not UTF-8: its settings are not read".to_owned());
        match read.and_then(|text| Document::read(summary.path.clone(), text).map_err(|error| error.to_string())) {
            Ok(document) => self.files.push(document),
            Err(problem) => {
                // What looks like a configuration and is none may still tell of a failure.
                let producers = self.reads.len();
                if let Ok(log) = Input::new(&summary.path.clone(), Cursor::new(bytes)) {
                    self.log(log, grammars, knowledge, options, summary);
                }
                let is_log = self.reads.get(producers).is_some_and(|read| !read.findings.events.is_empty());
                if is_log {
                    summary.role = Role::Log;
                } else {
                    summary.warning = Some(problem);
                }
            }
        }
    }

    /// The configurations that the job printed, as far as they stand at the beginning of its logs.
    pub fn printed(&self) -> Vec<Document> {
        let documents = |(path, kept): &(Arc<str>, Vec<u8>)| {
            config::from_log(path.clone(), LineNumber::FIRST, &String::from_utf8_lossy(kept))
        };
        self.beginnings.iter().flat_map(documents).collect()
    }
}

fn cut_short(error: &io::Error) -> String {
    format!("reading stopped: {error}; what came before was analysed")
}
