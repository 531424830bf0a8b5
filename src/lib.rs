//! The post-mortem for out-of-memory failures of LLM training and serving jobs, as a library.
//!
//! ```
//! use oomdoc::model::{Kind, Phase};
//! use oomdoc::{Options, analyze};
//!
//! // Files, folders and archives of them: logs, kernel logs, launch scripts, configurations.
//! let report = analyze(&["corpus/llama3-8b-optimizer-step"], &Options::default())?;
//! assert_eq!(report.verdict, Kind::GpuOom);
//!
//! let incident = &report.incidents[0];
//! assert_eq!(incident.phase.name, Phase::OptimizerStep);
//! let diagnosis = &incident.diagnoses[0];
//! assert_eq!(&*diagnosis.cause, "optimizer_states_on_gpu");
//! assert!(diagnosis.confidence > 0.9);
//! // Whatever is said has the lines that prove it, and what to change is a diff of the user's own file.
//! assert_eq!(incident.evidence[0].location.to_string(), "corpus/llama3-8b-optimizer-step/job.log:270");
//! let diff = diagnosis.patches[0].diff.as_deref();
//! assert!(diff.is_some_and(|diff| diff.contains("+   --adam_offload")));
//! # Ok::<(), oomdoc::Error>(())
//! ```
//!
//! [`analyze_jobs`] gives a report for each job among the inputs, [`estimate`](fn@estimate) what a job needs before it
//! runs. Reports and estimates implement [`serde::Serialize`]; their schemas are in `docs/` of the repository.
//!
//! Dependents should set `default-features = false`, which builds only the analysis. `archives` reads compressed and
//! packed inputs; all other features belong to the command.
//!
//! # How it works
//!
//! ```text
//! bytes ─source─▶ blocks ─scan─▶ lines worth reading ─parse─▶ events ─incident─▶ incidents ─▶ report
//! ```
//!
//! Each floor knows only those below it; [`analyze`] is the whole walk.

// Only the build with all features reports unused code.
#![cfg_attr(
    not(all(
        feature = "archives",
        feature = "cli",
        feature = "history",
        feature = "mcp",
        feature = "server",
        feature = "stores",
        feature = "triage"
    )),
    allow(dead_code, unused_imports)
)]

#[cfg(all(feature = "cli", target_os = "linux"))]
mod attempt;
#[cfg(feature = "server")]
mod bot;
#[cfg(feature = "cli")]
mod cli;
mod config;
mod diagnosis;
#[cfg(feature = "cli")]
mod digest;
#[cfg(feature = "history")]
mod durable;
pub mod estimate;
mod facts;
#[cfg(feature = "cli")]
mod fit;
#[cfg(feature = "cli")]
mod fix;
mod hexadecimal;
#[cfg(feature = "history")]
mod history;
mod incident;
#[doc(hidden)]
#[allow(missing_docs)]
pub mod internal;
mod jobs;
mod knowledge;
mod launch;
#[cfg(feature = "mcp")]
mod mcp;
mod memory;
pub mod model;
mod options;
mod parse;
mod patch;
mod reading;
#[cfg(all(feature = "cli", target_os = "linux"))]
mod recorder;
#[cfg(any(feature = "history", feature = "render"))]
mod redact;
#[cfg(feature = "cli")]
mod remote;
mod report;
#[cfg(feature = "cli")]
mod rulebase;
mod scan;
#[cfg(feature = "schema")]
mod schema;
#[cfg(feature = "server")]
mod server;
mod settings;
mod signals;
mod snapshot;
mod source;
#[cfg(feature = "history")]
mod store;
#[cfg(feature = "stores")]
mod stores;
mod threads;
#[cfg(feature = "triage")]
mod triage;
mod watch;
mod when;

use std::sync::{Arc, OnceLock};

use thiserror::Error;

use diagnosis::{Concluded, Diagnosed};
use facts::{Evaluator, Facts};
use incident::{FoundIncident, JobIncidents};
use knowledge::{Knowledge, KnowledgeError};
use launch::{Failed, Inferred, JobConfig, Prediction};
use model::{
    CONTAINER_NAME, Call, Collapse, Diagnosis, FigureName, Frame, Incident, InputSummary, Job, Report, SERVICE_NAME,
    Snapshot,
};
use parse::{GRAMMARS, Grammars};
use patch::{Advice, Remedies, Workbench};
use reading::Reading;
use signals::Signals;
use source::{Input, SourceError};

