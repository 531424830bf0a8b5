//! What was read on one node, in the form in which it is sent.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::frame::Frame;
use super::{DigestError, Whole};
use crate::config::{Document, KeptDocument};
use crate::incident::InputFindings;
use crate::knowledge::{Knowledge, KnowledgeError};
use crate::model::{Citation, Event, InputSummary, Severity, What};
use crate::reading::{Beginning, Reading};
use crate::redact::Redactor;
use crate::report;
use crate::snapshot::SnapshotFindings;
use crate::when::WriteTimes;

/// The most citations per log that get context lines.
const PROOF: usize = 24;
/// The most calls of a stack, from the innermost outwards.
const FRAMES: usize = 4;

/// The most bytes of an unpacked digest.
const LARGEST_UNPACKED: u64 = 256 << 20;

/// What was read on one node.
#[derive(Serialize, Deserialize)]
pub struct Content {
    /// The version of oomdoc that wrote it.
    pub oomdoc: String,
    /// The paths that the user named, with the node's prefix.
    pub named: Vec<String>,
    /// The inputs.
    pub summaries: Vec<InputSummary>,
    /// The findings in each log.
    pub reads: Vec<InputFindings>,
    /// The user's own configurations.
    pub files: Vec<KeptDocument>,
    /// The findings in memory snapshots.
    pub shown: Vec<SnapshotFindings>,
    /// Configurations printed at the beginning of logs.
    pub beginnings: Vec<KeptBeginning>,
    /// Inputs that could not be read.
    pub missing: Vec<InputSummary>,
    /// When each file was last written.
    pub written: WriteTimes,
    /// Lines around those that prove something.
    pub neighbours: Vec<Citation>,
}

/// Configurations printed at the beginning of a log.
#[derive(Serialize, Deserialize)]
pub struct KeptBeginning {
    /// The log.
    pub path: Arc<str>,
    /// The length of the beginning in bytes.
    pub length: usize,
    /// The printed configurations.
    pub printed: Vec<KeptDocument>,
}

impl Content {
    /// The content of `reading`; `named` are the paths that the user gave, with the node's prefix.
    pub(crate) fn of(
        mut reading: Reading,
        named: Vec<String>,
        knowledge: &Knowledge,
    ) -> Result<Content, KnowledgeError> {
        let shown = reading.take_shown(knowledge)?;
        let kept = |documents: Vec<Document>| documents.into_iter().map(KeptDocument::from).collect();
        let beginnings = reading.take_beginnings().into_iter().map(|beginning| KeptBeginning {
            path: Arc::clone(beginning.path()),
            length: beginning.len(),
            printed: kept(beginning.into_printed()),
        });
        let Reading { summaries, reads, files, unreadable, .. } = reading;
        Ok(Content {
            oomdoc: env!("CARGO_PKG_VERSION").to_owned(),
            named,
            summaries,
            reads,
            files: kept(files),
            shown,
            beginnings: beginnings.collect(),
            missing: unreadable.iter().map(report::unreadable).collect(),
            written: WriteTimes::default(),
            neighbours: Vec::new(),
        })
    }

    /// The citations that may prove a report: how and where processes ended, the first ones of each log.
    pub fn proof(&self) -> impl Iterator<Item = &Citation> {
        self.reads.iter().flat_map(|read| read.findings.events.iter().flat_map(proof_of).take(PROOF))
    }

    /// Masks all secrets. A document that cannot be parsed after masking is dropped later, with a warning on its input.
    pub fn mask(&mut self, redactor: &Redactor) {
        redactor.mask(self);
    }

    /// The packed form in which it is sent.
    pub fn packed(&self) -> Result<Vec<u8>, DigestError> {
        let mut packer = zstd::Encoder::new(Vec::new(), zstd::DEFAULT_COMPRESSION_LEVEL)?;
        serde_json::to_writer(&mut packer, self).map_err(std::io::Error::from)?;
        Ok(packer.finish()?)
    }

