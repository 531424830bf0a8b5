//! Reads inputs by their role: logs into findings, configurations into documents, snapshots into recordings.
//!
//! Inputs are read on all cores, and a large one is searched on several. Their contents are put together in the order in which the inputs
//! were named, so the result does not depend on the number of cores.

mod beginning;

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Cursor, Read as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

pub(crate) use beginning::Beginning;

use crate::Options;
use crate::config::{self, Document};
use crate::incident::InputFindings;
use crate::jobs::{self, Grouping};
use crate::knowledge::{Inputs, Knowledge, KnowledgeError};
use crate::model::{InputSummary, Role};
use crate::parse::{Extractor, Grammars};
use crate::scan::{Extent, LineSink, RawLine, Scanner, Totals};
use crate::snapshot::{Recording, SnapshotFindings};
use crate::source::{Input, SourceError, is_named_log, read_blocks, record};
use crate::threads::each;

/// The contents of all inputs.
#[derive(Default)]
pub(crate) struct Reading {
    /// A summary of each input.
    pub summaries: Vec<InputSummary>,
    /// The findings of the logs.
    pub reads: Vec<InputFindings>,
    /// The user's own configurations.
    pub files: Vec<Document>,
    /// Memory snapshots.
    pub snapshots: Vec<Recording>,
    /// What memory snapshots that were read on other nodes show.
    pub shown: Vec<SnapshotFindings>,
    /// Inputs that could not be read.
    pub unreadable: Vec<SourceError>,
    /// Inputs that could not be read on other nodes, as reports list them.
    pub missing: Vec<InputSummary>,
    /// The beginnings of the job's logs, the first ones up to a total size.
    pub beginnings: Vec<Beginning>,
    /// Total bytes of all beginnings, dropped ones included.
    begun: usize,
    /// Threads to read them with.
    pub threads: usize,
}

/// Most bytes of a configuration.
const LARGEST_FILE: u64 = 8 << 20;
/// Most bytes of all logs' beginnings together.
const BEGINNINGS: usize = 8 << 20;
/// Most threads that search one input; with more, reading is the bottleneck.
const MOST_SEARCHING: usize = 8;

impl Reading {
    /// Takes the configurations that the job printed at the beginning of its logs.
    pub fn take_printed(&mut self) -> Vec<Document> {
        self.take_beginnings().into_iter().flat_map(Beginning::into_printed).collect()
    }

    /// Takes the beginnings, each with its printed configurations parsed.
    pub fn take_beginnings(&mut self) -> Vec<Beginning> {
        let all = std::mem::take(&mut self.beginnings);
        each(all.iter(), self.threads.min(all.len()), |beginning| {
            beginning.printed();
        });
        all
    }

    /// Adds a beginning if it and all before it fit into the total size.
    pub fn add_beginning(&mut self, beginning: Beginning) {
        self.begun = self.begun.saturating_add(beginning.len());
        if beginning.len() > 0 && self.begun <= BEGINNINGS {
            self.beginnings.push(beginning);
        }
    }

    /// Takes what the snapshots show.
    pub fn take_shown(&mut self, knowledge: &Knowledge) -> Result<Vec<SnapshotFindings>, KnowledgeError> {
        let own = std::mem::take(&mut self.snapshots);
        let own: Vec<SnapshotFindings> =
            own.iter().map(|recording| SnapshotFindings::of(recording, knowledge)).collect::<Result<_, _>>()?;
        Ok(own.into_iter().chain(std::mem::take(&mut self.shown)).collect())
    }