pub use estimate::estimate;
pub use jobs::Grouping;
pub use knowledge::Language;
pub use options::Options;

/// Why there is no report.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// Not one of the inputs could be read.
    #[error("nothing could be read")]
    NothingRead(Vec<SourceError>),
    /// The rules do not hold together.
    #[error(transparent)]
    Knowledge(#[from] KnowledgeError),
    /// The search for the grammars' literals could not be built.
    #[error("the search for failures could not be built: {0}")]
    Search(String),
}

/// Reads everything that `paths` name (files, folders, `-`) and says what ran out, where, when, why, and how that is proven.
pub fn analyze<P: AsRef<str>>(paths: &[P], options: &Options) -> Result<Report, Error> {
    let knowledge = options.known()?;
    read_ahead(&knowledge, options);
    conclude(read(&owned(paths), &knowledge, options)?, &knowledge, options)
}

/// [`analyze`], with a report for each job among the inputs, or as `grouping` says.
pub fn analyze_jobs<P: AsRef<str>>(paths: &[P], options: &Options, grouping: Grouping) -> Result<Vec<Report>, Error> {
    let paths = &owned(paths);
    let knowledge = options.known()?;
    read_ahead(&knowledge, options);
    conclude_each(read(paths, &knowledge, options)?.by_job(paths, grouping, &knowledge), &knowledge, options)
}

fn owned<P: AsRef<str>>(paths: &[P]) -> Vec<String> {
    paths.iter().map(|path| path.as_ref().to_owned()).collect()
}

/// Reads everything that `paths` name.
fn read(paths: &[String], knowledge: &Knowledge, options: &Options) -> Result<Reading, Error> {
    let places = options.places();
    let (files, unreadable) = places.walk(paths);
    let grammars = grammars(knowledge)?;
    let open = |file: String| options.site.refuses(&file).map_or_else(|| places.open(&file), Err);
    let mut reading = reading::read_all(files, open, &grammars, options);
    reading.unreadable.splice(..0, unreadable);
    if reading.summaries.is_empty() {
        return Err(Error::NothingRead(reading.unreadable));
    }
    Ok(reading)
}

/// Reads `paths` as the logs of `node`, for a report made elsewhere.
#[cfg(feature = "cli")]
pub fn digest(paths: &[String], node: &str, options: Options) -> Result<digest::Content, Error> {
    let options = &Options { node: Some(node.into()), ..options };
    let knowledge = options.known()?;
    let reading = read(paths, &knowledge, options)?;
    let told = |path: &str| options.told(&path.into());
    let written = when::WriteTimes::of(reading.summaries.iter().map(|summary| Arc::clone(&summary.path)), &told(""));
    let mut content =
        digest::Content::of(reading, paths.iter().map(|path| told(path).to_string()).collect(), &knowledge)?;
    content.written = written;
    content.neighbours = report::beside_all(content.proof(), paths, options.places(), &told(""));
    Ok(content)
}

/// A report for each job in a digest, and the errors of damaged parts.
#[cfg(feature = "cli")]
pub fn analyze_digest(
    digest: digest::Digest,
    options: Options,
    grouping: Grouping,
) -> Result<(Vec<Report>, Vec<digest::DigestError>), Error> {
    let knowledge = options.known()?;
    read_ahead(&knowledge, &options);
    let digest::Whole { reading, named, written, nodes, neighbours, damaged } = digest.into_whole();
    let options = Options { written: Arc::new(written), ..options };
    let reports = conclude_each(reading.by_job(&named, grouping, &knowledge), &knowledge, &options)?;
    let reports = reports.into_iter().map(|report| {
        let neighbours = report::beside_proof(&neighbours, &report);
        Report { nodes: Some(nodes.clone()), neighbours, ..report }
    });
    Ok((reports.collect(), damaged))
}

/// [`analyze`] for streams that are open already.
pub fn analyze_inputs(
    inputs: Vec<Input<'static>>,
    unreadable: Vec<SourceError>,
    options: &Options,
) -> Result<Report, Error> {
    let knowledge = options.known()?;
    conclude(read_inputs(inputs, unreadable, &knowledge, options)?, &knowledge, options)
}

