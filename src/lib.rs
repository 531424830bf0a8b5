//! The post-mortem for out-of-memory failures of LLM training and serving jobs.
//!
//! ```text
//! bytes ─source─▶ blocks ─scan─▶ lines worth reading ─parse─▶ events ─incident─▶ incidents ─▶ report
//! ```
//!
//! Each floor knows only those below it; [`analyze`] is the whole walk.

pub mod calibrate;
pub mod cli;
pub mod config;
pub mod diagnosis;
pub mod incident;
pub mod knowledge;
pub mod memory;
pub mod model;
pub mod parse;
pub mod report;
pub mod scan;
pub mod source;

use std::io;

use thiserror::Error;

use diagnosis::{Asker, Value};
use incident::{Found, Read};
use knowledge::{Knowledge, KnowledgeError, Language};
use model::{Incident, InputSummary, Job, Report, Role};
use parse::{Extractor, GRAMMARS, Grammars};
use scan::{Extent, Scanner, Totals};
use source::{Input, SourceError};

/// Why there is no report.
#[derive(Debug, Error)]
pub enum Error {
    /// Not one of the inputs could be read.
    #[error("nothing could be read")]
    NothingRead(Vec<SourceError>),
    /// The rules do not hold together.
    #[error(transparent)]
    Knowledge(#[from] KnowledgeError),
    /// The grammars' search could not be built.
    #[error("the search for failures could not be built: {0}")]
    Search(String),
}

/// How to read and to write.
#[derive(Debug, Clone)]
pub struct Options {
    /// The language of the report.
    pub language: Language,
    /// What the user knows and no log says: `model` is `8b`, `host.memory` is `500GiB`.
    pub facts: Vec<(String, Value)>,
    /// Bytes read at a time.
    pub block: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options { language: Language::En, facts: Vec::new(), block: 1 << 20 }
    }
}

/// Reads everything that `paths` name (files, folders, `-`) and says what ran out, where, when, why, and how that is proven.
pub fn analyze(paths: &[String], options: &Options) -> Result<Report, Error> {
    let (files, mut unreadable) = source::walk(paths);
    let mut inputs = Vec::new();
    for file in files {
        match Input::open(&file) {
            Ok(input) => inputs.push(input),
            Err(error) => unreadable.push(error),
        }
    }
    if inputs.is_empty() {
        return Err(Error::NothingRead(unreadable));
    }
    analyze_inputs(inputs, unreadable, options)
}

/// [`analyze`] for streams that are open already.
pub fn analyze_inputs(inputs: Vec<Input>, unreadable: Vec<SourceError>, options: &Options) -> Result<Report, Error> {
    analyze_with(&Knowledge::shipped()?, inputs, unreadable, options)
}

/// [`analyze_inputs`] by what `knowledge` holds.
pub fn analyze_with(
    knowledge: &Knowledge,
    inputs: Vec<Input>,
    unreadable: Vec<SourceError>,
    options: &Options,
) -> Result<Report, Error> {
    let grammars = Grammars::new(GRAMMARS).map_err(|error| Error::Search(error.to_string()))?;
    let (mut summaries, mut reads) = (Vec::new(), Vec::new());
    for input in inputs {
        let (summary, read) = read(input, &grammars, knowledge, options.block);
        summaries.push(summary);
        reads.extend(read);
    }
    summaries.extend(unreadable.iter().map(report::unreadable));
    let outcome = incident::build(reads, knowledge);
    let (verdict, job) = (outcome.verdict(), outcome.job);
    let explain = |found| explain(found, &job, &summaries, knowledge, options);
    let incidents = outcome.found.into_iter().map(explain).collect();
    Ok(report::assemble(summaries, job, verdict, incidents, outcome.other_failure))
}

/// Adds to an incident why it happened.
fn explain(found: Found, job: &Job, inputs: &[InputSummary], knowledge: &Knowledge, options: &Options) -> Incident {
    let mut facts = diagnosis::gather(&found, job, inputs, &options.facts);
    diagnosis::explain_request(&mut facts, &found.incident, &knowledge.models);
    let asker = Asker::new(&facts);
    let mut incident = found.incident;
    let (diagnoses, not_checked) = diagnosis::diagnose(&incident, &facts, &asker, knowledge, options.language);
    incident.capture_next = diagnosis::capture(&diagnoses, &facts, &asker, options.language);
    incident.diagnoses = diagnoses.into_iter().map(|(diagnosis, _)| diagnosis).collect();
    incident.not_checked = not_checked;
    incident
}

/// Reads one input. A configuration or a binary file holds no events.
fn read(mut input: Input, grammars: &Grammars, knowledge: &Knowledge, block: usize) -> (InputSummary, Option<Read>) {
    let (role, path, mut warning) = (input.role, input.path.clone(), input.warning.take());
    let is_log = matches!(role, Role::Log | Role::Kernel);
    if !is_log {
        let bytes = input.size.unwrap_or(0);
        return (InputSummary { path, role, bytes, lines: 0, producers: Vec::new(), warning }, None);
    }
    let mut extractor = Extractor::new(path.clone(), grammars, knowledge);
    let mut scanner = Scanner::new(grammars.anchors(), Extent::DEFAULT);
    loop {
        match scanner.read_from(&mut input, block, &mut extractor) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) => {
                warning = Some(cut_short(&error));
                break;
            }
        }
    }
    let Totals { bytes, lines } = scanner.finish(&mut extractor);
    let findings = extractor.finish();
    let producers = findings.producers.iter().map(|producer| (*producer).to_owned()).collect();
    (InputSummary { path: path.clone(), role, bytes, lines, producers, warning }, Some(Read { path, role, findings }))
}

fn cut_short(error: &io::Error) -> String {
    format!("reading stopped: {error}; what came before was analysed")
}