    /// Splits the contents by job, in the order of the first log of each; inputs that are no logs go to the jobs with the nearest logs.
    pub fn by_job(mut self, named: &[String], grouping: Grouping, knowledge: &Knowledge) -> Vec<Reading> {
        // What states nothing and is not named like a log belongs to a job that a log tells of.
        if self.reads.iter().any(tells) {
            self.reads.retain(|read| tells(read) || is_named_log(&read.path));
        }
        let of_log = jobs::of_logs(&self.reads, named, grouping, knowledge);
        let count = of_log.iter().max().map_or(1, |last| last + 1);
        if count == 1 {
            return vec![self];
        }
        let Reading { summaries, reads, files, snapshots, shown, unreadable, missing, beginnings, begun: _, threads } =
            self;
        let paths: Vec<Arc<str>> = reads.iter().map(|read| Arc::clone(&read.path)).collect();
        let logs: Vec<(&str, usize)> = paths.iter().map(|path| &**path).zip(of_log.iter().copied()).collect();
        let mut jobs: Vec<Reading> = (0..count).map(|_| Reading { threads, ..Reading::default() }).collect();
        let job_of: HashMap<&str, usize> = logs.iter().copied().collect();
        for summary in summaries {
            let of = job_of.get(&*summary.path).map_or_else(|| jobs::of_file(&summary.path, &logs), |job| vec![*job]);
            of.iter().for_each(|job| jobs[*job].summaries.push(summary.clone()));
        }
        for (read, job) in reads.into_iter().zip(&of_log) {
            jobs[*job].reads.push(read);
        }
        for file in files {
            jobs::of_file(file.path(), &logs).iter().for_each(|job| jobs[*job].files.push(file.clone()));
        }
        for snapshot in snapshots {
            let job = jobs::of_file(&snapshot.path, &logs).first().copied().unwrap_or(0);
            jobs[job].snapshots.push(snapshot);
        }
        for shown in shown {
            let job = jobs::of_file(&shown.path, &logs).first().copied().unwrap_or(0);
            jobs[job].shown.push(shown);
        }
        for beginning in beginnings {
            let job = job_of.get(&**beginning.path()).copied().unwrap_or(0);
            jobs[job].beginnings.push(beginning);
        }
        // An unreadable input may belong to any job.
        (jobs[0].unreadable, jobs[0].missing) = (unreadable, missing);
        jobs
    }

    fn add(&mut self, parts: InputParts) {
        match parts {
            Ok(parts) => parts.into_iter().for_each(|part| self.add_part(part)),
            Err(error) => self.unreadable.push(error),
        }
    }

    fn add_part(&mut self, Part { summary, read, file, snapshot, beginning }: Part) {
        beginning.into_iter().for_each(|beginning| self.add_beginning(beginning));
        self.summaries.push(summary);
        self.reads.extend(read);
        self.files.extend(file);
        self.snapshots.extend(snapshot);
    }
}

/// The parts of an input, several for an archive.
type InputParts = Result<Vec<Part>, SourceError>;

/// The contents of one stream of bytes.
struct Part {
    summary: InputSummary,
    read: Option<InputFindings>,
    file: Option<Document>,
    snapshot: Option<Recording>,
    beginning: Option<Beginning>,
}

impl Part {
    /// Whether it states anything, as a log does.
    fn tells(&self) -> bool {
        self.read.as_ref().is_some_and(tells)
    }
}

/// Whether a log that was read states anything.
fn tells(read: &InputFindings) -> bool {
    !read.findings.events.is_empty()
}

/// Puts the parts together in order, although they arrive in any order.
#[derive(Default)]
struct Gathered {
    reading: Reading,
    next: usize,
    early: BTreeMap<usize, InputParts>,
}

impl Gathered {
    fn add(&mut self, place: usize, mut parts: InputParts) {
        // Beginnings that will not fit are dropped already now, so that parts waiting for their turn take no more memory than that.
        let size = |part: &Part| part.beginning.as_ref().map_or(0, Beginning::len);
        let sizes = |parts: &InputParts| parts.iter().flatten().map(size).sum::<usize>();
        let mut begun = self.reading.begun + self.early.range(..place).map(|(_, parts)| sizes(parts)).sum::<usize>();
        for beginning in parts.iter_mut().flatten().flat_map(|part| &mut part.beginning) {
            begun += beginning.len();
            if begun > BEGINNINGS {
                beginning.give_up();
            }
        }
        self.early.insert(place, parts);
        while let Some(parts) = self.early.remove(&self.next) {
            self.reading.add(parts);
            self.next += 1;
        }
    }
}