/// [`analyze_jobs`] for streams that are open already; `named` are the paths that the user gave.
pub fn analyze_inputs_by_job(
    inputs: Vec<Input<'static>>,
    unreadable: Vec<SourceError>,
    named: &[String],
    options: &Options,
) -> Result<Vec<Report>, Error> {
    let knowledge = options.known()?;
    let reading = read_inputs(inputs, unreadable, &knowledge, options)?;
    conclude_each(reading.by_job(named, Grouping::ByJob, &knowledge), &knowledge, options)
}

/// [`analyze_inputs_by_job`] for named streams, each of which is opened only when it is its turn.
#[cfg(feature = "server")]
pub(crate) fn analyze_streams_by_job<R: std::io::Read + Send + 'static>(
    streams: Vec<(String, R)>,
    options: &Options,
) -> Result<Vec<Report>, Error> {
    let knowledge = options.known()?;
    let named: Vec<String> = streams.iter().map(|(name, _)| name.clone()).collect();
    let open =
        |(path, bytes): (String, R)| Input::new(&path, bytes).map_err(|error| SourceError::Unreadable { path, error });
    let reading = reading::read_all(streams, open, &grammars(&knowledge)?, options);
    if reading.summaries.is_empty() {
        return Err(Error::NothingRead(reading.unreadable));
    }
    conclude_each(reading.by_job(&named, Grouping::ByJob, &knowledge), &knowledge, options)
}

/// Reads streams that are open already, and notes those that could not be opened.
fn read_inputs(
    inputs: Vec<Input<'static>>,
    unreadable: Vec<SourceError>,
    knowledge: &Knowledge,
    options: &Options,
) -> Result<Reading, Error> {
    let mut reading = reading::read_all(inputs, Ok, &grammars(knowledge)?, options);
    reading.unreadable.splice(..0, unreadable);
    Ok(reading)
}

fn conclude_each(readings: Vec<Reading>, knowledge: &Knowledge, options: &Options) -> Result<Vec<Report>, Error> {
    readings.into_iter().map(|reading| conclude(reading, knowledge, options)).collect()
}

/// Loads the rules for incidents while logs are being read, since most logs are of jobs that died.
fn read_ahead(knowledge: &Arc<Knowledge>, options: &Options) {
    if options.threads != Some(1) {
        let knowledge = Arc::clone(knowledge);
        std::thread::spawn(move || {
            // Errors are reported when the rules are used.
            let is_read = knowledge.complete().is_ok();
            // Knobs that every job may have.
            is_read && knowledge.stack(None).into_iter().all(|name| knowledge.knobs.of(name).count() > 0)
        });
    }
}

pub(crate) fn grammars(knowledge: &Knowledge) -> Result<Grammars, Error> {
    Grammars::new(GRAMMARS, knowledge).map_err(|error| Error::Search(error.to_string()))
}

/// Concludes a report from what was read.
fn conclude(mut reading: Reading, knowledge: &Knowledge, options: &Options) -> Result<Report, Error> {
    reading.summaries.extend(reading.unreadable.iter().map(report::unreadable));
    reading.summaries.append(&mut reading.missing);
    let snapshots = snapshots(&mut reading, knowledge)?;
    let outcome = incident::build(std::mem::take(&mut reading.reads), knowledge);
    let verdict = outcome.verdict();
    let JobIncidents { job, found, other_failure, frames, sequence, grid } = outcome;
    let failure = Collapse { stack: stack(&frames, knowledge)?, sequence };
    let told = |inputs, job, incidents, snapshots| {
        let report = report::assemble(inputs, job, verdict, incidents, other_failure, failure, options.language);
        let ranks = grid.map(|grid| report::in_words(grid.of_inputs(&report.inputs), options.language));
        Report { snapshots, ranks, ..report }
    };
    if found.is_empty() {
        // Without an incident, the configuration does not matter.
        return Ok(told(reading.summaries, job, Vec::new(), snapshots));
    }
    knowledge.complete()?;
    let launch = configuration(&mut reading, knowledge, found.first(), &job);
    let job = launch.complete(job);
    let read = Surroundings { job: &job, inputs: &reading.summaries, snapshots: &snapshots };
    let explain = |found| explain(found, read, &launch, knowledge, options);
    let mut incidents: Vec<Incident> = found.into_iter().map(explain).collect();
    options.site.accept(&mut incidents);
    Ok(told(reading.summaries, job, incidents, snapshots))
}