    /// Unpacks the content of `frame`.
    pub(super) fn read(frame: &Frame) -> Result<Content, DigestError> {
        let damaged = |problem: String| DigestError::Damaged { node: Arc::clone(&frame.node), problem };
        let unpacked = zstd::Decoder::new(&frame.body[..]).map_err(|error| damaged(error.to_string()))?;
        let mut text = Vec::new();
        unpacked.take(LARGEST_UNPACKED).read_to_end(&mut text).map_err(|error| damaged(error.to_string()))?;
        serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))
    }

    /// Adds it to the content of other nodes.
    pub(super) fn add_to(self, whole: &mut Whole) {
        let Content { oomdoc: _, named, mut summaries, reads, files, shown, beginnings, missing, written, neighbours } =
            self;
        let mut document = |kept: KeptDocument| match Document::try_from(kept) {
            Ok(document) => Some(document),
            // Masking may make a configuration unreadable.
            Err(error) => {
                let of_it = summaries.iter_mut().find(|summary| summary.path == error.path);
                of_it.into_iter().for_each(|summary| summary.warning = Some(error.to_string()));
                None
            }
        };
        whole.reading.files.extend(files.into_iter().filter_map(&mut document));
        for KeptBeginning { path, length, printed } in beginnings {
            let printed = printed.into_iter().filter_map(&mut document).collect();
            whole.reading.add_beginning(Beginning::read_elsewhere(path, length, printed));
        }
        whole.named.extend(named);
        whole.reading.summaries.extend(summaries);
        whole.reading.reads.extend(reads);
        whole.reading.shown.extend(shown);
        whole.reading.missing.extend(missing);
        whole.written.extend(written);
        whole.neighbours.extend(neighbours);
    }

    /// Drops everything of inputs for which `is_wanted` is false.
    pub(super) fn retain(&mut self, is_wanted: impl Fn(&str) -> bool) {
        self.summaries.retain(|summary| is_wanted(&summary.path));
        self.reads.retain(|read| is_wanted(&read.path));
        self.files.retain(|file| is_wanted(file.path()));
        self.shown.retain(|shown| is_wanted(&shown.path));
        self.beginnings.retain(|beginning| is_wanted(&beginning.path));
        self.missing.retain(|missing| is_wanted(&missing.path));
        self.written.retain(&is_wanted);
        self.neighbours.retain(|line| is_wanted(&line.location.path));
    }
}

/// The citations of an event that proves an end.
fn proof_of(event: &Event) -> Vec<&Citation> {
    match &event.what {
        What::Shortage(shortage) if shortage.severity == Severity::Fatal => {
            let mark = event.context.own.as_ref().or(event.context.any.as_ref());
            [&event.at].into_iter().chain(&event.evidence).chain(mark.map(|mark| &mark.at)).collect()
        }
        What::Death(_) | What::Failure(_) => vec![&event.at],
        What::Traceback(stack) => stack.frames.iter().rev().take(FRAMES).map(|frame| &frame.at).collect(),
        What::Shortage(_) | What::Memory { .. } | What::Finished | What::Notice => Vec::new(),
    }
}

/// Merges several readings of one node: if an input was read more than once as its log grew, only the longest reading
/// is kept.
pub fn newest(mut contents: Vec<Content>) -> Vec<Content> {
    if contents.len() < 2 {
        return contents;
    }
    let mut longest: BTreeMap<Arc<str>, (u64, usize)> = BTreeMap::new();
    for (place, content) in contents.iter().enumerate() {
        for summary in content.summaries.iter().chain(&content.missing) {
            let known = longest.entry(Arc::clone(&summary.path)).or_insert((summary.bytes, place));
            if summary.bytes > known.0 {
                *known = (summary.bytes, place);
            }
        }
    }
    for (place, content) in contents.iter_mut().enumerate() {
        content.retain(|path| longest.get(path).is_none_or(|(_, of)| *of == place));
    }
    contents
}