/// Reads all inputs that `open` makes of `sources`, on the number of threads in `options`.
pub(crate) fn read_all<S: Send>(
    sources: Vec<S>,
    open: impl Fn(S) -> Result<Input<'static>, SourceError> + Sync,
    grammars: &Grammars,
    options: &Options,
) -> Reading {
    let threads = options.cores();
    let at_once = threads.min(sources.len()).max(1);
    let searching = (threads / at_once).clamp(1, MOST_SEARCHING);
    let reader = Reader { grammars, options, searching };
    let gathered = Mutex::new(Gathered::default());
    each(sources.into_iter().enumerate(), at_once, |(place, source)| {
        let parts = open(source).map(|input| reader.read(input));
        gathered.lock().unwrap_or_else(PoisonError::into_inner).add(place, parts);
    });
    let Gathered { reading, .. } = gathered.into_inner().unwrap_or_else(PoisonError::into_inner);
    Reading { threads, ..reading }
}

/// Reads one input at a time.
#[derive(Clone, Copy)]
struct Reader<'r> {
    grammars: &'r Grammars,
    options: &'r Options,
    /// Threads that search one input.
    searching: usize,
}

impl Reader<'_> {
    fn read(&self, input: Input<'_>) -> Vec<Part> {
        let (mut parts, bytes_read) = (Vec::new(), input.bytes_read());
        if let Some(watch) = &self.options.watch {
            watch.begin(bytes_read.clone());
        }
        input.expand(&mut |input| {
            parts.push(self.part(input));
            !self.is_stopped()
        });
        if let Some(watch) = &self.options.watch {
            watch.end(&bytes_read);
        }
        parts
    }

    fn is_stopped(&self) -> bool {
        self.options.watch.as_ref().is_some_and(|watch| watch.is_stopped())
    }

    fn part(&self, mut input: Input<'_>) -> Part {
        let (role, path, warning) = (input.role, self.options.told(&input.path), input.warning.take());
        let (bytes, lines, producers) = (input.size.unwrap_or(0), 0, Vec::new());
        let summary = InputSummary { path, role, bytes, lines, producers, warning };
        let mut part = Part { summary, read: None, file: None, snapshot: None, beginning: None };
        if let Some(refused) = self.options.site.refuses(&input.path) {
            // A member of an archive may be one that the settings exclude.
            part.summary.warning = Some(refused.to_string());
            return part;
        }
        match role {
            _ if input.is_record => self.record(input, &mut part),
            Role::Log | Role::Kernel => self.log(input, &mut part),
            Role::Config | Role::Script => self.file(input, &mut part),
            Role::Snapshot => self.snapshot(input, &mut part),
            Role::Other => {}
        }
        part
    }

    fn log(&self, mut input: Input<'_>, part: &mut Part) {
        let Part { summary, .. } = part;
        let mut beginning = (input.role == Role::Log).then(|| Beginning::new(summary.path.clone()));
        let mut extractor = Extractor::new(summary.path.clone(), self.grammars).on_threads(self.searching);
        let mut scanner = Scanner::new(self.grammars.anchors(), Extent::DEFAULT).on_threads(self.searching);
        let mut shortages = 0;
        let size = self.options.block * self.searching;
        let outcome = read_blocks(&mut input, size, |block| {
            let is_all = beginning.as_ref().is_some_and(|beginning| beginning.len() == 0) && block.len() < size;
            beginning.iter_mut().for_each(|beginning| beginning.add(block));
            let has_anchor = scanner.search(block);
            thread::scope(|scope| {
                if has_anchor && is_all && self.searching > 1 {
                    // The printed configurations will be needed, so they are parsed in parallel.
                    beginning.iter().for_each(|beginning| drop(scope.spawn(|| beginning.printed().len())));
                }
                scanner.advance(&mut extractor);
            });
            if let Some(watch) = &self.options.watch {
                watch.add_shortages(extractor.shortages().saturating_sub(shortages));
                shortages = extractor.shortages();
            }
            !self.is_stopped()
        });
        if let Err(error) = outcome {
            summary.warning = Some(cut_short(&error));
        } else if self.is_stopped() {
            summary.warning = Some("reading was interrupted; what came before was analysed".to_owned());
        }
        Totals { bytes: summary.bytes, lines: summary.lines } = scanner.finish(&mut extractor);
        part.read = Some(findings(extractor, summary.role, summary));
        part.beginning = beginning;
    }

    /// Reads a record of `oomdoc run` as a whole, in the order in which it was written.
    fn record(&self, input: Input<'_>, part: &mut Part) {
        let Part { summary, .. } = part;
        let mut bytes = Vec::new();
        if let Err(error) = input.take(record::LARGEST).read_to_end(&mut bytes) {
            summary.warning = Some(cut_short(&error));
        }
        let mut extractor = Extractor::new(summary.path.clone(), self.grammars);
        for (number, line) in record::in_order(&bytes) {
            extractor.line(RawLine { bytes: line, number, column: 0, is_open: false });
            summary.lines += 1;
        }
        summary.bytes = bytes.len() as u64;
        part.read = Some(findings(extractor, summary.role, summary));
    }

    fn snapshot(&self, input: Input<'_>, part: &mut Part) {
        let Part { summary, snapshot, .. } = part;
        let mut bytes = Vec::new();
        if let Err(error) = input.take(Recording::LARGEST + 1).read_to_end(&mut bytes) {
            summary.warning = Some(cut_short(&error));
            return;
        }
        summary.bytes = bytes.len() as u64;
        match Recording::read(summary.path.clone(), &bytes) {
            Ok(read) => *snapshot = Some(read),
            Err(error) => summary.warning = Some(error.to_string()),
        }
    }

    /// Code counts for its settings, a notebook for what its cells printed as well.
    fn code(&self, document: Document, part: &mut Part) {
        let printed = document.printed();
        if !printed.is_empty() {
            let Part { summary, .. } = part;
            let mut extractor = Extractor::new(summary.path.clone(), self.grammars);
            for (number, line) in &printed {
                extractor.line(RawLine { bytes: line.as_bytes(), number: *number, column: 0, is_open: false });
            }
            summary.lines = printed.len() as u64;
            part.read = Some(findings(extractor, Role::Log, summary)).filter(tells);
        }
        match document.entries().is_empty() && document.calls().is_empty() {
            true if part.tells() => part.summary.role = Role::Log,
            true => (part.summary.role, part.summary.warning) = (Role::Other, Some("code without settings".to_owned())),
            false => part.file = Some(document),
        }
    }

    fn file(&self, input: Input<'_>, part: &mut Part) {
        let is_named_log = input.is_named_log();
        let mut bytes = Vec::new();
        if let Err(error) = input.take(LARGEST_FILE).read_to_end(&mut bytes) {
            part.summary.warning = Some(cut_short(&error));
        }
        part.summary.bytes = bytes.len() as u64;
        // An edit must preserve everything that it does not change, so only valid UTF-8 is edited.
        let path = part.summary.path.clone();
        let text = str::from_utf8(&bytes).map_err(|_| "not UTF-8: its settings are not read".to_owned());
        let read = |text| match part.summary.role {
            Role::Script => Document::read_as(config::Format::Shell, path.clone(), text),
            _ => Document::read(path.clone(), text),
        };
        let is_code = Inputs::shipped().ending.is_code(&path);
        match text.and_then(|text| read(text).map_err(|error| error.to_string())) {
            Ok(document) if is_code => self.code(document, part),
            Err(problem) if is_code => {
                part.summary.role = Role::Other;
                part.summary.warning = Some(problem);
            }
            Ok(document) => {
                // A file that is named like a log may look like a configuration because each line is `name: words`, or because it contains
                // only the command.
                if let Some(log) = Input::new(&path, Cursor::new(bytes)).ok().filter(|_| is_named_log) {
                    self.log(log, part);
                }
                match part.tells() {
                    true => part.summary.role = Role::Log,
                    false => part.file = Some(document),
                }
            }
            Err(problem) => {
                // A file that only looks like a configuration may still report a failure.
                if let Ok(mut log) = Input::new(&path, Cursor::new(bytes)) {
                    log.role = Role::Log;
                    self.log(log, part);
                }
                if part.tells() {
                    part.summary.role = Role::Log;
                } else {
                    part.summary.warning = Some(problem);
                }
            }
        }
    }
}

/// What `extractor` found in the input of `summary`, which then names the producers as well.
fn findings(extractor: Extractor<'_>, role: Role, summary: &mut InputSummary) -> InputFindings {
    let findings = extractor.finish();
    summary.producers = findings.producers.iter().map(|producer| (*producer).to_owned()).collect();
    InputFindings { path: summary.path.clone(), role, findings }
}

fn cut_short(error: &io::Error) -> String {
    format!("reading stopped: {error}; what came before was analysed")
}