/// The configuration of the part of `job` that failed.
fn configuration<'k>(
    reading: &mut Reading,
    knowledge: &'k Knowledge,
    root: Option<&FoundIncident>,
    job: &Job,
) -> JobConfig<'k> {
    let printed = reading.take_printed();
    let frames = root.into_iter().flat_map(|root| &root.frames).map(|frame| &*frame.file);
    let files = launch::of_job(std::mem::take(&mut reading.files), frames);
    JobConfig::new(knowledge, job, files, printed).of_part(&failed_part(root, job))
}

/// What the logs tell of the part of a configuration that failed.
fn failed_part<'f>(root: Option<&'f FoundIncident>, job: &'f Job) -> Failed<'f> {
    let Some(root) = root else { return Failed::default() };
    let limit = root.incident.figures.iter().find(|figure| figure.name == FigureName::MemcgLimit);
    Failed {
        frames: &root.frames,
        name: root.text(CONTAINER_NAME).or_else(|| root.text(SERVICE_NAME)),
        limit: limit.and_then(|figure| figure.bytes),
        model: job.model.as_deref(),
        task: largest_task(&root.incident),
        log: root.incident.evidence.first().map(|citation| &*citation.location.path),
    }
}

/// What the process that held most is called, else the one that failed.
fn largest_task(incident: &Incident) -> Option<&str> {
    let largest = incident.consumers.iter().max_by_key(|consumer| consumer.bytes);
    let victim = || incident.victims.first().and_then(|victim| victim.role.as_deref());
    largest.and_then(|consumer| consumer.role.as_deref()).or_else(victim)
}

/// Evaluates the memory snapshots. Refused allocations that no log states are added as readings of their own.
fn snapshots(reading: &mut Reading, knowledge: &Knowledge) -> Result<Vec<Snapshot>, KnowledgeError> {
    let shown = reading.take_shown(knowledge)?;
    reading.reads.extend(snapshot::refusals(&shown, &reading.reads));
    Ok(shown.into_iter().flat_map(|shown| shown.devices).collect())
}

/// `frames`, shortened for people.
fn stack(frames: &[Frame], knowledge: &Knowledge) -> Result<Vec<Call>, KnowledgeError> {
    match frames {
        [] => Ok(Vec::new()),
        frames => Ok(incident::shortened(frames, knowledge.libraries()?)),
    }
}

/// An incident with everything known about it before anything is weighed.
pub struct Examined {
    /// The incident that the events show.
    pub found: FoundIncident,
    /// The facts from the logs, the configuration and the memory plan.
    pub facts: Facts,
    /// What the facts imply without the phase.
    inferred: Inferred,
    /// The signals to be weighed.
    pub signals: Signals,
    /// The predicted memory of the job, if enough is known.
    pub predicted: Option<Prediction>,
}

/// What is known about the job beside an incident.
#[derive(Clone, Copy)]
struct Surroundings<'r> {
    job: &'r Job,
    inputs: &'r [InputSummary],
    snapshots: &'r [Snapshot],
}

fn examine(
    mut found: FoundIncident,
    read: Surroundings<'_>,
    launch: &JobConfig<'_>,
    knowledge: &Knowledge,
    options: &Options,
) -> Examined {
    let mut facts = facts::gather(&found, read.job, read.inputs, &options.facts);
    facts::state_snapshot(&mut facts, &found.incident, read.snapshots);
    for (name, value) in options.site.facts_of(&found.incident) {
        facts.say(name, value.clone());
    }
    launch.configure(&mut facts);
    launch::state_limit(&mut found.incident, &mut facts);
    let inferred = launch.infer(&mut facts, &Inferred::default());
    facts::explain_request(&mut facts, &found.incident, &knowledge.models);
    facts::count_copies(&mut facts);
    let predicted = launch.predict(&facts);
    if let Some(prediction) = &predicted {
        prediction.add_facts(&mut facts);
    }
    launch.state_heads(&mut facts);
    launch.state_weights(&mut facts);
    launch::state_ranks(&mut facts);
    let signals = signals::of(&found, &facts, &knowledge.ranking.libraries);
    Examined { found, facts, inferred, signals, predicted }
}

/// Examines the root incident in `inputs`; `None` if there is none.
pub fn examine_inputs(inputs: Vec<Input<'static>>, options: &Options) -> Result<Option<Examined>, Error> {
    let knowledge = options.known()?;
    let mut reading = reading::read_all(inputs, Ok, &grammars(&knowledge)?, options);
    let snapshots = snapshots(&mut reading, &knowledge)?;
    let outcome = incident::build(std::mem::take(&mut reading.reads), &knowledge);
    knowledge.complete()?;
    let launch = configuration(&mut reading, &knowledge, outcome.found.first(), &outcome.job);
    let job = launch.complete(outcome.job);
    let root = outcome.found.into_iter().next();
    let read = Surroundings { job: &job, inputs: &reading.summaries, snapshots: &snapshots };
    Ok(root.map(|found| examine(found, read, &launch, &knowledge, options)))
}

/// Adds to an incident why it happened and what to change.
fn explain(
    found: FoundIncident,
    read: Surroundings<'_>,
    launch: &JobConfig<'_>,
    knowledge: &Knowledge,
    options: &Options,
) -> Incident {
    let Options { language, .. } = *options;
    let Examined { found, mut facts, inferred, signals, predicted } = examine(found, read, launch, knowledge, options);
    let phase = diagnosis::phase(&found, &signals, &knowledge.ranking.phases);
    facts::state_phase(&mut facts, &phase);
    launch.infer(&mut facts, &inferred);
    launch::state_capacity(&mut facts);
    let mut incident = Incident { phase, ..found.incident };
    let evaluator = &Evaluator::new(&facts);
    let experience = &*options.experience;
    let Diagnosed { diagnoses, by_evidence, not_checked } =
        diagnosis::diagnose(&incident, &facts, &signals, knowledge, experience, language);
    let Incident { kind, phase, victim, .. } = &incident;
    incident.fingerprint = incident::fingerprint(*kind, phase, victim, &found.frames, by_evidence.as_deref());
    incident.seen = experience.seen(&incident.fingerprint, &incident.id);
    incident.when = options.calendar.when(found.stamps, &incident, &options.written);
    incident.capture_next = launch.ask_for_files(language).into_iter().collect();
    incident.capture_next.extend(diagnosis::capture(&diagnoses, &facts, evaluator, language));
    incident.not_checked = not_checked;
    // Nor is one worth a word that the job has outlived.
    let predicted = predicted.filter(|prediction| !prediction.is_outlived(&facts));
    let comparison = predicted.as_ref().map(|prediction| prediction.compare(&incident)).unwrap_or_default();
    let contradiction = comparison.contradiction;
    incident.memory = report::memory(comparison, language);
    // A refuted prediction must not be used to price changes.
    let prediction = predicted.as_ref().filter(|_| contradiction.is_none());
    let (kind, phase, phase_confidence) = (incident.kind, incident.phase.name, incident.phase.confidence);
    let facts = &facts;
    let decided = OnceLock::new();
    let said = found.messages.iter().map(|message| &*message.words).chain(found.around.iter().map(|cite| &*cite.text));
    let advice = Advice::of(said, &knowledge.advice);
    let workbench = Workbench {
        knowledge,
        launch,
        facts,
        evaluator,
        decided,
        advice,
        prediction,
        kind,
        phase,
        phase_confidence,
        language,
    };
    let with_patches = |Concluded { diagnosis, rule, is_guess }: Concluded<'_>| {
        let Remedies { patches, set, not_advised } = workbench.remedies(rule);
        let patches = diagnosis::best_first(patches, kind, phase, &diagnosis.cause, experience);
        let (patches, set) = if is_guess { Default::default() } else { (patches, set) };
        let confidence =
            contradiction.map_or(diagnosis.confidence, |contradiction| contradiction.lowered(diagnosis.confidence));
        Diagnosis { confidence, patches, set, not_advised, ..diagnosis }
    };
    incident.diagnoses = threads::map(diagnoses, options.cores(), with_patches);
    patch::drop_contradictions(&mut incident.diagnoses);
    patch::lead_with_new(&mut incident.diagnoses);
    incident
}
